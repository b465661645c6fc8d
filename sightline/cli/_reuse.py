"""What sightline variability --reuse shows: which prompts deserve more images, and how far a system goes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sightline.cli._output import Output, figure
from sightline.cli._progress import watched
from sightline.cli._scale import CutOffs, say_cuts, say_scale, say_without, scale_of, told

if TYPE_CHECKING:
    from sightline.estimate import Cell
    from sightline.rendering.tables import Table
    from sightline.statistics.reuse import Reusability
    from sightline.study.study import Study
    from sightline.variability.reuse import Reuse

SHOWN = 10


def show_reuse(
    output: Output,
    study: Study,
    distance: str,
    named: str | None,
    cuts: CutOffs,
    tag: str | None,
    k: int | None,
    without_blank: bool,
    seed: int,
) -> None:
    """Tell every prompt's verdict, and every system's reusability with its curve."""
    from collections import Counter

    from sightline.variability.reuse import reuse

    scale = scale_of(study, named, distance)
    with watched() as listener:
        found = reuse(
            study,
            distance=distance,
            reference=scale,
            cut_off=cuts.values[-1],
            tag=tag,
            images=k,
            without_blank=without_blank,
            seed=seed,
            listener=listener,
        )
    tables = {"prompts": _prompts(study, found), "groups": _groups(found)}
    if output.json:
        tables["curves"] = _curves(found)
    facts = {"distance": found.distance, "cut_off": found.cut_off, "without": dict(found.without)}
    output.show(tables, most=SHOWN, reference=told(scale), **facts)
    say_without(output, found.without)
    say_scale(output, scale)
    say_cuts(output, cuts)
    tally = Counter(each.verdict for each in found.prompts)
    counted = ", ".join(f"{word}: {n:,}" for word, n in tally.items())
    output.say(f"Of {len(found.prompts):,} sets of images {counted}.")


def _prompts(study: Study, found: Reuse) -> Table:
    from sightline.rendering.tables import Column, Table
    from sightline.study import reading

    texts = dict(reading.prompts(study).select("prompt_id", "text").iter_rows())
    columns = [
        Column("prompt"),
        Column("system"),
        Column("images"),
        Column("verdict"),
        Column("repeated", "chance that one more repeats", format="%", estimate=True),
        Column("before", "images before a repeat"),
        Column("closest", "similarity of the two most alike"),
        Column("pair", "which are images"),
    ]
    rows = [
        (
            texts[each.prompt_id],
            each.system,
            each.images,
            each.verdict,
            figure(each.repeated),
            _images(each.before, each.images),
            float(each.curve[-1]),
            " and ".join(str(place + 1) for place in each.closest),
        )
        for each in found.prompts
    ]
    return Table(columns, rows, "Prompts, those that deserve more images first")


def _groups(found: Reuse) -> Table:
    from sightline.estimate import absent
    from sightline.rendering.tables import Column, Table

    columns = [
        Column("system"),
        Column("tag"),
        Column("prompts"),
        Column("left_out", "with fewer images"),
        Column("before", "images before a repeat"),
        Column("interval", "95 % interval"),
        Column("first_repeat", "first repeat at about image", format=".0f"),
    ]
    rows = [
        (
            each.system,
            each.tag or "",
            each.curve.prompts,
            each.left_out,
            _images(each.reusable.images, each.reusable.most),
            _limits(each.reusable),
            absent("no two images look alike") if each.first_repeat is None else each.first_repeat,
        )
        for each in found.groups
    ]
    return Table(columns, rows, f"Reusability: images before the two most alike reach {found.cut_off:g}")


def _curves(found: Reuse) -> Table:
    from sightline.estimate import Estimate
    from sightline.rendering.tables import Column, Table

    names = ("system", "tag", "k")
    rows = [
        (
            each.system,
            each.tag or "",
            int(k),
            Estimate(value, None if low != low else low, None if high != high else high, each.curve.prompts),
        )
        for each in found.groups
        for k, value, low, high in zip(
            *(part.tolist() for part in (each.curve.k, each.curve.value, each.curve.low, each.curve.high)),
            strict=True,
        )
    ]
    return Table([*(Column(name) for name in names), Column("similarity", estimate=True)], rows)


def _images(before: int | None, most: int) -> str:
    return f"more than {most}" if before is None else str(before)


def _limits(found: Reusability) -> Cell:
    from sightline.estimate import absent

    if not found.interval:
        return absent("one prompt shows no spread")
    if found.low is None:
        return _images(None, found.most)
    return f"{found.low} to {_images(found.high, found.most)}"
