import math
import random
import re
from xml.etree import ElementTree

import pytest

from sightline.estimate import Estimate
from sightline.rendering import charts
from sightline.rendering.charts import NARROW, WIDE, CurvePoint, Dot, Spec, short_names
from sightline.rendering.theme import SERIES

HOSTILE = '</text><script>alert("1")</script>\x00 עברית 🐈'


def estimates(names: list[str]) -> list[Dot]:
    return [Dot(name, Estimate(3 + n / 10, 2.8 + n / 10, 3.2 + n / 10, 24)) for n, name in enumerate(names)]


def grid(systems: int, groups: int) -> list[Dot]:
    return [
        Dot(f"group {g}", Estimate(3 + (s * g) % 5 / 5, 2, 5, 8), f"system {s}")
        for g in range(groups)
        for s in range(systems)
    ]


def every_chart(width: int) -> dict[str, Spec]:
    chance = random.Random(5)
    cloud = [(chance.random(), chance.random()) for _ in range(50)]
    line = [CurvePoint(k, Estimate(k / 9, k / 10, k / 8, 20), s) for k in range(1, 8) for s in ("a", HOSTILE)]
    return {
        "one dot": charts.dot_interval(estimates(["only"]), axis="quality", width=width),
        "no dot": charts.dot_interval([], axis="quality", width=width),
        "thirty dots": charts.dot_interval(estimates([f"s{n}" for n in range(30)]), axis="q", width=width),
        "hostile": charts.dot_interval(estimates([HOSTILE, HOSTILE * 9]), axis=HOSTILE, width=width),
        "groups": charts.dot_interval(
            grid(3, 5), axis="quality", direction="higher", domain=(1, 5), width=width
        ),
        "no interval": charts.dot_interval([Dot("a", Estimate(1.0))], axis="quality", width=width),
        "scatter": charts.scatter(cloud, x_axis="predicted", y_axis="true", width=width),
        "one point": charts.scatter([(1, 1)], x_axis="x", y_axis="y", identity=False, width=width),
        "no point": charts.scatter([], x_axis="x", y_axis="y", width=width),
        "histogram": charts.histogram([x for x, _ in cloud], axis="mean", width=width),
        "one value": charts.histogram([2.0], axis="mean", width=width),
        "no value": charts.histogram([], axis="mean", width=width),
        "curve": charts.curve(line, x_axis="k", y_axis="best", width=width),
        "plain curve": charts.curve([CurvePoint(1, Estimate(1.0))], x_axis="k", y_axis="best", width=width),
        "no curve": charts.curve([], x_axis="k", y_axis="best", width=width),
    }


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_every_chart_is_drawn_within_its_width(width: int) -> None:
    for name, spec in every_chart(width).items():
        root = ElementTree.fromstring(charts.render(spec))
        assert root.get("role") == "img", name
        assert root.get("aria-label"), name
        drawn = float(root.get("viewBox", "").split()[2])
        assert 0 < drawn <= width + 1, name
        assert not [element for element in root.iter() if element.tag.endswith("script")], name


def test_the_numbers_drawn_are_the_numbers_given() -> None:
    """The dots' places are read back from the drawing and compared with the values by a straight line."""
    values = [1.5, 2.5, 4.75]
    dots = [Dot(f"s{v}", Estimate(v, v - 0.2, v + 0.2, 9)) for v in values]
    svg = charts.render(charts.dot_interval(dots, axis="quality", domain=(1, 5)), "light")
    found = [
        float(match[1]) for match in re.finditer(r'transform="translate\(([\d.]+),[\d.]+\)" d="M[^"]*A', svg)
    ]
    assert len(found) == 3
    per_unit = (found[2] - found[0]) / (4.75 - 1.5)
    assert found[1] == pytest.approx(found[0] + per_unit * 1.0, abs=0.01)


def test_the_histogram_counts_every_value_once() -> None:
    values = [1, 1, 2, 3, 5]
    bars = charts.histogram(values, axis="mean", domain=(1, 5))["data"]["values"]
    assert sum(bar["count"] for bar in bars) == 5
    # sqrt(5) is rounded up to 3, times 1.5 is 4.5, and at least five bins are drawn, each 0.8 wide
    assert [bar["count"] for bar in bars] == [2, 1, 1, 0, 1]
    assert math.isclose(bars[0]["to"] - bars[0]["from"], 0.8)


def test_many_points_are_counted_in_squares() -> None:
    chance = random.Random(3)
    cloud = [(chance.gauss(3, 1), chance.gauss(3, 1)) for _ in range(charts.MOST_POINTS + 1)]
    squares = charts.scatter(cloud, x_axis="x", y_axis="y", domain=(1, 5))["data"]["values"]
    assert sum(square["count"] for square in squares) == charts.MOST_POINTS + 1
    assert len(squares) <= charts.SQUARES**2 and min(square["count"] for square in squares) == 1
    few, more = (
        charts.scatter(cloud[:n], x_axis="x", y_axis="y")["layer"][-1]["mark"]
        for n in (100, charts.MOST_POINTS)
    )
    assert few["size"] > 2 * more["size"] and few["opacity"] > more["opacity"]


