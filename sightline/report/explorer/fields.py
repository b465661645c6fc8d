"""What the explorer filters and sorts by: fields of what a study holds, each a column once asked for."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from threading import RLock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightline import registry
from sightline.errors import SightlineError, UsageError, near
from sightline.estimate import Direction
from sightline.report.explorer.table import Column, Table, category, percentiles
from sightline.report.store import columns as store
from sightline.report.store.columns import Floats, Ints, Keyed, Measured
from sightline.study import reading, rollup
from sightline.study.contents import NAME_ONLY, current_inputs
from sightline.study.schema import database
from sightline.study.study import Study

GROUPS = ("people", "measures", "predictions", "tags", "answers")
SORTS = ("prompt", "random")
"""Orders that need no field."""
MOST_SETTINGS = 60
"""Settings of generators that become fields, the most frequent first."""
VERDICT = "verdict"
"""The kind of a measure, and the entry of its evidence, that says yes, no or cannot tell."""
YES, NO, UNKNOWN = "yes", "no", "cannot tell"
AGREES = "agrees"
"""The fields that say whether the newest verdicts and people say the same."""
AGREE, ONLY_VERDICT, ONLY_PEOPLE = "agree", "only the verdict says yes", "only people say yes"


@dataclass(frozen=True)
class Field:
    """One thing to filter and sort by; `parts` are the parts of the study that it rests on."""

    id: str
    label: str
    group: str
    type: str
    parts: frozenset[str]
    load: Callable[[], Column]
    direction: Direction = "none"
    derived: bool = False
    """Whether it is made from two others: there may be very many of these."""


class Fields:
    """The fields of a study as it is at one moment, with the columns that were loaded."""

    def __init__(
        self,
        study: Study,
        table: Table,
        prompts: tuple[Ints, Sequence[str], Sequence[str]],
        loaded: Mapping[str, Column],
    ) -> None:
        self.study, self.table, self.prompts = study, table, prompts
        self._lock = RLock()
        self._columns: dict[str, Column] = {}
        self._inputs: dict[str, tuple[Ints, NDArray[np.bool_]] | None] = {}
        self.systems: Mapping[int, str] = {}
        self.verdict: Measured | None = None
        """The newest verdicts."""
        self.named: dict[str, Field] = {}
        for field in self._made():
            self.named.setdefault(field.id, field)
        self._columns = {key: column for key, column in loaded.items() if key in self.named}

    def field(self, name: str) -> Field:
        """A field by its id, or an error that suggests near ones."""
        if name not in self.named:
            raise UsageError(f"there is no field {name[:200]!r} in this study", remedy=near(name, self.named))
        return self.named[name]

    def column(self, name: str) -> Column:
        """The values of a field, loaded when first asked for."""
        found = self._columns.get(name)
        if found is not None:
            return found
        field = self.field(name)
        with self._lock:
            if name not in self._columns:
                self._columns[name] = field.load()
            return self._columns[name]

    def loaded(self, without: set[str]) -> dict[str, Column]:
        """The columns at hand but those that rest on one of these parts."""
        return {key: column for key, column in self._columns.items() if not (self.named[key].parts & without)}

    def judged(self) -> NDArray[np.bool_]:
        """The rows that somebody's vote or truth is about."""
        found = np.zeros(self.table.size, bool)
        for key in self.named:
            if key.startswith("truth:"):
                found |= self.column(key).known
            elif key.startswith("votes:"):
                counted = self.column(key).numbers
                assert counted is not None
                found |= counted > 0
        return found

    # -- which fields there are ---------------------------------------------------------------------------

    def _made(self) -> Iterator[Field]:
        with database.reading(self.study.engine) as connection:
            tags = store.read_tag_names(connection)
            measures = store.read_measures(connection)
            self.systems = store.read_names(connection, "system")
            verdicts = [each.id for each in measures if _has_verdicts(connection, each)]
        yield from self._of_people()
        for measure in measures:
            yield from self._of_measure(measure, measure.id in verdicts)
        self.verdict = next((each for each in reversed(measures) if each.kind == VERDICT), None)
        yield from self._of_agreement()
        yield from self._of_predictions()
        for name in tags:
            load = self._loader(self._tag, name)
            yield Field(f"tag:{name}", name, "tags", "category", frozenset({"rows", "tags"}), load)
        yield from self._of_answers()

    def _loader(self, load: Callable[..., Column], *words: Any) -> Callable[[], Column]:
        return lambda: load(*words)

    def _of_people(self) -> Iterator[Field]:
        self._truths: dict[str, Direction] = {}
        self._settled: dict[int, str] = {}
        questions = reading.questions(self.study)
        with database.reading(self.study.engine) as connection:
            voted = {asked.name for _, asked in questions if store.has_votes(connection, asked.name)}
        for _, asked in questions:
            name = asked.name
            settled = reading.counting_settlements(self.study, name)
            if settled:
                self._truths[name] = _direction(asked.direction)
                self._settled.update(dict.fromkeys(settled, name))
                parts = frozenset({"rows", "truths"})
                yield Field(
                    f"truth:{name}", name, "people", "number", parts,
                    self._loader(self._truth, name), self._truths[name],
                )  # fmt: skip
            if name in voted:
                parts = frozenset({"rows", "votes"})
                yield Field(
                    f"votes:{name}", f"votes on {name}", "people", "number", parts,
                    self._loader(self._of_votes, name, f"votes:{name}"),
                )  # fmt: skip
                yield Field(
                    f"disagreement:{name}", f"disagreement on {name}", "people", "number", parts,
                    self._loader(self._of_votes, name, f"disagreement:{name}"),
                )  # fmt: skip

    def _of_measure(self, measure: Measured, verdicts: bool) -> Iterator[Field]:
        parts = frozenset({"rows", "scores"})
        spec, short = measure.spec, _short(measure.kind, measure.spec)
        if verdicts:
            load = self._loader(self._verdict, measure)
            yield Field(f"{VERDICT}:{spec}", short, "measures", "category", parts, load)
        if measure.kind == VERDICT:
            return
        direction = _direction(measure.direction)
        load = self._loader(self._score, measure)
        yield Field(f"score:{spec}", short, "measures", "number", parts, load, direction)
        if direction == "none":
            return
        for name, better in self._truths.items():
            if better != "none":
                label = f"{name}: people above {short}"
                load = self._loader(self._gap, name, spec, direction)
                both = parts | {"truths"}
                yield Field(f"gap:{name}~{spec}", label, "people", "number", both, load, "none", True)

    def _of_agreement(self) -> Iterator[Field]:
        """Whether the newest verdicts and people agree, by every question of yes or no that has a truth."""
        if self.verdict is None:
            return
        spec, settings = self.verdict.spec, self.study.settings.get("verify", {})
        for _, asked in reading.questions(self.study):
            own = settings.get("yes_from") if settings.get("question") == asked.name else None
            cut = own if own is not None else 0.5 if (asked.low, asked.high) == (0, 1) else None
            if cut is None or asked.name not in self._truths:
                continue
            load = self._loader(self._agreement, asked.name, spec, float(cut), own is None)
            parts = frozenset({"rows", "scores", "truths"})
            label = f"verdict and people on {asked.name}"
            yield Field(f"{AGREES}:{asked.name}", label, "people", "category", parts, load)

    def _agreement(self, name: str, spec: str, cut: float, ties: bool) -> Column:
        """Agree, or which of the two says yes; nothing where one is silent, or people are split evenly."""
        truth, said = self.column(f"truth:{name}").numbers, self.column(f"{VERDICT}:{spec}")
        assert truth is not None and said.codes is not None
        names = np.array([*said.names, ""])
        verdict = names[said.codes]
        known = ~np.isnan(truth) & np.isin(verdict, (YES, NO))
        if ties:
            known &= truth != cut
        people, machine = truth >= cut, verdict == YES
        codes = np.where(people == machine, 0, np.where(machine, 2, 1)).astype(np.int32)
        return Column(
            codes=np.where(known, codes, -1).astype(np.int32), names=[AGREE, ONLY_PEOPLE, ONLY_VERDICT]
        )

    def _of_predictions(self) -> Iterator[Field]:
        with database.reading(self.study.engine) as connection:
            fits = store.read_fits(connection, self._settled)
        strongest = {reading.newest_settlement(self.study, name) for name in self._truths}
        parts = frozenset({"rows", "predictions", "truths"})
        for fit in fits:
            if fit.settlement_id not in strongest:
                continue
            key, direction = f"{fit.question}~{fit.spec}", self._truths[fit.question]
            short = _short("predictor", fit.spec)
            yield Field(
                f"prediction:{key}", f"{fit.question} by {short}", "predictions", "number", parts,
                self._loader(self._prediction, fit.id), direction,
            )  # fmt: skip
            yield Field(
                f"residual:{key}", f"{fit.question}: truth minus {short}", "predictions", "number", parts,
                self._loader(self._residual, fit), "none", True,
            )  # fmt: skip

    def _of_answers(self) -> Iterator[Field]:
        rows, parts = self.table.rows, frozenset({"rows"})

        def number(key: str, label: str, values: Any, where: Any = None) -> Iterator[Field]:
            cells = np.asarray(values, np.float64)
            cells = cells if where is None else np.where(where, cells, np.nan)
            if not np.isnan(cells).all():
                yield Field(key, label, "answers", "number", parts, lambda: Column(numbers=cells))

        answered = rows.prompt > 0
        load = self._loader(self._by_id, rows.system, self.systems)
        yield Field("system", "system", "answers", "category", parts, load)
        suites = dict(zip(self.prompts[0].tolist(), self.prompts[1], strict=True))
        load = self._loader(self._by_id, rows.prompt, suites)
        yield Field("suite", "suite", "answers", "category", parts, load)
        yield Field("collection", "collection", "answers", "category", parts, self._collections)
        yield from number("position", "position", rows.position, answered)
        yield from number("seed", "seed", rows.seed)
        yield from number("answer_score", "the system's own score", rows.rank_score)
        yield from number("width", "width", rows.width)
        yield from number("height", "height", rows.height)
        yield from self._of_settings(parts)

    def _of_settings(self, parts: frozenset[str]) -> Iterator[Field]:
        with database.reading(self.study.engine) as connection:
            settings = store.read_settings(connection)
        counts: dict[str, int] = {}
        for values in settings.values():
            for name, value in values.items():
                if isinstance(value, str | int | float | bool):
                    counts[str(name)] = counts.get(str(name), 0) + 1
        for name in sorted(counts, key=lambda each: -counts[each])[:MOST_SETTINGS]:
            given = {key: each[name] for key, each in settings.items() if name in each}
            numeric = all(isinstance(one, int | float) and one is not bool(one) for one in given.values())
            load = self._loader(self._setting, given, numeric)
            kind = "number" if numeric else "category"
            yield Field(f"setting:{name}", name, "answers", kind, parts, load)

    # -- their values --------------------------------------------------------------------------------------

    def _by_id(self, ids: Ints, names: Mapping[int, str]) -> Column:
        known, codes = np.unique(ids, return_inverse=True)
        small = category([names.get(int(key)) for key in known])
        assert small.codes is not None
        return Column(codes=small.codes[codes], names=small.names)

    def _collections(self) -> Column:
        with database.reading(self.study.engine) as connection:
            names = store.read_names(connection, "collection")
        return self._by_id(self.table.rows.collection, names)

    def _setting(self, given: Mapping[int, Any], numeric: bool) -> Column:
        ids = self.table.rows.settings
        if not numeric:
            texts = {
                key: one if isinstance(one, str) else json.dumps(one, ensure_ascii=False)
                for key, one in given.items()
            }
            return self._by_id(ids, texts)
        known, codes = np.unique(ids, return_inverse=True)
        values = np.array([float(given.get(int(key), np.nan)) for key in known])
        return Column(numbers=values[codes])

    def _tag(self, name: str) -> Column:
        with database.reading(self.study.engine) as connection:
            rows = store.read_tag(connection, name)
        values = category([row[2] for row in rows])
        assert values.codes is not None
        prompt, image = (np.array([row[n] for row in rows], np.int64) for n in (0, 1))
        at = self.table.places(prompt, np.zeros_like(prompt), image)
        codes = np.where(at >= 0, values.codes[at] if rows else -1, -1).astype(np.int32)
        return Column(codes=codes, names=values.names)

    def _truth(self, name: str) -> Column:
        settlements = reading.counting_settlements(self.study, name)
        with database.reading(self.study.engine) as connection:
            return Column(numbers=self.table.spread(store.read_truths(connection, settlements)))

    def _of_votes(self, name: str, wanted: str) -> Column:
        """How many votes a row has and how far they differ: both are made of what is read once."""
        with database.reading(self.study.engine) as connection:
            votes = store.read_votes(connection, name)
        made = {f"votes:{name}": self._counted(votes), f"disagreement:{name}": self._disagreement(votes)}
        self._columns.update(made)
        return made[wanted]

    def _counted(self, votes: store.Votes) -> Column:
        """How many votes are about each row: those that compare its image with another count as well."""
        items, total = votes.items, np.zeros(self.table.size)
        people = np.bincount(votes.at, votes.n.astype(np.float64), minlength=items.id.size)
        # Of a pair the system is not said to be that of either image.
        system = np.where(items.alone, items.system, 0)
        for images in (items.image, items.image_b, items.image_c):
            mine = np.flatnonzero((images > 0) | (items.alone & (images is items.image)))
            keys = np.stack([items.prompt[mine], system[mine], images[mine]])
            if not items.alone.all():
                # An image may be one of several pairs.
                keys, which = np.unique(keys, axis=1, return_inverse=True)
                counts = np.bincount(which.ravel(), people[mine], minlength=keys.shape[1])
            else:
                counts = people[mine]
            keyed = Keyed(keys[0], keys[1], keys[2], counts.astype(np.float64))
            total += np.nan_to_num(self.table.spread(keyed))
        total[self.table.rows.image == 0] = np.nan
        return Column(numbers=total)

    def _disagreement(self, votes: store.Votes) -> Column:
        """The standard deviation (n - 1) of the votes on each item; it takes two."""
        items, n = votes.items, votes.n.astype(np.float64)
        counts = np.bincount(votes.at, n, minlength=items.id.size)
        mean = np.bincount(votes.at, n * votes.value, minlength=items.id.size) / np.maximum(counts, 1)
        squares = np.bincount(votes.at, n * (votes.value - mean[votes.at]) ** 2, minlength=items.id.size)
        several = np.flatnonzero((counts > 1) & items.alone)
        deviation = np.sqrt(squares[several] / (counts[several] - 1))
        keyed = Keyed(items.prompt[several], items.system[several], items.image[several], deviation)
        return Column(numbers=self.table.spread(keyed))

    def _score(self, measure: Measured) -> Column:
        """The scores of what the study holds now: those of contents that changed since are left out."""
        with database.reading(self.study.engine) as connection:
            scores, inputs = store.read_scores(connection, measure.id)
        at = self.table.places(scores.prompt, scores.system, scores.image)
        fits = at >= 0
        now = self._inputs_of(measure.kind)
        if now is not None and inputs.size:
            fits &= now[1] & ((inputs[at] == now[0]) | (now[0] == NAME_ONLY))
        return Column(numbers=np.where(fits, scores.value[at] if inputs.size else np.nan, np.nan))

    def _inputs_of(self, kind: str) -> tuple[Ints, NDArray[np.bool_]] | None:
        """For each row the hash of what a measure of this kind would be given, and whether there is one."""
        if kind not in self._inputs:
            with database.reading(self.study.engine) as connection:
                now = current_inputs(connection, kind)
            if now is None:
                self._inputs[kind] = None
            else:
                keys = np.array(list(now), np.int64).reshape(-1, 3)
                hashes = np.fromiter(now.values(), np.int64, len(now))
                at = self.table.places(keys[:, 0], keys[:, 1], keys[:, 2])
                expected = hashes[at] if len(now) else np.zeros(self.table.size, np.int64)
                self._inputs[kind] = (expected, at >= 0)
        return self._inputs[kind]

    def _verdict(self, measure: Measured) -> Column:
        """Yes, no or cannot tell, as the evidence says; else as the value does."""
        with database.reading(self.study.engine) as connection:
            evidence = store.read_evidence(connection, measure.id)
            scores = store.read_outcomes(connection, measure.id) if measure.kind == VERDICT else []
            now = current_inputs(connection, measure.kind) if scores else None
        said = {row[:3]: _verdict_of(row[3]) for row in evidence}
        for row in scores:
            known = {1.0: YES, 0.0: NO, None: UNKNOWN}
            said[row[:3]] = said.get(row[:3]) or known.get(row[3], f"{row[3]}")
            if now is not None and now.get(row[:3]) != row[4]:
                del said[row[:3]]  # of a picture or a prompt that has changed since
        said = {key: one for key, one in said.items() if one is not None}
        values = category(list(said.values()))
        assert values.codes is not None
        keys = np.array(list(said), np.int64).reshape(-1, 3)
        at = self.table.places(keys[:, 0], keys[:, 1], keys[:, 2])
        codes = np.where(at >= 0, values.codes[at] if said else -1, -1).astype(np.int32)
        return Column(codes=codes, names=values.names)

    def _gap(self, name: str, spec: str, direction: Direction) -> Column:
        """Where people place a row minus where the measure does, both from 0 (worst) to 1 (best)."""
        truth, score = self.column(f"truth:{name}"), self.column(f"score:{spec}")
        assert truth.numbers is not None and score.numbers is not None
        both = truth.known & score.known
        people = percentiles(np.where(both, truth.numbers, np.nan), self._truths[name] == "higher")
        measured = percentiles(np.where(both, score.numbers, np.nan), direction == "higher")
        return Column(numbers=people - measured)

    def _prediction(self, fit_id: int) -> Column:
        with database.reading(self.study.engine) as connection:
            return Column(numbers=self.table.spread(store.read_predictions(connection, fit_id)))

    def _residual(self, fit: store.Fitted) -> Column:
        """Truth minus prediction; of a prediction for a prompt, the truth of the prompt over all systems."""
        with database.reading(self.study.engine) as connection:
            predicted = store.read_predictions(connection, fit.id)
        truth: Floats | None
        if predicted.image.any():
            truth = self.column(f"truth:{fit.question}").numbers
        else:
            rolled = rollup.by_prompt(self.study, fit.question)
            ids = rolled["prompt_id"].to_numpy()
            none = np.zeros_like(ids)
            truth = self.table.spread(Keyed(ids, none, none, rolled["value"].to_numpy()))
        assert truth is not None
        return Column(numbers=truth - self.table.spread(predicted))


def _short(kind: str, spec: str) -> str:
    """A name as people read it: without the parameters that are as they always are."""
    try:
        return registry.configure(kind, spec).short
    except SightlineError:
        return spec  # an extension that is not installed here


def _has_verdicts(connection: Any, measure: Measured) -> bool:
    if measure.kind == VERDICT:
        return True
    return any(_verdict_of(row[3]) for row in store.read_evidence(connection, measure.id, most=5))


def _verdict_of(evidence: Any) -> str | None:
    said = evidence.get(VERDICT) if isinstance(evidence, Mapping) else None
    if isinstance(said, bool):
        return YES if said else NO
    return said if isinstance(said, str) and said else None


def _direction(said: str) -> Direction:
    return "higher" if said == "higher" else "lower" if said == "lower" else "none"
