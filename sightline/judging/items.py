"""From a study's answers to the pages of a round: work, and controls whose answers are known.

Every choice left to chance comes from the round's seed and the ids of what it is about: the same study and
settings give the same items, whatever order the database answers in.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle, groupby, islice
from math import ceil
from typing import TYPE_CHECKING

import numpy as np

from sightline.data.sources import Row, Source
from sightline.errors import DataError, UsageError, near
from sightline.judging.ordering import Purpose, by_system, combinations, dealt, generator
from sightline.judging.rounds import DRAWN, RoundSettings, on_scale, places, refuse_misfit
from sightline.judging.store.rounds import NewItem, NewSlot
from sightline.records import Mode, Question
from sightline.study import reading
from sightline.study.study import Study

if TYPE_CHECKING:
    import polars as pl

Answered = Mapping[int, Mapping[int, frozenset[int]]]
"""Prompt -> image -> the systems that answered with it."""
LEAST_CHECKS = 5
NEAR_TOP = 0.1
"""How far below the top of a slider a reference photo may end, relative to the scale (ITU-R BS.1534-3)."""
NO = ("", "0", "false", "no")
"""Values of a tag that say a prompt does not have it."""
PARTS = {"grid": ("image",), "single": ("image",), "order": ("image",), "pair": ("image", "image_b")}
PARTS |= {"triplet": ("image", "image_b", "image_c")}
KNOWN_COLUMNS = ("prompt", "prompt_id", "suite", "question", "expected", "tolerance")


@dataclass(frozen=True)
class Stock:
    """What items are made from: work, prompts set aside as controls, known answers and reference photos."""

    work: Answered
    tagged: Answered
    known: Mapping[int, Sequence[NewSlot]]
    photos: Mapping[int, int]


def build(study: Study, settings: RoundSettings) -> list[NewItem]:
    """The items of a round in random order, work first, then control pages.

    Grids hold images of one prompt, cut into pages of nearly equal size; pairs and triplets are drawn from
    all that a prompt has, each equally likely and none twice. What has a known answer is nobody's work.
    """
    refuse_misfit(settings)
    reading.need_prompts(study)
    stock = _stock(study, settings)
    work = [item for prompt in stock.work for item in _items(settings, stock, prompt, stock.work, "work")]
    if not work:
        what = {"pair": "no two images to compare", "triplet": "no triplets to judge"}
        what["order"] = "no prompts with images by different systems to put in order"
        raise DataError(
            f"there are {what.get(settings.found.layout, 'no images to judge')}",
            where=settings.at or study.name,
            remedy="Import or generate answers with images, or choose suite, systems and top more widely.",
        )
    usual = Counter(len(item.slots) for item in work).most_common(1)[0][0]
    controls = list(_control_items(settings, stock, len(work), usual))
    if settings.controls.pages and not controls:
        raise DataError(
            "nothing is left to make control pages from",
            where=settings.at or study.name,
            remedy="Known answers to other prompts, tagged prompts with images, or made = true give some.",
        )
    rng = generator(settings.seed, Purpose.ITEMS)
    return [part[int(n)] for part in (work, controls) for n in rng.permutation(len(part))]


# -- pages of one prompt ----------------------------------------------------------------------------------


def _items(
    settings: RoundSettings, stock: Stock, prompt: int, answered: Answered, kind: str
) -> Iterator[NewItem]:
    mark = "annotator" if kind == "control" else ""
    if settings.found.layout == "order":
        rng = generator(settings.seed, Purpose.DRAWS, prompt)
        for images in islice(dealt(rng, answered[prompt], settings.found.images), settings.pairs):
            yield NewItem(kind, [NewSlot((prompt, 0, image, 0, 0), mark) for image in images])
        return
    settled = {_identity(settings.found, slot.ids[2:]) for slot in stock.known.get(prompt, ())}
    if settings.found.layout in DRAWN:
        found = _drawn(settings, stock.photos.get(prompt, 0), prompt, answered[prompt], settled)
    else:
        alone = ((image, 0, 0) for image in sorted(answered[prompt]))
        found = [images for images in alone if _identity(settings.found, images) not in settled]
    slots = [NewSlot((prompt, 0, *images), mark) for images in found]
    yield from _pages(settings, stock, prompt, slots, kind, Purpose.PAGES)


def _identity(mode: Mode, images: tuple[int, int, int]) -> Hashable:
    """What makes two subjects of one prompt the same, whichever of A and B stands first."""
    first, second, third = images
    return (first, frozenset((second, third))) if mode.layout == "triplet" else frozenset(images)


def _drawn(
    settings: RoundSettings,
    photo: int,
    prompt: int,
    answered: Mapping[int, frozenset[int]],
    settled: Collection[Hashable],
) -> list[tuple[int, int, int]]:
    """Pairs (A, B, 0) or triplets (reference, A, B) of a prompt, as many as asked for or as there are.

    Where the images of one system are compared with each other, so many of each system.
    """
    mode = settings.found
    rng = generator(settings.seed, Purpose.DRAWS, prompt)
    taken, found = set(settled), list[tuple[int, int, int]]()
    for mine in [answered] if mode.compares == "systems" else by_system(answered):
        found += _draw(settings, photo, mine, taken, rng)
    return found


def _draw(
    settings: RoundSettings,
    photo: int,
    answered: Mapping[int, frozenset[int]],
    taken: set[Hashable],
    rng: np.random.Generator,
) -> list[tuple[int, int, int]]:
    mode = settings.found
    # A and B in the order of their ids are one pair in every round; the page then swaps them at random. Where
    # it does not, chance decides here. How alike two images are has no A and B: the order of ids will do.
    fixed = mode.swaps or (mode.layout == "pair" and mode.compares == "images")
    triple = mode.layout == "triplet" and not photo
    found: list[tuple[int, int, int]] = []
    for reference, low, high in combinations(rng, answered, triple=triple, across=mode.compares == "systems"):
        if len(found) == settings.pairs:
            break
        a, b = (low, high) if fixed or rng.random() < 0.5 else (high, low)
        images = (a, b, 0) if mode.layout == "pair" else (reference or photo, a, b)
        if (identity := _identity(mode, images)) not in taken:
            taken.add(identity)
            found.append(images)
    return found


def _pages(
    settings: RoundSettings,
    stock: Stock,
    prompt: int,
    slots: Sequence[NewSlot],
    kind: str,
    purpose: Purpose,
) -> Iterator[NewItem]:
    """A prompt's slots at random on as few pages as can hold them, all of nearly the same size.

    Each page holds the reference photo as well, and control images, in an order that tells nothing.
    """
    rng = generator(settings.seed, purpose, prompt)
    photo = 0 if settings.found.layout in DRAWN else stock.photos.get(prompt, 0)
    hidden = [_photo_slot(settings, prompt, photo)] if photo else []
    known = stock.known.get(prompt, ()) if purpose is Purpose.PAGES else ()
    share = min(settings.controls.images, len(known))
    in_turn = cycle([known[int(n)] for n in rng.permutation(len(known))])
    pages = ceil(len(slots) / (places(settings.found) - len(hidden) - share))
    order = [int(n) for n in rng.permutation(len(slots))]
    for page in range(pages):
        mine = [slots[n] for n in order[page::pages]] + hidden + list(islice(in_turn, share))
        yield NewItem(kind, [mine[int(n)] for n in rng.permutation(len(mine))])


def _photo_slot(settings: RoundSettings, prompt: int, photo: int) -> NewSlot:
    tops = {asked.name: top for asked in settings.questions if (top := _top(asked)) is not None}
    slack = [
        NEAR_TOP * (asked.high - asked.low)
        for asked in settings.questions
        if asked.scale == "interval" and asked.low is not None and asked.high is not None
    ]
    return NewSlot((prompt, 0, photo, 0, 0), "reference", tops, max(slack, default=0.0))


def _top(asked: Question) -> float | None:
    """The best answer there is; none where neither end of the scale is good, or where it has no end."""
    return {"higher": asked.high, "lower": asked.low}.get(asked.direction)


# -- control pages ----------------------------------------------------------------------------------------


def _control_items(settings: RoundSettings, stock: Stock, work: int, usual: int) -> Iterator[NewItem]:
    controls = settings.controls
    if not controls.pages:
        return
    for prompt, slots in stock.known.items():
        # Known images that come among a prompt's work would be recognised on a page of their own.
        if not controls.images or prompt not in stock.work:
            filled = [*slots, *_company(settings, stock, prompt, slots, usual)]
            yield from _pages(settings, stock, prompt, filled, "control", Purpose.KNOWN)
    for prompt in stock.tagged:
        yield from _items(settings, stock, prompt, stock.tagged, "control")
    if controls.made:
        # As many as somebody meets who does all the work.
        wanted = max(LEAST_CHECKS, ceil(work * controls.pages / (controls.of - controls.pages)))
        for slot in _attention_checks(settings, stock, wanted):
            yield NewItem("control", [slot])


def _company(
    settings: RoundSettings, stock: Stock, prompt: int, slots: Sequence[NewSlot], usual: int
) -> list[NewSlot]:
    """Other images of a prompt that make its control pages as full as pages of work: fewer images would tell.

    What is said of them counts no more than the rest of a control page.
    """
    if settings.found.layout in DRAWN:
        return []
    known = {slot.ids[2] for slot in slots} | {stock.photos.get(prompt, 0)}
    others = sorted(set(stock.work.get(prompt, {})) - known)
    room = max(1, usual - bool(stock.photos.get(prompt, 0)))
    missing = -len(slots) % room
    rng = generator(settings.seed, Purpose.KNOWN, prompt, 1)
    return [NewSlot((prompt, 0, others[int(n)], 0, 0)) for n in rng.permutation(len(others))[:missing]]


def _attention_checks(settings: RoundSettings, stock: Stock, wanted: int) -> Iterator[NewSlot]:
    """Tasks whose answer is obvious: an image and itself, or A or B the very image they are compared with.

    Drawn from all that the work's images make, each equally likely and none twice.
    """
    mode, asked = settings.found, settings.questions[0]
    images = [(prompt, sorted(answered)) for prompt, answered in stock.work.items()]
    ways = [_ways(mode, len(each), prompt in stock.photos) for prompt, each in images]
    ends = np.cumsum(ways)
    rng = generator(settings.seed, Purpose.ATTENTION)
    total = int(ends[-1])
    for number in rng.choice(total, min(wanted, total), replace=False):
        at = int(np.searchsorted(ends, number, side="right"))
        prompt, each = images[at]
        inner = int(number - ends[at] + ways[at])
        assert mode.attention is not None
        if mode.layout == "pair":
            alike = (prompt, 0, each[inner], each[inner], 0)
            yield NewSlot(alike, "attention", {asked.name: mode.attention})
            continue
        inner, second = divmod(inner, 2)
        photo = stock.photos.get(prompt, 0)
        place, other = (0, inner) if photo else divmod(inner, len(each) - 1)
        # Counted without the reference itself: what stands at or behind it moves up by one.
        shown = each[other] if photo else each[other + (other >= place)]
        reference = photo or each[place]
        pair = (shown, reference) if second else (reference, shown)
        expected = _opposite(asked, mode.attention) if second else mode.attention
        yield NewSlot((prompt, 0, reference, *pair), "attention", {asked.name: expected})


def _ways(mode: Mode, images: int, photo: bool) -> int:
    if mode.layout == "pair":
        return images
    return 2 * images if photo else 2 * images * (images - 1)


def _opposite(asked: Question, value: float) -> float:
    """The answer that means B where this one means A."""
    labels = [float(label) for label in asked.labels]
    low = asked.low if asked.low is not None else min(labels)
    high = asked.high if asked.high is not None else max(labels)
    return low + high - value


# -- what a study has for a round ---------------------------------------------------------------------------


def _stock(study: Study, settings: RoundSettings) -> Stock:
    prompts = _prompts(study, settings)
    answered = _answered(study, settings, prompts)
    marked = _tagged(study, settings, prompts)
    work = {prompt: answered[prompt] for prompt in sorted(answered) if prompt not in marked}
    tagged = {prompt: answered[prompt] for prompt in sorted(marked) if prompt in answered}
    if marked and not tagged:
        raise DataError(
            f"{len(marked)} prompts have the tag {settings.controls.tag!r}, and none of them has an image",
            where=settings.at or study.name,
            remedy="Import or generate answers to them.",
        )
    if settings.sample is not None:
        work = _sampled(settings, work)
    known = _known(study, settings)
    shown = {*work, *tagged, *(known if settings.controls.pages else ())}
    photos = _photos(study, settings, shown)
    # A photo that somebody answered with would stand twice on its page.
    for part in (work, tagged):
        for prompt in part:
            part[prompt] = {key: by for key, by in part[prompt].items() if key != photos.get(prompt)}
    return Stock(work, tagged, known, photos)


def _prompts(study: Study, settings: RoundSettings) -> pl.DataFrame:
    import polars as pl

    prompts = reading.prompts(study)
    if settings.suite is None:
        return prompts
    chosen = prompts.filter(pl.col("suite") == settings.suite)
    if chosen.is_empty():
        known = prompts["suite"].unique().to_list()
        raise UsageError(
            f"there is no suite called {settings.suite!r}",
            where=settings.at,
            remedy=near(settings.suite, known),
        )
    return chosen


def _answered(
    study: Study, settings: RoundSettings, prompts: pl.DataFrame
) -> dict[int, dict[int, frozenset[int]]]:
    """The images that can be shown, by prompt, with the systems that answered with them."""
    import polars as pl

    answers = reading.answers(study)
    known = reading.systems(study)["system"].to_list()
    for name in settings.systems:
        if name not in known:
            raise UsageError(
                f"there is no system called {name!r}", where=settings.at, remedy=near(name, known)
            )
    if settings.systems:
        answers = answers.filter(pl.col("system").is_in(list(settings.systems)))
    elif settings.reference in known:
        answers = answers.filter(pl.col("system") != settings.reference)
    if settings.reference in settings.systems:
        raise UsageError(
            f"{settings.reference!r} is the reference and cannot be judged like the others",
            where=settings.at,
            remedy="Take it out of systems.",
        )
    if settings.top is not None:
        # Failed answers keep their rank: nothing moves up into the first positions.
        place = pl.col("position").rank("ordinal").over("system_id", "prompt_id")
        answers = answers.filter(place <= settings.top)
    if settings.where is not None:
        answers = _with_tag(study, settings, answers)
    rows = (
        answers.join(prompts.select("prompt_id"), on="prompt_id", how="semi")
        .join(_sound(study).select("image_id"), on="image_id", how="semi")
        .group_by("prompt_id", "image_id")
        .agg(pl.col("system_id").unique())
    )
    found: dict[int, dict[int, frozenset[int]]] = {}
    for prompt, image, systems in rows.iter_rows():
        found.setdefault(prompt, {})[image] = frozenset(systems)
    return found


def _with_tag(study: Study, settings: RoundSettings, answers: pl.DataFrame) -> pl.DataFrame:
    """The answers whose image or prompt has the tag of `where`, or that value of it."""
    import polars as pl

    assert settings.where is not None
    name, said, value = settings.where.removeprefix("tag:").partition("=")
    here = pl.col("name") == name
    if said:
        here &= pl.col("value") == value
    images, prompts = reading.image_tags(study), reading.tags(study)
    marked = images.filter(here)
    chosen = pl.concat(
        [
            answers.join(prompts.filter(here), on="prompt_id", how="semi"),
            answers.join(marked.filter(pl.col("prompt_id") == 0), on="image_id", how="semi"),
            answers.join(marked, on=["image_id", "prompt_id"], how="semi"),
        ]
    ).unique(["system_id", "prompt_id", "position"], maintain_order=True)
    if chosen.is_empty():
        known = [*images["name"].unique(), *prompts["name"].unique()]
        raise UsageError(
            f"no answer has the tag {settings.where.removeprefix('tag:')!r}",
            where=settings.at,
            remedy=near(name, known) or "Tag some: sightline view STUDY",
        )
    return chosen


def _sound(study: Study) -> pl.DataFrame:
    """The images whose bytes are here and can be shown."""
    import polars as pl

    return reading.images(study).filter(pl.col("sha256").is_not_null() & pl.col("defect").is_null())


def _tagged(study: Study, settings: RoundSettings, prompts: pl.DataFrame) -> set[int]:
    """The prompts set aside as controls: those with the tag, or with `name=value` those with that value."""
    import polars as pl

    if settings.controls.tag is None:
        return set()
    name, said, value = settings.controls.tag.partition("=")
    tags = reading.tags(study).join(prompts.select("prompt_id"), on="prompt_id", how="semi")
    named = tags.filter(pl.col("name") == name)
    with_it = pl.col("value") == value if said else ~pl.col("value").str.to_lowercase().is_in(list(NO))
    found = set(named.filter(with_it)["prompt_id"].to_list())
    if not found:
        known = named["value"].unique().to_list() if said else tags["name"].unique().to_list()
        raise DataError(
            f"no prompt has the tag {settings.controls.tag!r}",
            where=settings.at or study.name,
            remedy=near(value if said else name, known)
            or "There are no tags: import prompts with tags.NAME.",
        )
    return found


def _sampled(
    settings: RoundSettings, work: Mapping[int, dict[int, frozenset[int]]]
) -> dict[int, dict[int, frozenset[int]]]:
    """Prompts at random; a larger sample holds the smaller one of the same seed."""
    assert settings.sample is not None
    if settings.sample > len(work):
        raise UsageError(
            f"{settings.sample} prompts cannot be drawn out of {len(work)} that have images",
            where=settings.at,
            remedy="A smaller sample, or leave it out to take all.",
        )
    order = generator(settings.seed, Purpose.SAMPLE).permutation(len(work))
    prompts = list(work)
    return {prompt: work[prompt] for prompt in sorted(prompts[int(n)] for n in order[: settings.sample])}


def _photos(study: Study, settings: RoundSettings, prompts: Collection[int]) -> dict[int, int]:
    """The reference photo of each prompt: a system's first image, or the one of a collection captioned so."""
    import polars as pl

    name = settings.reference
    if name is None:
        return {}
    wanted = reading.prompts(study).filter(pl.col("prompt_id").is_in(list(prompts)))
    sound = _sound(study)
    answers = reading.answers(study).filter(pl.col("system") == name)
    if not answers.is_empty():
        rows = answers.join(sound.select("image_id"), on="image_id", how="semi").sort("prompt_id", "position")
    else:
        homes = reading.images(study)["collection"].unique().to_list()
        if name not in homes:
            known = [*homes, *reading.systems(study)["system"].to_list()]
            raise UsageError(
                f"there is no system or collection called {name!r} to take reference photos from",
                where=settings.at,
                remedy=near(name, known),
            )
        rows = (
            reading.captions(study)
            .join(sound.filter(pl.col("collection") == name), on="image_id", how="semi")
            .with_columns(pl.col("caption").str.strip_chars())
            .join(wanted.with_columns(caption=pl.col("text").str.strip_chars()), on="caption")
            .sort("prompt_id", "image_id")
        )
    first = rows.join(wanted, on="prompt_id", how="semi").unique(
        "prompt_id", keep="first", maintain_order=True
    )
    found = dict(first.select("prompt_id", "image_id").iter_rows())
    missing = [text for key, _, _, text in wanted.sort("prompt_id").iter_rows() if key not in found]
    if missing:
        listed = ", ".join(repr(text[:60]) for text in missing[:3]) + (", ..." if len(missing) > 3 else "")
        raise DataError(
            f"{len(missing)} of {wanted.height} prompts have no reference photo in {name!r}: {listed}",
            where=settings.at or study.name,
            remedy="Import the photos: as answers of that system, or as images with the prompts as captions.",
        )
    return found


