"""The rankings of a study as columns: images, gains, and what is unjudged, empty or missing."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl

from sightline.errors import DataError, UsageError, near
from sightline.estimate import Estimate
from sightline.extension import Configured
from sightline.measures.ranking_context import RankingContext
from sightline.records import NoValue, Rankings
from sightline.statistics import runs
from sightline.statistics.intervals import mean_interval
from sightline.study import reading
from sightline.study.groups import groups_of
from sightline.study.pools import pools
from sightline.study.relevance import Rules, rules
from sightline.study.running.validate import gate
from sightline.study.scores import Outcome
from sightline.study.study import Study
from sightline.systems.ranking import refuse_distances

UNJUDGED = ("run", "runs")
"""What a measure rests on that needs no relevance."""
PREDICTED = "uses predicted relevance, not judgements of the images."
REPEATED = "places were dropped: their image already occurred."
_GAINS = {"prompt_id": pl.Int64, "image_id": pl.Int64, "value": pl.Float64}


@dataclass(frozen=True)
class Gaps:
    """What is unjudged, empty, missing or repeated in one engine's rankings of prompts with known relevance.

    Counted over `of` images and `prompts` with known relevance; `empty` prompts have empty results,
    `unanswered` ones no ranking.
    """

    name: str
    of: int
    unjudged: int
    prompts: int
    empty: int
    unanswered: int
    repeated: int


@dataclass(frozen=True)
class Ranked:
    """Every ranking of every retriever: prompt and system of each, its images, and its gains as columns.

    `repeated` has one row of system_id and prompt_id per place that is dropped because its image already
    occurred; `absent` one of system_id, prompt_id and `empty` per prompt with known relevance that a system
    has no image for: empty results if it was run on it. `judged` are the prompts with known relevance.
    `context` is what measures may use besides the rankings. Without `by_relevance` no relevance is known, and
    `absent` covers every prompt that any system was run on.
    """

    prompt: np.ndarray
    system: np.ndarray
    image: np.ndarray
    table: Rankings
    names: dict[int, str]
    repeated: pl.DataFrame
    absent: pl.DataFrame
    judged: np.ndarray
    rules: Rules
    context: RankingContext | None = None
    by_relevance: bool = True

    def __len__(self) -> int:
        return len(self.prompt)

    def hashes(self, rests_on: str = "relevance", beyond: bool = False) -> list[int]:
        """64 bits over what a measure reads of each ranking, signed for the databases.

        `beyond` adds what was searched, which some measures read; those that rest on everything do.
        """
        table = self.table
        parts = [(self.image, table.offsets)]
        if rests_on in ("relevance", "everything"):
            parts += [(table.gains, table.offsets), (table.ideal, table.ideal_offsets)]
        if rests_on != "relevance" and table.scores is not None:
            parts += [(table.scores, table.offsets)]
        if rests_on == "everything" and self.context is not None:
            # Which queries are held out together decides what is predicted.
            group = groups_of(self.context.study, self.prompt.tolist())
            parts += [(group, np.arange(len(self) + 1))]
        views = [(column.tobytes(), (8 * offsets).tolist()) for column, offsets in parts]
        texts, searched = [""] * len(self), b""
        if self.context is not None:
            texts = self.context.texts() if rests_on != "relevance" else texts
            searched = self.context.searched if beyond or rests_on == "everything" else searched
        digests = []
        for n in range(len(self)):
            whole = hashlib.sha256(searched + texts[n].encode() + b"\0")
            for column, starts in views:
                whole.update((starts[n + 1] - starts[n]).to_bytes(8, "big"))
                whole.update(column[starts[n] : starts[n + 1]])
            digests.append(whole.digest())
        if rests_on in ("runs", "everything"):
            digests = self._together(digests, rests_on)
        return [int.from_bytes(digest[:8], "big", signed=True) for digest in digests]

    def _together(self, own: Sequence[bytes], rests_on: str) -> list[bytes]:
        """Each ranking's digest with those of the others that a measure reads together with it."""
        groups = self.prompt.tolist() if rests_on == "runs" else [0] * len(self)
        wholes: dict[int, Any] = {}
        for group, system, digest in zip(groups, self.system.tolist(), own, strict=True):
            wholes.setdefault(group, hashlib.sha256()).update(system.to_bytes(8, "big") + digest)
        return [
            hashlib.sha256(digest + wholes[group].digest()).digest()
            for group, digest in zip(groups, own, strict=True)
        ]

    def gaps(self, k: int | None = None, prompts: Sequence[int] | None = None) -> list[Gaps]:
        """What the values of each engine do not show, over all prompts or over these."""
        counted = runs.count_judged(self.table.gains, self.table.offsets, k=k)
        kept = _among(self.prompt, prompts) & np.isin(self.prompt, self.judged)
        judged = int(_among(self.judged, prompts).sum())
        repeated, absent = (
            each.filter(_among(each["prompt_id"].to_numpy(), prompts))
            for each in (self.repeated, self.absent)
        )
        found = []
        for system, name in self.names.items():
            mine = kept & (self.system == system)
            of, known = int(counted.of[mine].sum()), int(counted.judged[mine].sum())
            missing = absent.filter(pl.col("system_id") == system)
            empty = int(missing["empty"].sum())
            again = repeated.filter(pl.col("system_id") == system).height
            found.append(Gaps(name, of, of - known, judged, empty, missing.height - empty, again))
        return found

    def brief(self, k: int | None = None, prompts: Sequence[int] | None = None) -> str:
        """The notes of all engines, one sentence per kind."""
        gaps = self.gaps(k, prompts)
        first = f"Among the first {k} images" if k is not None else "In the rankings"
        unjudged = [f"{each.unjudged / each.of:.0%} of {each.name}'s" for each in gaps if each.unjudged]
        empty = [f"{each.name} for {each.empty:,} of {each.prompts:,}" for each in gaps if each.empty]
        missing = [
            f"{each.name} for {each.unanswered:,} of {each.prompts:,}" for each in gaps if each.unanswered
        ]
        repeated = [f"{each.repeated:,} of {each.name}" for each in gaps if each.repeated]
        sentences = []
        if unjudged:
            sentences.append(f"{first}, {', '.join(unjudged)} are unjudged and count as not relevant.")
        if empty:
            sentences.append(f"Results are empty: {', '.join(empty)} prompts, which count as 0.")
        if missing:
            sentences.append(f"Rankings are missing: {', '.join(missing)} prompts, which {self._missing}.")
        if repeated:
            sentences.append(f"Places were dropped, {', '.join(repeated)}: their image already occurred.")
        return " ".join(sentences)

    def notes(self, k: int | None = None, prompts: Sequence[int] | None = None) -> list[str]:
        """What a reader must know besides the values: what is unjudged, empty, missing or repeated."""
        first = f"among the first {k}" if k is not None else "in its rankings"
        asked = np.unique(self.prompt[_among(self.prompt, prompts)])
        unknown = int((~np.isin(asked, self.judged)).sum())
        notes = []
        if unknown:
            notes.append(f"{unknown:,} of {len(asked):,} prompts have no known relevance, and so no value.")
        for each in self.gaps(k, prompts):
            of_prompts, unjudged = f"of the {each.prompts:,} prompts with known relevance", each.unjudged
            if unjudged:
                images = f"{unjudged:,} of the {each.of:,} images {first} ({unjudged / each.of:.0%})"
                notes.append(f"{each.name}: {images} are unjudged and count as not relevant.")
            if each.empty:
                notes.append(f"{each.name}: {each.empty:,} {of_prompts} have empty results and count as 0.")
            if each.unanswered:
                missing = f"{each.unanswered:,} {of_prompts} have no ranking and {self._missing}"
                notes.append(f"{each.name}: {missing}.")
            if each.repeated:
                notes.append(f"{each.name}: {each.repeated:,} {REPEATED}")
        return notes

    @property
    def _missing(self) -> str:
        return "count as 0" if self.rules.complete else "are excluded from its means"

    def notes_for(self, measure: Configured, prompts: Sequence[int] | None = None) -> list[str]:
        """What a reader must know besides the values of a measure.

        Unjudged images are no gap in a measure that needs no judgements of them.
        """
        if measure.spec.details["rests_on"] == "relevance":
            return self.notes(place(measure), prompts)
        left_out = self.repeated.filter(_among(self.repeated["prompt_id"].to_numpy(), prompts))
        counts = dict(left_out.group_by("system_id").len().iter_rows())
        named = [(name, counts[system]) for system, name in self.names.items() if system in counts]
        notes = [f"{name}: {n:,} {REPEATED}" for name, n in named]
        if measure.spec.details["rests_on"] == "everything":
            notes.insert(0, f"{measure.short} {PREDICTED}")
        return notes

    def brief_for(self, measure: Configured, prompts: Sequence[int] | None = None) -> str:
        """The same with one sentence per kind."""
        if measure.spec.details["rests_on"] == "relevance":
            return self.brief(place(measure), prompts)
        return " ".join(self.notes_for(measure, prompts))

    def outcomes(self, measure: Configured) -> list[Outcome]:
        """The outcome of a measure for each ranking."""
        function = measure.load() if self.context is None else self.context.loaded(measure)
        computed = function(self.table)
        reason = str(measure.spec.details["nan"])
        values = computed.tolist() if isinstance(computed, np.ndarray) else list(computed)
        results = [each if isinstance(each, NoValue) or each == each else NoValue(reason) for each in values]
        return gate(measure.spec, results, len(self))

    def values(self, measure: Configured) -> pl.DataFrame:
        """prompt_id, system_id, system, value: the values of a measure, for each ranking that has one."""
        values = [outcome.value for outcome in self.outcomes(measure)]
        keys = pl.DataFrame({"prompt_id": self.prompt, "system_id": self.system})
        return (
            keys.with_columns(value=pl.Series(values, dtype=pl.Float64))
            .filter(pl.col("value").is_not_null())
            .with_columns(system=pl.col("system_id").replace_strict(self.names, return_dtype=pl.String))
            .select("prompt_id", "system_id", "system", "value")
            .sort("prompt_id", "system_id")
        )


