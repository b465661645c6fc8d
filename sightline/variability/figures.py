"""Variability in pictures: which prompts vary and which repeat, shown by the images themselves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
import polars as pl

from sightline import registry
from sightline.errors import UsageError, near
from sightline.estimate import Estimate
from sightline.records import Finding
from sightline.rendering.blocks import Block, Figure, Findings, Heading
from sightline.rendering.shown import Scale, Thumbnail
from sightline.rendering.theme import Colour, system_colours
from sightline.statistics.intervals import mean_interval, within
from sightline.statistics.reuse import in_common, mean_curve
from sightline.statistics.sets import closest_pair, expected_minimum
from sightline.study import reading
from sightline.study.study import Study
from sightline.variability.charts import ReuseCurve, feature_figure, reuse_figure, setting_figure
from sightline.variability.gallery import Shown, across_systems, by_prompt
from sightline.variability.overlay import Side, overlay
from sightline.variability.reference import refuse_other
from sightline.variability.reuse import Reuse, curve_axis
from sightline.variability.scaling_map import chosen, scaling_map
from sightline.variability.set_images import ImageSet, ImageSets, OneImage, varying_setting
from sightline.variability.variability import Variability, read_variability

ENDS = 3
"""Prompts shown at each end."""
ACROSS = 2
"""Prompts shown in every system."""
OVERLAYS = 2
"""Systems whose most similar pair is laid over each other."""
LOOKED_AT = 12
"""Sets looked through for what can be shown, or for the most similar pair."""
REUSE_SETS = 30
"""Prompts of a system behind its curve of reuse; read here, so that a report does not take minutes."""
FEATURES = 3
FEW_ON_A_MAP = 16
MAP_SIDES = (160, 96)
"""Pixels of a thumbnail on a map of few and of many images."""
OVER_IMAGES = "Brackets have the 95 % interval over a prompt's images (jackknife); n counts images."


@dataclass(frozen=True)
class Pictured:
    """Blocks for the report, and what was left out of them and why, one sentence each."""

    blocks: Sequence[Block]
    notes: Sequence[str]


def variability_pictures(
    study: Study,
    *,
    distance: str | None = None,
    found: Variability | None = None,
    reuse: Reuse | None = None,
    prompt: str | None = None,
    colours: Mapping[str, Colour] | None = None,
) -> Pictured:
    """The variability of a study in pictures, from what was measured with this distance.

    `found` and `reuse` are results of those verbs; without them the scores that the study holds are read, and
    the curve of reuse is drawn from some prompts of each system. Where `found`, or else the study's scale,
    has a reference, all distances are normalised by it. `prompt` names the one that is mapped, by id or
    wording; without it, the one with the most images and the widest gap between systems.
    """
    measured = found if found is not None else read_variability(study, distance=distance)
    distance = distance or measured.scale.distance
    normalise = None
    if measured.reference is not None:
        refuse_other(measured.reference, registry.configure("distance", distance))
        normalise = measured.reference.normalise_matrix
    palette = colours or system_colours({alike.system for alike in measured.systems})
    made = _Making(ImageSets(study, distance, normalise), measured, palette)
    blocks = [
        *made.ends(),
        *made.same_prompt(),
        *made.one_map(prompt),
        *made.overlays(),
        *made.reuse(reuse),
        *made.features(),
        *made.settings(),
    ]
    notes = made.notes()
    if notes:
        findings = [Finding(said, n, severity="note") for said, n in notes.items()]
        blocks += [Heading("What these pictures leave out"), Findings(findings)]
    return Pictured(blocks, [f"{said}: {n:,}" for said, n in notes.items()])


class _Making:
    """The pictures of one study; sets that were passed over are counted on the way."""

    def __init__(self, sets: ImageSets, measured: Variability, colours: Mapping[str, Colour]) -> None:
        self.sets = sets
        self.measured = measured
        self.prompts = measured.prompts
        self.colours = colours
        self.passed: dict[tuple[int, int], ImageSet] = {}
        self.rows = {
            (int(row["prompt_id"]), int(row["system_id"])): (str(row["system"]), float(row["value"]))
            for row in measured.prompts.iter_rows(named=True)
        }
        self.scale = Scale(measured.axis, "none", *((0.0, 1.0) if sets.bounded else (None, None)))
        self.systems = sorted({system for system, _ in self.rows.values()})

    def ends(self) -> Iterator[Block]:
        """The most varied and the least varied prompts, those with blank or missing images passed over."""
        keys = list(self.rows)
        varied = self._sound(keys)
        alike = self._sound([key for key in reversed(keys) if key not in varied])
        shown = [[self._shown(key) for key in some] for some in (varied, alike)]
        for title, rows in zip(("Most varied prompts", "Least varied prompts"), shown, strict=True):
            if rows:
                yield Heading(title)
                among = [*shown[0], *shown[1]]
                yield by_prompt(rows, self.scale, self.colours, among, OVER_IMAGES)

    def same_prompt(self) -> Iterator[Block]:
        """The prompts on which systems differ most, one row per system."""
        gaps = self._gaps()
        picked = 0
        for prompt_id in islice(sorted(gaps, key=lambda key: (-gaps[key], key)), LOOKED_AT):
            keys = sorted(
                (key for key in self.rows if key[0] == prompt_id), key=lambda key: self.rows[key][1]
            )
            if picked == ACROSS:
                break
            if len(self._sound(keys, most=len(keys))) < len(keys):
                continue
            if not picked:
                yield Heading("The same prompt in every system")
            picked += 1
            yield across_systems([self._shown(key) for key in keys], self.scale, self.colours)

    def one_map(self, wanted: str | None) -> Iterator[Block]:
        """All images of one prompt, laid out by how alike they are."""
        prompt_id = self._mapped(wanted)
        if prompt_id is None:
            return
        found = self.sets.get(prompt_id)
        readable = found.readable
        if len(readable) < 3:
            return
        drawn = set(chosen(len(readable)).tolist())
        note = [f"Blank (one colour): {found.blank} of the images."] if found.blank else []
        if found.missing:
            note.append(f"Not here: {found.missing} of {len(found.images)} images ({_why(found)}).")
        yield Heading(f"A map of the images of “{found.prompt[:120]}”")
        yield scaling_map(
            [
                self.sets.thumbnail(image, MAP_SIDES[len(drawn) > FEW_ON_A_MAP])
                if n in drawn
                else Thumbnail(None, image.system)
                for n, image in enumerate(readable)
            ],
            found.distances,
            prompt=found.prompt,
            distance=self.sets.measured,
            colours=self.colours,
            note=" ".join(note),
        )

    def overlays(self) -> Iterator[Block]:
        """The two most similar images of each system among its least varied prompts, laid over each other."""
        blocks: list[Block] = []
        for system in self.systems[:OVERLAYS]:
            keys = [key for key in reversed(self.rows) if self.rows[key][0] == system][:LOOKED_AT]
            pairs = [(key, pair) for key in keys if (pair := _closest(self.sets.get(*key))) is not None]
            if not pairs:
                continue
            key, (far, *both) = min(pairs, key=lambda each: each[1][0])
            first, second = (Side(self.sets.pixels(image), image.name) for image in both)
            note = f"Looked for among the {len(keys)} least varied prompts of {system}."
            prompt, measured = self.sets.get(*key).prompt, self.sets.measured
            blocks.append(overlay(first, second, prompt=prompt, distance=far, measured=measured, note=note))
        if blocks:
            yield Heading("The two most similar images, one on the other")
            yield from blocks

    def reuse(self, result: Reuse | None) -> Iterator[Block]:
        """How alike the two most alike of k images are, for each system."""
        scale = self.measured.scale if result is None else result.scale
        if result is None:
            curves = [each for system in self.systems if (each := self._reuse_of(system)) is not None]
            levels = scale.levels or ()
            cut_off, note = (levels or (None,))[-1], f"Up to {REUSE_SETS} prompts of a system were looked at."
        else:
            groups = [each for each in result.groups if each.tag is None and each.curve.k.size > 1]
            curves = [ReuseCurve(each.curve, each.reusable, each.system) for each in groups]
            cut_off, levels, note = result.cut_off, result.levels, ""
        if curves:
            yield Heading("How many images before they repeat")
            axis = curve_axis(scale)
            yield reuse_figure(
                curves, high=cut_off, levels=levels, axis=axis, colours=self.colours, note=note
            )

    def _reuse_of(self, system: str) -> ReuseCurve | None:
        """The curve over some prompts of a system, those with blank or missing images passed over."""
        keys = [key for key in sorted(self.rows) if self.rows[key][0] == system]
        keys = [keys[n] for n in chosen(len(keys), REUSE_SETS)]
        sound = [each for key in keys if self._is_sound(key, each := self.sets.get(*key))]
        if not sound:
            return None
        rows, _ = in_common([1 - expected_minimum(each.distances).value for each in sound])
        return ReuseCurve(mean_curve(rows), None, system) if rows.shape[1] > 1 else None

    def features(self) -> Iterator[Block]:
        """Similarity against each measure of a prompt that the study has scores of."""
        study = self.sets.study
        known = reading.measures(study).filter((pl.col("kind") == "of_prompt") & (pl.col("values") > 0))
        figures = []
        for row in known.head(FEATURES).iter_rows(named=True):
            scores = reading.scores(study, str(row["identity"])).select("prompt_id", feature="value")
            both = self.prompts.join(scores, on="prompt_id")
            several = both["system"].n_unique() > 1
            figures.append(
                feature_figure(
                    both["feature"].to_numpy(),
                    both["value"].to_numpy(),
                    name=str(row["measure"]).partition("(")[0].replace("_", " "),
                    series=both["system"].to_list() if several else None,
                    axis=self.measured.axis,
                    domain=self.scale.domain,
                    colours=self.colours,
                )
            )
        if figures:
            yield Heading("Similarity against what the prompt is like")
            yield from figures

    def settings(self) -> Iterator[Figure | Heading]:
        """Similarity against the first setting of the generators that varies."""
        found = varying_setting(self.sets.study)
        if found is None:
            return
        name, values = found
        means: dict[tuple[object, str], list[float]] = {}
        for key, (system, value) in self.rows.items():
            settings = values.get((key[0], system), [])
            if len(set(settings)) == 1:
                means.setdefault((settings[0], system), []).append(value)
            elif settings:
                for setting, alike in self.sets.get(*key).within(settings):
                    means.setdefault((setting, system), []).append(alike)
        rows = [
            (setting, system, mean)
            for (setting, system), values in means.items()
            if (mean := self._cut(mean_interval(np.array(values)))).value is not None
        ]
        if len({setting for setting, _, _ in rows}) > 1:
            yield Heading(f"Similarity against {name.replace('_', ' ')}")
            yield setting_figure(
                rows,
                name=name.replace("_", " "),
                axis=self.measured.axis,
                domain=self.scale.domain,
                colours=self.colours,
            )

    def notes(self) -> dict[str, int]:
        """What was left out, and how often."""
        found: dict[str, int] = {}
        for each in self.passed.values():
            what = []
            if each.blank:
                what.append("blank images (one colour)")
            if each.missing:
                what.append(f"images that cannot be shown ({_why(each)})")
            said = f"prompts of a system passed over for {' and '.join(what)}"
            found[said] = found.get(said, 0) + 1
        return found

    def _mapped(self, wanted: str | None) -> int | None:
        if wanted is not None:
            return _named_prompt(self.sets.study, wanted)
        here = self.sets.answers.filter(pl.col("sha256").is_not_null())
        counts = dict(here.group_by("prompt_id").len().iter_rows())
        gaps = self._gaps()
        order = sorted(counts, key=lambda key: (-counts[key], -gaps.get(key, 0.0), key))
        sound = (key for key in order[:LOOKED_AT] if self.sets.get(key).sound)
        return next(sound, order[0] if order else None)

    def _gaps(self) -> dict[int, float]:
        """How far the systems' similarities of a prompt lie apart, where several answered it."""
        values: dict[int, list[float]] = {}
        for (prompt_id, _), (_, value) in self.rows.items():
            values.setdefault(prompt_id, []).append(value)
        return {key: max(some) - min(some) for key, some in values.items() if len(some) > 1}

    def _sound(self, keys: Iterable[tuple[int, int]], most: int = ENDS) -> list[tuple[int, int]]:
        looked = islice(keys, max(LOOKED_AT, most))
        return list(islice((key for key in looked if self._is_sound(key, self.sets.get(*key))), most))

    def _is_sound(self, key: tuple[int, int], found: ImageSet) -> bool:
        if not found.sound:
            self.passed[key] = found
        return found.sound

    def _shown(self, key: tuple[int, int]) -> Shown:
        found = self.sets.get(*key)
        return Shown(
            found.prompt,
            self.rows[key][0],
            self._cut(found.similarity()),
            [self.sets.thumbnail(image) for image in found.images],
            blank=found.blank,
        )

    def _cut(self, similarity: Estimate) -> Estimate:
        """Similarity ends at 1; at 0 too, where the distance ends at 1."""
        return within(similarity, self.scale.low, 1.0)


def _closest(found: ImageSet) -> tuple[float, OneImage, OneImage] | None:
    """The two most similar images that show something: black images are alike for another reason."""
    keep = np.flatnonzero(found.shown)
    if keep.size < 2:
        return None
    i, j = (int(keep[place]) for place in closest_pair(found.distances[np.ix_(keep, keep)]))
    return float(found.distances[i, j]), found.readable[i], found.readable[j]


def _named_prompt(study: Study, wanted: str) -> int:
    rows = list(reading.prompts(study).iter_rows())
    for key, _, ref, text in rows:
        if wanted in (ref, text):
            return int(key)
    raise UsageError(f"there is no prompt {wanted!r}", remedy=near(wanted, [row[2] for row in rows]))


def _why(found: ImageSet) -> str:
    """The first reason why an image of a set cannot be shown."""
    return next((image.reason for image in found.images if image.reason), "")