# -- known answers ----------------------------------------------------------------------------------------


def _known(study: Study, settings: RoundSettings) -> dict[int, list[NewSlot]]:
    """The known answers of the controls' file, by prompt; the line of a row that fits nothing is named."""
    if settings.controls.file is None:
        return {}
    source = Source(settings.controls.file)
    parts = PARTS[settings.found.layout]
    homes = tuple(part.replace("image", "collection") for part in parts)
    rows = list(
        source.rows(
            source.the_file(),
            required=(("prompt", "prompt_id"), *parts, "expected"),
            known=(*parts, *homes, *KNOWN_COLUMNS),
        )
    )
    finder = _Finder(study, settings.suite, rows, parts)
    found: dict[tuple[int, int, int, int, int], NewSlot] = {}
    for row in rows:
        asked = _asked(settings, row)
        a, b, c = (*(finder.image(row, *names) for names in zip(parts, homes, strict=True)), 0, 0)[:3]
        ids = (finder.prompt(row), 0, a, b, c)
        slack = row.number("tolerance", 0.0)
        if slack < 0:
            raise row.wrong(
                "tolerance", "0 or more", "It says how far from the expected answer is still right."
            )
        earlier = found.get(ids, NewSlot(ids, "known", {}, slack))
        if asked.name in earlier.expected or earlier.tolerance != slack:
            raise DataError(
                "an earlier row speaks of the same, or has another tolerance for it",
                where=row.at,
                remedy="Take one of them out.",
            )
        found[ids] = earlier._replace(expected={**earlier.expected, asked.name: _expected(asked, row)})
    in_order = groupby(sorted(found), key=lambda ids: ids[0])
    return {prompt: [found[ids] for ids in mine] for prompt, mine in in_order}