def _among(keys: np.ndarray, prompts: Sequence[int] | None) -> np.ndarray:
    return np.ones(len(keys), dtype=bool) if prompts is None else np.isin(keys, list(prompts))


def looks_beyond(measure: Configured) -> bool:
    """Whether a measure with these parameters reads captions or the images that were searched."""
    beyond = measure.spec.details["beyond"]
    return beyond if isinstance(beyond, bool) else measure.arguments.get(beyond[0]) == beyond[1]


def place(measure: Configured) -> int | None:
    """The cut-off of a measure; None for all places."""
    k = measure.arguments.get("k")
    return k if isinstance(k, int) else None


def rankings_for(study: Study, measure: Configured, ranked: Ranked | None = None) -> Ranked:
    """The rankings as a measure needs them: with relevance or without.

    `ranked` were read earlier, and are read again if that was for measures of the other sort.
    """
    judged = measure.spec.details["rests_on"] not in UNJUDGED
    if ranked is not None and ranked.by_relevance == judged:
        return ranked
    return rankings_of(study, judged=judged)


def rankings_of(study: Study, *, judged: bool = True) -> Ranked:
    """Every ranking of the study with its gains, ties broken and repeats dropped.

    Without `judged` no relevance is needed, and none is read.
    """
    chosen = rules(study)
    truths = relevance(study, chosen) if judged else pl.DataFrame(schema=_GAINS)
    answers, asked = _answers(study)
    if asked.is_empty():
        raise DataError("no retriever has answered yet", remedy="Import a TREC run, or sightline retrieve.")
    left_out = _left_out(study, chosen)
    answers = answers.join(left_out, on="image_id", how="anti", maintain_order="left")
    if chosen.ties == "trec":
        refuse_distances(answers)
    truths = truths.sort("prompt_id", "value", "image_id", descending=[False, True, False])
    answers = answers.with_columns(query=pl.struct("system_id", "prompt_id").rle_id().cast(pl.Int64))
    columns = [answers[name].to_numpy() for name in ("query", "position", "score", "name_order")]
    answers = answers[runs.order(*columns, ties=chosen.ties)]  # type: ignore[arg-type]
    first = runs.first_places(answers["query"].to_numpy(), answers["image_id"].to_numpy())
    repeated = answers.filter(~first).select("system_id", "prompt_id")
    answers = answers.filter(first)
    keys = answers.group_by("query", "system_id", "prompt_id", maintain_order=True).len()
    known = truths["prompt_id"].unique().sort()
    absent = _absent(asked, answers, known if judged else asked["prompt_id"].unique().sort())
    empty = absent if chosen.complete else absent.filter("empty")
    empty = empty.with_columns(query=pl.lit(-1, pl.Int64), len=pl.lit(0, pl.UInt32))
    keys = pl.concat([keys, empty.select(keys.columns)])
    gains = runs.gains(
        *(answers[name].to_numpy() for name in ("prompt_id", "image_id")),
        *(truths[name].to_numpy() for name in ("prompt_id", "image_id", "value")),
    )
    prompt = keys["prompt_id"].to_numpy()
    ideal, ideal_offsets = _ideal(prompt, truths)
    offsets = np.concatenate([[0], np.cumsum(keys["len"].to_numpy().astype(np.int64))])
    context = RankingContext(study, left_out["image_id"].to_list())
    system, image = keys["system_id"].to_numpy(), answers["image_id"].to_numpy()
    score = answers["score"].to_numpy()
    context.table = Rankings(
        offsets, gains, ideal_offsets, ideal,
        scores=score, images=image, prompts=prompt, systems=system, beyond=context,
    )  # fmt: skip
    names = dict(asked.select("system_id", "system").unique().sort("system_id").iter_rows())
    absences = (repeated, absent, known.to_numpy())
    return Ranked(prompt, system, image, context.table, names, *absences, chosen, context, judged)


