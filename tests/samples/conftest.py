"""Scenes for property tests: `given(st.from_type(Scene))` draws any scene the grammar can say."""

from hypothesis import strategies as st

from sightline.samples.scenes import COLOURS, KINDS, MOST, SIZES, WHERES, WORDS, Group, Scene


@st.composite
def any_scene(draw: st.DrawFn) -> Scene:
    """Any scene, also those the families never make."""
    n = draw(st.integers(0, 3))
    kinds = draw(st.lists(st.sampled_from(KINDS), min_size=n + 1, max_size=n + 1, unique=True))
    groups = tuple(
        Group(
            kinds[i],
            draw(st.integers(1, MOST)),
            draw(st.sampled_from(COLOURS) | st.none()),
            draw(st.sampled_from(SIZES) | st.none()),
        )
        for i in range(n)
    )
    words = st.sampled_from(WORDS)
    return Scene(
        groups,
        where=draw(st.sampled_from(WHERES) | st.none()) if n > 1 else None,
        absent=draw(st.sampled_from([kinds[n], None])),
        words=draw(words | st.none() if n else words),
    )


st.register_type_strategy(Scene, any_scene())