class _Finder:
    """Finds the prompts and images that rows name, or says at which line there is none, or more than one."""

    def __init__(self, study: Study, suite: str | None, rows: Sequence[Row], parts: Sequence[str]) -> None:
        import polars as pl

        self._suite = suite
        self._refs, self._texts, self._names = (
            defaultdict[str, list[tuple[str, int]]](list) for _ in range(3)
        )
        for key, home, ref, text in reading.prompts(study).iter_rows():
            self._refs[ref].append((home, key))
            self._texts[text].append((home, key))
        wanted = list({row.text(part) for row in rows for part in parts})
        images = reading.images(study).filter(pl.col("name").is_in(wanted))
        for key, home, name in images.select("image_id", "collection", "name").iter_rows():
            self._names[name].append((home, key))
        self._sound = set(_sound(study).join(images, on="image_id", how="semi")["image_id"].to_list())

    def prompt(self, row: Row) -> int:
        """The prompt of a row, by its id if it gives one, else by its wording."""
        by_ref = row.text("prompt_id", None) is not None
        column, known = ("prompt_id", self._refs) if by_ref else ("prompt", self._texts)
        return self._one(row, column, "suite", row.text("suite", self._suite), known)

    def image(self, row: Row, column: str, home: str) -> int:
        """An image of a row, in the collection that it names or in the one that has an image called so."""
        found = self._one(row, column, home, row.text(home, row.text("collection", None)), self._names)
        if found not in self._sound:
            raise DataError(
                f"the {column} {row.text(column)!r} cannot be shown",
                where=row.at,
                remedy="Its file is not in the study, or it is broken.",
            )
        return found

    def _one(
        self, row: Row, column: str, home: str, given: str | None, known: Mapping[str, list[tuple[str, int]]]
    ) -> int:
        said = row.text(column)
        fits = [key for name, key in known.get(said, ()) if given is None or name == given]
        if len(fits) == 1:
            return fits[0]
        within = f" in {home} {given!r}" if given is not None else ""
        raise DataError(
            f"{len(fits) or 'none'} in this study fit {column} {said[:60]!r}{within}",
            where=row.at,
            remedy=f"Say which one in the column {home}." if fits else near(said, known),
        )


def _asked(settings: RoundSettings, row: Row) -> Question:
    known = {asked.name: asked for asked in settings.questions}
    name = row.text("question", None)
    if name is None and len(known) == 1:
        return settings.questions[0]
    if name not in known:
        raise row.wrong("question", f"one of {', '.join(known)}", "The round asks nothing else.")
    return known[name]


def _expected(asked: Question, row: Row) -> float:
    """The right answer, given as a number of the scale or as its label."""
    said = row.text("expected")
    by_label = {label.casefold(): float(value) for value, label in asked.labels.items()}
    value = by_label.get(said.strip().casefold())
    if value is None:
        try:
            value = float(said)
        except ValueError:
            value = float("nan")
    if not on_scale(asked, value):
        raise row.wrong("expected", f"an answer to {asked.name!r}", _scale(asked))
    return value


def _scale(asked: Question) -> str:
    if asked.labels:
        return "One of " + ", ".join(f"{value} ({label})" for value, label in asked.labels.items()) + "."
    steps = f" in steps of {asked.step:g}" if asked.step else ""
    return f"A number from {asked.low} to {asked.high}{steps}."