@dataclass(frozen=True)
class Overlap:
    """The overlap of two engines: mean over prompts of |A and B| / |A or B| of their first k."""

    first: str
    second: str
    k: int
    share: Estimate


def overlap(
    study: Study, k: int = 10, *, ranked: Ranked | None = None, prompts: Sequence[int] | None = None
) -> list[Overlap]:
    """Every pair of engines over the prompts both answered, or over these among them."""
    if k < 1:
        raise UsageError(f"k is {k}", remedy="Compare 1 place or more.")
    known = rankings_of(study) if ranked is None else ranked
    lengths = np.diff(known.table.offsets)
    rank = np.arange(known.image.size) - np.repeat(known.table.offsets[:-1], lengths)
    system, prompt = np.repeat(known.system, lengths), np.repeat(known.prompt, lengths)
    kept = _among(prompt, prompts)
    tops = {}
    for each in known.names:
        mine = kept & (system == each) & (rank < k)
        tops[each] = (prompt[mine], known.image[mine])
    overlaps = []
    for (a, first), (b, second) in combinations(known.names.items(), 2):
        _, proportions = runs.overlap(*tops[a], *tops[b])
        overlaps.append(Overlap(first, second, k, mean_interval(proportions, low=0, high=1)))
    return overlaps


def _answers(study: Study) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The images that engines returned, and system_id, system, prompt_id of all they were run on.

    An answer without an image stands for empty results. A pool is no engine: it only says which images are to
    be judged.
    """
    names = reading.images(study).sort("name", "collection").with_row_index("name_order")
    gathered = reading.systems(study).filter(pl.col("system").is_in(list(pools(study)))).select("system_id")
    answers = reading.answers(study, "retriever").join(gathered, on="system_id", how="anti")
    ranked = (
        answers.filter(pl.col("image_id").is_not_null())
        .join(names.select("image_id", pl.col("name_order").cast(pl.Int64)), on="image_id")
        .sort("system_id", "prompt_id", "position")
    )
    return ranked, answers.select("system_id", "system", "prompt_id").unique()


def relevance(study: Study, by: Rules) -> pl.DataFrame:
    """prompt_id, image_id, value; a rephrasing without truth of its own has that of its original.

    The value is the gain: on a scale that begins above 0, such as 1 to 4, the lowest grade has gain 0.
    """
    known = {asked.name: asked for _, asked in reading.questions(study)}
    if by.relevance not in known:
        raise DataError(
            f"rankings need relevant images, and no truth of {by.relevance!r} is in the study",
            remedy=f"{near(by.relevance, known)} Import qrels, or judge images and run sightline truth; "
            "[score] relevance in study.toml names the question.",
        )
    # A truth of a pair says which image is better, not that the first one is relevant.
    own = (
        reading.truths(study, by.relevance)
        .filter(
            pl.col("value").is_not_null()
            & (pl.col("prompt_id") > 0)
            & (pl.col("image_id") > 0)
            & (pl.col("image_b") == 0)
            & (pl.col("system_b") == 0)
        )
        .select("prompt_id", "image_id", pl.col("value") - max(known[by.relevance].low or 0.0, 0.0))
        .unique(["prompt_id", "image_id"], keep="last", maintain_order=True)
    )
    links = reading.links(study).filter(pl.col("kind") == "rephrases")
    heirs = links.join(own, on="prompt_id", how="anti").select("prompt_id", "to_prompt_id")
    inherited = (
        heirs.join(own, left_on="to_prompt_id", right_on="prompt_id")
        .select("prompt_id", "image_id", "value")
        .unique(["prompt_id", "image_id"], keep="first", maintain_order=True)
    )
    gains = pl.concat([own, inherited])
    return gains.join(_left_out(study, by), on="image_id", how="anti", maintain_order="left")


def _left_out(study: Study, by: Rules) -> pl.DataFrame:
    """image_id of what the rules take out of every ranking."""
    if not by.without:
        return pl.DataFrame(schema={"image_id": pl.Int64})
    reading.question(study, by.without)
    return reading.truths(study, by.without).filter(pl.col("value") > 0).select("image_id").unique()


def _absent(asked: pl.DataFrame, answers: pl.DataFrame, judged: pl.Series) -> pl.DataFrame:
    """The prompts with known relevance that a system has no image for, and whether its results were empty."""
    systems = asked.select("system_id").unique().sort("system_id")
    pairs = systems.join(pl.DataFrame({"prompt_id": judged}), how="cross")
    on = ["system_id", "prompt_id"]
    missing = pairs.join(answers.select(on), on=on, how="anti", maintain_order="left")
    run_on = asked.select(*on, empty=pl.lit(True))
    return missing.join(run_on, on=on, how="left", maintain_order="left").with_columns(
        pl.col("empty").fill_null(False)
    )


def _ideal(prompt: np.ndarray, truths: pl.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """The known gains of each ranking's prompt in falling order, and their offsets."""
    owner, value = truths["prompt_id"].to_numpy(), truths["value"].to_numpy()
    start = np.searchsorted(owner, prompt, side="left")
    lengths = np.searchsorted(owner, prompt, side="right") - start
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    return value[np.repeat(start - offsets[:-1], lengths) + np.arange(offsets[-1])], offsets