def test_a_point_beyond_the_scale_is_inside_the_chart() -> None:
    spec = charts.scatter([(0.5, 5), (2, 2)], x_axis="x", y_axis="y", domain=(1, 5))
    assert spec["layer"][-1]["encoding"]["x"]["scale"]["domain"] == [0.5, 5]


def test_an_interval_of_few_observations_is_drawn_and_written_otherwise() -> None:
    spec = charts.dot_interval(
        [Dot("few", Estimate(3, 1, 5, 4)), Dot("many", Estimate(3, 2, 4, 40))], axis="q"
    )
    assert [row["rough"] for row in spec["data"]["values"]] == [True, False]
    drawn = charts.render(spec)
    assert drawn.count('stroke-dasharray="2,4"') == 1 and "roughly [" in drawn
    assert not Estimate(3, n=4).rough and not Estimate(3, 2, 4).rough, (
        "without an interval or n nothing is rough"
    )


def test_long_names_are_broken_into_lines_before_they_are_cut() -> None:
    names = ["organisation/text-to-image-xl-turbo-v1", "short"]
    wide, narrow = (charts.row_labels(names, width) for width in (WIDE, NARROW))
    assert wide[names[0]].replace("\n", "") == names[0] and wide["short"] == "short"
    assert max(map(len, wide[names[0]].split("\n"))) <= 28
    assert narrow[names[0]].replace("\n", "") == names[0] and len(narrow[names[0]].split("\n")) <= 4
    alike = [f"organisation/text-to-image-diffusion-v{n}.1-finetuned" for n in range(9)]
    assert all(f"v{n}.1" in label for n, label in enumerate(short_names(alike, 32).values()))


def test_the_description_tells_the_values_and_the_direction() -> None:
    spec = charts.dot_interval(estimates(["careful", "sloppy"]), axis="quality", direction="higher")
    assert spec["description"] == (
        "Dots with intervals of quality (higher is better): "
        "careful 3.00 [2.80, 3.20]; sloppy 3.10 [2.90, 3.30]."
    )


def test_themes_differ_in_colour_alone() -> None:
    spec = charts.dot_interval(estimates(["a"]), axis="quality")
    adaptive, light, dark = (charts.render(spec, theme) for theme in ("adaptive", "light", "dark"))
    first = SERIES[0]
    assert f"var(--{first.name}, {first.light})" in adaptive
    assert f'"{first.light}"' in light and "var(" not in light
    assert f'"{first.dark}"' in dark and first.light not in dark


def test_a_chart_is_the_same_after_others_were_drawn() -> None:
    spec = charts.dot_interval(grid(3, 3), axis="quality")
    before = charts.render(spec)
    charts._drawn.cache_clear()
    charts.render(charts.scatter([(1, 2), (2, 3)], x_axis="x", y_axis="y"))
    assert charts.render(spec) == before


def test_no_chart_may_load_anything() -> None:
    spec = {"data": {"url": "https://example.org/data.csv"}, "mark": "point", "encoding": {}}
    with pytest.raises(ValueError, match=r"example\.org"):
        charts.render(spec)


def test_long_names_that_differ_at_the_end_keep_their_own_rows() -> None:
    names = ["a-generator-with-a-long-name-v1", "a-generator-with-a-long-name-v2", "x" * 50, "x" * 60]
    short = short_names(names)
    assert len(set(short.values())) == 4
    assert short[names[0]].endswith("-v1") and all(len(label) <= 26 for label in short.values())
    assert len(set(short_names(["a\x00", "a\x01"]).values())) == 2
    spec = charts.dot_interval(estimates(names), axis="quality")
    assert len({row["label"] for row in spec["data"]["values"]}) == 4


def test_numbers_of_numpy_are_drawn_like_any() -> None:
    import numpy as np

    odd = Estimate(np.float32(3), np.float32(2.5), np.int64(4), 9)
    even = Estimate(3.0, 2.5, 4.0, 9)
    for one, other in (
        (charts.dot_interval([Dot("a", odd)], axis="q"), charts.dot_interval([Dot("a", even)], axis="q")),
        (charts.histogram([odd.value or 0], axis="q"), charts.histogram([even.value or 0], axis="q")),
    ):
        assert charts.render(one) == charts.render(other)
    points = np.array([[1.0, 2.0], [2.0, 3.0]], dtype=np.float32)
    spec = charts.scatter(points, x_axis="x", y_axis="y")  # type: ignore[arg-type]
    assert charts.render(spec) == charts.render(charts.scatter([(1, 2), (2, 3)], x_axis="x", y_axis="y"))
