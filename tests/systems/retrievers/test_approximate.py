"""Engines with an index, against exact search as the oracle."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sightline import registry
from sightline.errors import DataError, MissingPackage, StudyError, UsageError
from sightline.extension import Extension
from sightline.pictures import Picture
from sightline.records import Candidates, ImageKey, Prompt, PromptKey, Retrieved
from sightline.statistics.search import unit
from sightline.systems.retrievers.approximate import hnsw, ivf_pq
from sightline.systems.retrievers.exact import exact

pytest.importorskip("faiss")
ENGINES = [hnsw, ivf_pq]
named = pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.spec.name)


class Held:
    """Vectors by number: that of a text or picture is the number it names."""

    def __init__(self, images: np.ndarray, texts: np.ndarray) -> None:
        self.images, self.texts, self.embedded = images, texts, 0

    def text(self, texts: Sequence[str]) -> np.ndarray:
        return self.texts[[int(text) for text in texts]]

    def image(self, images: Sequence[Picture]) -> np.ndarray:
        self.embedded += len(images)
        return self.images[[int(image.name) for image in images]]


def candidates(n: int, folder: Path | None = None) -> Candidates:
    pictures = [Picture(b"", sha256=f"{number:064x}", name=str(number)) for number in range(n)]
    return Candidates([ImageKey("c", str(i)) for i in range(n)], [[]] * n, pictures, folder)


def asked(n: int) -> list[Prompt]:
    return [Prompt(PromptKey("q", str(number)), str(number)) for number in range(n)]


def clustered(n: int, queries: int, wide: int, seed: int = 0) -> Held:
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((40, wide))
    rows = centres[rng.integers(0, 40, n + queries)] + 0.6 * rng.standard_normal((n + queries, wide))
    return Held(rows[:n].astype(np.float32), rows[n:].astype(np.float32))


def alike(found: Retrieved, true: tuple[np.ndarray, np.ndarray]) -> float:
    """The proportion of the true images that were found, over all queries."""
    pairs = zip(found.indices, true[0], strict=True)
    return float(np.mean([len({*a} & {*b} - {-1}) / max(1, len({*b} - {-1})) for a, b in pairs]))


@named
@pytest.mark.parametrize("wide", [3, 33])
def test_recall_reaches_what_is_wanted(engine: Extension, wide: int, tmp_path: Path) -> None:
    held = clustered(2_500, 120, wide)
    true = exact(candidates(2_500), asked(120), 10, encoder=held)
    found = engine(candidates(2_500, tmp_path), asked(120), 10, encoder=held, from_size=1, checked=40)
    assert alike(found, true) >= 0.94
    # 40 queries chose the effort, 40 others were checked: those tell the truth about themselves.
    (checked,) = np.nonzero(~np.isnan(found.recall))
    assert len(checked) == 40
    for number in checked:
        assert found.recall[number] == len({*found.indices[number]} & {*true[0][number]}) / 10
    # What was found has the very score that exact search gives it.
    places = [dict(zip(*pair, strict=True)) for pair in zip(*true, strict=True)]
    for row, of_row, known in zip(found.indices, found.scores, places, strict=True):
        assert all(known.get(image, score) == score for image, score in zip(row, of_row, strict=True))


@named
def test_vectors_without_neighbourhoods_take_more_effort(engine: Extension) -> None:
    rng = np.random.default_rng(1)
    held = Held(*(rng.standard_normal((n, 96), dtype=np.float32) for n in (2_000, 60)))
    true = exact(candidates(2_000), asked(60), 10, encoder=held)
    found = engine(candidates(2_000), asked(60), 10, encoder=held, from_size=1, recall=0.98)
    assert alike(found, true) >= 0.96
    least = {"hnsw": {"ef": 26}, "ivf_pq": {"probes": 4, "proposals": 64}}[engine.spec.name]
    hasty = engine(candidates(2_000), asked(60), 10, encoder=held, from_size=1, **least)
    assert alike(hasty, true) < 0.9
    # With the effort given, nothing is chosen on queries and all of the sample are checked.
    assert np.nanmean(hasty.recall) == pytest.approx(alike(hasty, true)) and "chosen" not in hasty.how


@named
def test_shards_give_what_one_index_gives(engine: Extension, tmp_path: Path) -> None:
    held = clustered(3_300, 30, 8)
    true = exact(candidates(3_300), asked(30), 20, encoder=held)
    # With everything proposed, the merged shards are exact search, whatever their number.
    most = {"hnsw": {"ef": 3_300}, "ivf_pq": {"proposals": 3_300}}[engine.spec.name]
    for size in (3_300, 1_650, 1_100):
        found = engine(
            candidates(3_300, tmp_path), asked(30), 20, encoder=held, from_size=1, shard=size, **most
        )
        assert (found.indices == true[0]).all() and (found.scores == true[1]).all()
        assert f"{3_300 // size} shard" in found.how and np.nanmin(found.recall) == 1
    assert len(list(tmp_path.glob("*.faiss"))) == 1 + 2 + 3


@settings(max_examples=25, deadline=None)
@given(
    st.integers(1, 60),
    st.integers(1, 9),
    st.sampled_from([1, 3, 6]),
    st.sampled_from(ENGINES),
    st.integers(0, 2**32 - 1),
)
def test_small_collections_with_copies_and_zeros(
    n: int, k: int, shards: int, engine: Extension, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    # Few different vectors, so that most are copies, opposite, or zero; one image cannot be read.
    images = rng.integers(-1, 2, (n, 2)).astype(np.float32)
    images[rng.random(n) < 0.1] = np.nan
    held = Held(images, rng.integers(-1, 2, (5, 2)).astype(np.float32))
    if np.isnan(images).any(axis=1).all() or not np.nan_to_num(images).any():
        with pytest.raises(DataError, match="can be read"):
            engine(candidates(n), asked(5), k, encoder=held, from_size=1)
        return
    true = exact(candidates(n), asked(5), k, encoder=held)
    found = engine(
        candidates(n), asked(5), k, encoder=held, from_size=1, shard=max(1, n // shards), recall=1.0
    )
    assert (found.indices == true[0]).all()
    assert np.array_equal(found.scores, true[1], equal_nan=True)


@named
def test_copies_stand_in_the_order_of_the_candidates(engine: Extension, tmp_path: Path) -> None:
    held = clustered(3_000, 50, 8)
    held.images[1::2] = held.images[::2]
    held.images[100:900] = held.images[0]
    held.texts[0] = held.images[0]
    true = exact(candidates(3_000), asked(50), 30, encoder=held)
    found = engine(candidates(3_000, tmp_path), asked(50), 30, encoder=held, from_size=1, recall=1.0)
    assert found.indices[0].tolist() == true[0][0].tolist() == [0, 1, *range(100, 128)]
    assert alike(found, true) > 0.99
    for row, of_row in zip(found.indices, found.scores, strict=True):
        equal = np.diff(of_row) == 0
        assert (np.diff(row)[equal] > 0).all()


@named
def test_few_images_and_long_rankings_are_searched_exactly(engine: Extension, tmp_path: Path) -> None:
    held = clustered(300, 5, 4)
    few = engine(candidates(300, tmp_path), asked(5), 3, encoder=held)
    assert few.recall is None and few.how == "exact: 300 images are fewer than from_size=50,000"
    long = engine(candidates(300, tmp_path), asked(5), 299, encoder=held, from_size=1)
    assert long.recall is None and "too many" in long.how
    for found, k in ((few, 3), (long, 299)):
        assert (found.indices == exact(candidates(300), asked(5), k, encoder=held)[0]).all()
    assert not any(tmp_path.iterdir())


@named
def test_an_index_is_built_once_and_again_if_it_is_damaged(engine: Extension, tmp_path: Path) -> None:
    held = clustered(2_000, 40, 12)

    def search(**parameters: int) -> np.ndarray:
        options = {"encoder": held, "from_size": 1, **parameters}
        return np.asarray(engine(candidates(2_000, tmp_path), asked(40), 5, **options).indices)

    first = search()
    (file,) = tmp_path.glob("*.faiss")
    made, whole = file.stat().st_mtime_ns, file.read_bytes()
    assert (search() == first).all() and held.embedded == 2_000 and file.stat().st_mtime_ns == made
    for damaged in (whole[: len(whole) // 2], whole[:500] + bytes(4) + whole[504:], b"", b"no index"):
        file.write_bytes(damaged)
        assert (search() == first).all() and file.read_bytes() == whole
    # Other parameters are another index; vectors that are gone are embedded again.
    search(**({"m": 8} if engine is hnsw else {"lists": 7}))
    assert len(list(tmp_path.glob("*.faiss"))) == 2
    (vectors,) = tmp_path.glob("*.f32")
    vectors.write_bytes(vectors.read_bytes()[:-4])
    assert (search() == first).all() and held.embedded == 4_000
    assert not list(tmp_path.glob(".part*"))


@named
def test_another_version_of_faiss_builds_its_own_index(
    engine: Extension, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = clustered(1_500, 20, 8)
    engine(candidates(1_500, tmp_path), asked(20), 5, encoder=held, from_size=1)
    monkeypatch.setattr("faiss.__version__", "9.9.9")
    engine(candidates(1_500, tmp_path), asked(20), 5, encoder=held, from_size=1)
    assert len(list(tmp_path.glob("*.faiss"))) == 2


def test_an_image_that_can_be_read_by_now_is_found(tmp_path: Path) -> None:
    held = clustered(1_200, 20, 8)
    seen = held.images[7].copy()
    held.images[7], held.texts[0] = np.nan, seen
    first = hnsw(candidates(1_200, tmp_path), asked(20), 5, encoder=held, from_size=1)
    assert 7 not in first.indices
    held.images[7] = seen
    again = hnsw(candidates(1_200, tmp_path), asked(20), 5, encoder=held, from_size=1)
    assert again.indices[0, 0] == 7 and again.scores[0, 0] == pytest.approx(1)


def backwards(function: object, parts: Sequence[object]) -> list[object]:
    """Every part through a pickle, as a worker elsewhere gets it, the last one first."""
    import pickle

    results = [pickle.loads(pickle.dumps(function))(pickle.loads(pickle.dumps(p))) for p in parts[::-1]]
    return results[::-1]


@named
def test_parts_can_be_run_elsewhere(engine: Extension, tmp_path: Path) -> None:
    held = clustered(3_000, 300, 12)
    here = candidates(3_000, tmp_path / "here")
    there = Candidates(here.keys, here.captions, here.pictures, tmp_path / "there", backwards)
    mine, theirs = (
        engine(each, asked(300), 10, encoder=held, from_size=1, shard=1_100) for each in (here, there)
    )
    assert (mine.indices == theirs.indices).all() and (mine.scores == theirs.scores).all()
    assert np.array_equal(mine.recall, theirs.recall, equal_nan=True) and mine.how == theirs.how
    files = [sorted(each.read_bytes() for each in folder.glob("*.faiss")) for folder in tmp_path.iterdir()]
    assert files[0] == files[1] and len(files[0]) == 3


@named
def test_wrong_parameters_and_vectors(engine: Extension, tmp_path: Path) -> None:
    held = clustered(200, 5, 4)
    for wrong in ({"recall": 0}, {"recall": 1.1}, {"from_size": 0}, {"shard": 0}, {"checked": 0}):
        with pytest.raises(UsageError, match=f"{engine.spec.name}: {next(iter(wrong))}="):
            engine(candidates(200), asked(5), 3, encoder=held, **wrong)
    own = {"hnsw": ({"m": 1}, {"ef": 0}), "ivf_pq": ({"lists": 0}, {"probes": 0}, {"code_size": -1})}
    for wrong in own[engine.spec.name]:
        (name, value), *_ = wrong.items()
        with pytest.raises(UsageError, match=f"{name}={value}"):
            engine(candidates(200), asked(5), 3, encoder=held, **wrong)
    with pytest.raises(UsageError, match="has no parameter 'links'"):
        registry.configure("retriever", f"{engine.spec.name}(links=3)")
    held.texts = np.ones((5, 6), dtype=np.float32)
    for size in (1, 1_000):
        with pytest.raises(DataError, match="6 dimensions and rows 4"):
            engine(candidates(200), asked(5), 3, encoder=held, from_size=size)
    held = clustered(200, 5, 4)
    held.images[3, 2] = np.nan
    with pytest.raises(DataError, match="image 3 is not finite"):
        engine(candidates(200, tmp_path), asked(5), 3, encoder=held, from_size=1)
    assert not list(tmp_path.iterdir())
    nothing = Candidates([ImageKey("c", "x")], [[]], [None])
    with pytest.raises(DataError, match="none of the images to search has its file"):
        engine(nothing, asked(5), 3, encoder=held)
    held = clustered(200, 5, 4)
    held.texts[:] = 0
    silent = engine(candidates(200), asked(5), 3, encoder=held, from_size=1)
    assert (silent.indices == -1).all() and silent.recall is None
    held.texts[2] = 1
    one = engine(candidates(200), asked(5), 3, encoder=held, from_size=1)
    assert (one.indices[2] >= 0).all() and np.flatnonzero(~np.isnan(one.recall)).tolist() == [2]


def test_a_worker_without_the_files_says_so() -> None:
    from sightline.systems.retrievers._shards import Effort, Piece, Recipe, Shard, search_shard

    shard = Shard("vectors.f32", 0, 10, 4, Recipe("hnsw", 8, 40), "absent.faiss")
    with pytest.raises(StudyError, match="cannot read an index") as raised:
        search_shard(Piece(shard, np.zeros((1, 4), dtype=np.float32), 3, Effort(16, 16)))
    assert "under the same path" in str(raised.value.remedy)


@named
def test_without_faiss_it_says_what_to_install(engine: Extension, monkeypatch: pytest.MonkeyPatch) -> None:
    ready = registry.configure("retriever", f"{engine.spec.name}(encoder=hashed_words)")
    monkeypatch.setattr(
        "sightline.extension.Spec.missing", lambda self: ["faiss-cpu"] if self.extra == "faiss" else []
    )
    with pytest.raises(MissingPackage) as raised:
        ready.require()
    assert "sightline[faiss]" in str(raised.value.remedy)


@pytest.mark.slow
def test_words_of_captions_as_vectors() -> None:
    """Real text vectors: of descriptions put together from words, one deleted in the query."""
    rng = np.random.default_rng(3)
    said = "a the red blue dog cat bus tree man woman child runs sits near on under snow sea"
    words = np.array(said.split())
    texts = [" ".join(words[rng.integers(0, len(words), 7)]) for _ in range(3_000)]
    encoder = registry.configure("encoder", "hashed_words").load()
    queries = [" ".join(text.split()[1:]) for text in texts[:80]]
    held = Held(unit(encoder.text(texts)), unit(encoder.text(queries)))
    true = exact(candidates(3_000), asked(80), 10, encoder=held)
    for engine in ENGINES:
        found = engine(candidates(3_000), asked(80), 10, encoder=held, from_size=1)
        assert alike(found, true) >= 0.93
