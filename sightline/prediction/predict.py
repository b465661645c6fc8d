"""Predict: how well will a prompt do, before anything is generated or retrieved?"""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from sightline.errors import DataError, UsageError, near
from sightline.estimate import Cell, absent
from sightline.prediction.model import ONE_WIDTH, SHIPPED, TARGETS, Model, Prediction, TargetScale, load_model
from sightline.prediction.prompt_files import (
    SUFFIXES,
    Batch,
    Line,
    check_writable,
    predict_rows,
    read_prompts,
    write_rows,
)
from sightline.rendering.result import Result
from sightline.rendering.tables import Column, Table
from sightline.verbs import argument, option, verb

if TYPE_CHECKING:
    from sightline.study.running.progress import Listener

MOST = 20
"""Rows that a terminal shows."""
WORDS = 4
LONG = 60
LEAST = 0.005
"""Effects below this are not shown."""


@dataclass(frozen=True)
class Predictions(Result):
    """Predictions in the order asked, or best first where rewordings are ranked `by` a target.

    `tier` names the model, `why` says what a better tier lacks, `coverage` is that of the intervals, which
    hold by predicted value where they `vary` with it. `own` is the prompt that others reword. `lines` are the
    rows of the file that was read, `batch` counts them, and where `written` names a file, it holds the
    predictions.
    """

    tier: str
    why: str
    coverage: float
    predictions: Sequence[Prediction]
    targets: Sequence[str] = TARGETS
    ships: bool = True
    scales: Mapping[str, TargetScale] = field(default_factory=lambda: SHIPPED)
    by: str = ""
    own: str = ""
    unread: Sequence[str] = ()
    lines: Sequence[Line] = ()
    batch: Batch | None = None
    file: str = ""
    written: str = ""
    vary: bool = True

    @property
    def exit_code(self) -> int:
        """That of bad data where a prompt, or every row of a file, has no prediction."""
        if self.batch is not None:
            return DataError.exit_code if self.batch.refused == self.batch.rows else 0
        refused = not self.by and any(each.refused for each in self.predictions)
        return DataError.exit_code if refused else 0

    @property
    def sentence(self) -> str:
        """Whether rewording pays, and how sure that is."""
        if not self.by:
            return ""
        scale = self.scales.get(self.by, TargetScale(self.by))
        ranked = [each for each in self.predictions if by_value(each, self.by) is not None]
        own = next((each for each in ranked if self._is_own(each)), None)
        if own is None:
            return "Your own prompt cannot be predicted, so there is nothing to compare with."
        best = ranked[0]
        if best is own:
            return f"No other wording is expected to do better ({scale.title})."
        here, there = own.expected[self.by], best.expected[self.by]
        gain = (there.value or 0.0) - (here.value or 0.0)
        first, second = (here, there) if scale.sign > 0 else (there, here)
        apart = None not in (first.high, second.low) and (second.low or 0.0) > (first.high or 0.0)
        lower = "" if scale.sign > 0 else " (lower is better)"
        sure = "their intervals do not overlap" if apart else "their intervals overlap: try both"
        return f'Best: "{_short(best.prompt)}", {gain:+.2f} {scale.title} expected{lower}; {sure}.'

    @property
    def notes(self) -> Sequence[str]:
        said = list(self.unread)
        if self.batch is not None and self.batch.refused:
            rows, refused, named = self.batch.rows, self.batch.refused, self.batch.named
            said += [f"{refused:,} of {rows:,} rows have no prediction:", *(f"  {line}" for line in named)]
            said += [f"  ... and {refused - len(named):,} more."] if refused > len(named) else []
        if self.batch is None:
            for each in self.predictions:
                said += [f"! {_short(each.prompt, 40)}: {warning}" for warning in each.warnings]
        if any(not each.refused for each in self.predictions) or self.written:
            by = f"the {self.tier} tier" if self.ships else self.tier
            why = f" ({self.why.rstrip('.')})" if self.why else ""
            coverage = f"{self.coverage * 100:.0f} %"
            said.append(f"Predicted by {by}{why}. Intervals cover {coverage} of prompts of the same kind.")
            if not self.vary:
                said.append(ONE_WIDTH)
        return said

    @property
    def next(self) -> Sequence[str]:
        own = "" if self.ships else f" --model {shlex.quote(self.tier)}"
        if self.file:
            again = f"sightline predict --file {shlex.quote(self.file)}{own} --to predictions.csv"
            return () if self.written else (again,)
        known = next((each.prompt for each in self.predictions if not each.refused), None)
        if self.by or known is None:
            return ()
        named = shlex.quote(known) if len(known) <= LONG else "PROMPT"
        return (f"sightline predict {named}{own} --suggest 'another wording'",)

    def facts(self) -> dict[str, Any]:
        """The model, what it lacks, and every word's effect on every target."""
        made: dict[str, Any] = {"tier" if self.ships else "model": self.tier}
        made |= {"why": self.why, "coverage": self.coverage}
        if self.by:
            made |= {"by": self.by, "unread": list(self.unread)}
        if self.batch is not None:
            made["bad"] = self.batch.named
        elif not self.by:
            made["words"] = [
                {
                    target: [{"word": word, "effect": effect} for word, effect in effects]
                    for target, effects in each.effects.items()
                }
                for each in self.predictions
            ]
        return made

    def tables(self) -> dict[str, Table]:
        if self.batch is not None and self.written:
            return {"": self._summary(self.batch)}
        expected = self._columns()
        if self.by:
            return {"": self._ranking(expected)}
        worded = any(each.effects for each in self.predictions)
        columns = [*([Column("row")] if self.lines else []), Column("prompt"), *expected]
        columns += [Column("easier"), Column("harder")] if worded else []
        rows: list[list[Cell]] = []
        for number, each in enumerate(self.predictions):
            cells: list[Cell] = [self.lines[number].row] if self.lines else []
            cells += [each.prompt, *self._expected(each, expected)]
            cells += [", ".join(side) for side in self._sides(each)] if worded else []
            rows.append([*cells, "; ".join(each.warnings)])
        title = f"Expected values with {self.coverage * 100:.0f} % intervals"
        return {"": Table([*columns, Column("warnings", detail=True)], rows, title, MOST)}

    def _columns(self) -> list[Column]:
        predicted = {target for each in self.predictions for target in each.expected}
        return [
            Column(name, scale.title, scale.direction, format=".2f", estimate=True, detail=not shown)
            for name in self.targets
            if (shown := name in self.scales) or name in predicted
            for scale in [self.scales.get(name, TargetScale(name))]
        ]

    def _expected(self, prediction: Prediction, columns: Sequence[Column]) -> list[Cell]:
        missing = absent(prediction.refused or "not predicted")
        return [prediction.expected.get(column.name, missing) for column in columns]

    def _ranking(self, expected: Sequence[Column]) -> Table:
        scale = self.scales.get(self.by, TargetScale(self.by))
        own = next((by_value(each, self.by) for each in self.predictions if self._is_own(each)), None)
        rows: list[list[Cell]] = []
        for rank, each in enumerate(self.predictions, 1):
            value = by_value(each, self.by)
            gain: Cell = absent(each.refused or "nothing to compare with")
            if value is not None and own is not None:
                gain = scale.sign * (value - own) + 0.0  # no -0.0
            said = "your prompt" if self._is_own(each) else ""
            rows.append([rank, each.prompt, said, gain, *self._expected(each, expected)])
        columns = [Column("rank"), Column("prompt", "wording"), Column("own", " ")]
        columns += [Column("gain", format="+.2f"), *expected]
        coverage = f"{self.coverage * 100:.0f} %"
        return Table(columns, rows, f"By {scale.title}: best first, with {coverage} intervals", MOST)

    def _summary(self, batch: Batch) -> Table:
        columns = [
            Column("rows"),
            Column("predicted"),
            Column("refused", "without a prediction"),
            Column("warned", "with a warning"),
            Column("file", "written to"),
        ]
        row = (batch.rows, batch.rows - batch.refused, batch.refused, batch.warned, self.written)
        return Table(columns, [row])

    def _sides(self, prediction: Prediction) -> tuple[list[str], list[str]]:
        """The words that make the prompt easiest, and those that make it hardest, by the first target."""
        target = self.targets[0]
        sign = self.scales[target].sign if target in self.scales else 1
        effects = [each for each in prediction.effects.get(target, ()) if abs(each[1]) >= LEAST]
        easier = [f"{word} {effect:+.2f}" for word, effect in effects if sign * effect > 0]
        harder = [f"{word} {effect:+.2f}" for word, effect in effects if sign * effect < 0]
        return easier[:WORDS], harder[:WORDS]

    def _is_own(self, prediction: Prediction) -> bool:
        return prediction.prompt.strip() == self.own.strip()


@verb("measure")
def predict(
    prompts: Annotated[str | Sequence[str], argument("The prompts.", "[PROMPT]...")] = (),
    *,
    prompt: Annotated[
        str | Sequence[str],
        option("Predict this prompt, even if it looks like a path; repeatable.", metavar="TEXT"),
    ] = (),
    file: Annotated[
        str | Path | None,
        option(
            "Predict every prompt of a .txt (one per line), .csv, .tsv, .jsonl or .parquet file.",
            metavar="FILE",
        ),
    ] = None,
    column: Annotated[
        str | None,
        option(
            "Read the prompts from this column of --file.",
            metavar="NAME",
            shown="prompt, text, caption or query",
        ),
    ] = None,
    suggest: Annotated[
        str | Sequence[str],
        option(
            "Rank this rewording together with the prompt; a file has one per line; repeatable.",
            metavar="TEXT|FILE",
        ),
    ] = (),
    by: Annotated[
        str | None, option("Rank rewordings by this target.", metavar="TARGET", shown="the first: hbpp")
    ] = None,
    tier: Annotated[
        str | None,
        option(
            "Use this tier of the predictor that ships.",
            metavar="small|medium|large",
            shown="the best that runs here",
        ),
    ] = None,
    model: Annotated[
        str | Path | None, option("Use a predictor that `fit --save` wrote.", metavar="FILE")
    ] = None,
    to: Annotated[
        str | Path | None,
        option(
            "Write the predictions here: of --file as .csv, .jsonl or .parquet, of prompts as .html, .json, "
            ".csv, .tex or .txt.",
            metavar="FILE",
        ),
    ] = None,
    explain: bool = True,
    listener: Listener | None = None,
) -> Predictions:
    """Predict how well prompts will do.

    Every prediction has an interval, and the words that make the prompt easier or harder. The predictor that
    ships answers, or one that `fit` saved. A prompt that cannot be predicted is refused with the reason.

    \b
    sightline predict "seven green cups left of a blue house"
    sightline predict "a dog" --suggest "a brown dog on green grass"
    sightline predict --file prompts.csv --to predictions.csv
    """
    words, rewordings = _listed(prompts), _listed(suggest)
    for word in words:
        _refuse_path(word)
    texts = [*words, *_listed(prompt)]
    if by and not rewordings:
        raise _unused("--by: nothing is ranked without --suggest")
    if column and file is None:
        raise _unused("--column: no file is read")
    if file is not None:
        if texts or rewordings:
            raise UsageError("--file goes without other prompts", remedy="Put them into the file.")
        target = None if to is None else Path(to)
        return _of_file(Path(file), column, target, load_model(tier, model), listener)
    if not texts:
        raise UsageError(
            "there is nothing to predict",
            remedy='sightline predict "a prompt", or --file FILE. To learn from a study: sightline fit STUDY',
        )
    if rewordings and len(texts) > 1:
        raise UsageError("--suggest is for one prompt at a time", remedy="Name one.")
    if rewordings:
        candidates, unread = _candidates(rewordings)
        candidates = [each for each in candidates if each.strip() != texts[0].strip()]
        if not candidates:
            raise UsageError(
                "there is no other wording to rank",
                remedy="Give --suggest TEXT, or --suggest FILE with one per line.",
            )
        result = replace(rank(texts[0], candidates, by=by, tier=tier, model=model), unread=unread)
    else:
        result = predict_prompts(texts, tier=tier, model=model, explain=explain)
    if to is None:
        return result
    return replace(result, written=str(result.write(to)))


def predict_prompts(
    prompts: Sequence[str], *, tier: str | None = None, model: str | Path | None = None, explain: bool = True
) -> Predictions:
    """Predict these texts, whatever they look like."""
    used = load_model(tier, model)
    return _made(used, used.predict(prompts, explain=explain))


def rank(
    prompt: str,
    candidates: Sequence[str],
    *,
    by: str | None = None,
    tier: str | None = None,
    model: str | Path | None = None,
) -> Predictions:
    """A prompt and its candidate rewordings, the one expected to do best first.

    What cannot be predicted comes last. A candidate given twice, or equal to the prompt, counts once.
    """
    used = load_model(tier, model)
    targets = used.fitted.targets
    by = by or targets[0]
    if by not in targets:
        raise UsageError(f"nothing called {by!r} is predicted", remedy=near(by, targets))
    sign = used.scales[by].sign if by in used.scales else 1

    def order(prediction: Prediction) -> float:
        value = by_value(prediction, by)
        return inf if value is None else -sign * value

    made = used.predict(list(dict.fromkeys([prompt, *candidates])))
    return replace(_made(used, sorted(made, key=order)), by=by, own=prompt)


def by_value(prediction: Prediction, target: str) -> float | None:
    """The expected value of a target, None where there is none."""
    return prediction.expected[target].value if target in prediction.expected else None


def _made(model: Model, predictions: Sequence[Prediction]) -> Predictions:
    fitted = model.fitted
    targets = tuple(fitted.targets)
    vary = all(each.vary for each in fitted.intervals)
    return Predictions(
        model.name, model.why, fitted.coverage, predictions, targets, model.ships, model.scales, vary=vary
    )


def _of_file(
    file: Path, column: str | None, to: Path | None, model: Model, listener: Listener | None
) -> Predictions:
    """Every prompt of a file, in batches; rows that cannot be read are kept with a reason."""
    if to is not None:
        check_writable(to)
        if to.exists() and file.exists() and os.path.samefile(file, to):
            raise UsageError("--to is the file that is read", remedy="Write to another file.")
    batch = Batch()
    rows = predict_rows(
        read_prompts(file, column),
        lambda prompts: model.predict(prompts, explain=False),
        batch,
        str(file),
        _counter(f"predicting {file.name}", listener),
    )
    made = _made(model, ())
    if to is not None:
        write_rows(rows, to, made.targets)
        return replace(made, batch=batch, file=str(file), written=str(to))
    lines, predictions = zip(*rows, strict=True)
    return replace(made, predictions=predictions, lines=lines, batch=batch, file=str(file))


def _counter(what: str, listener: Listener | None) -> Any:
    """A listener for work that is counted without knowing its end."""
    if listener is None:
        return None
    import time

    from sightline.study.running.progress import Progress

    started = time.monotonic()

    def hear(done: int) -> None:
        listener(Progress(what, done, 0, done / max(time.monotonic() - started, 1e-9), None))

    return hear


def _candidates(suggestions: Sequence[str]) -> tuple[list[str], list[str]]:
    """Rewordings as they stand, or those of a file; and the rows that could not be read."""
    texts: list[str] = []
    unread: list[str] = []
    for each in suggestions:
        path = Path(each)
        spaced = any(map(str.isspace, each))
        if path.suffix.lower() not in SUFFIXES or (spaced and not (_exists(each) and path.is_file())):
            texts.append(each)
            continue
        for line in read_prompts(path):
            if line.reason:
                unread.append(f"{each}:{line.row}: {line.reason}")
            else:
                texts.append(line.prompt)
    return list(dict.fromkeys(texts)), unread


def _listed(texts: str | Sequence[str]) -> list[str]:
    listed = [texts] if isinstance(texts, str) else texts
    if not isinstance(listed, Sequence) or not all(isinstance(each, str) for each in listed):
        raise UsageError("a prompt is a text", remedy="To learn from a study: sightline.fit(study)")
    return list(listed)


def _unused(option: str) -> UsageError:
    return UsageError(option, remedy="Leave it out: sightline predict --help")


def _refuse_path(word: str) -> None:
    """Refuse a study, a file, and what looks like the path of one: it is no prompt."""
    spaced = any(map(str.isspace, word))
    quoted, there = shlex.quote(word), _exists(word)
    as_prompt = f"If it is a prompt: sightline predict --prompt {quoted}"
    if ("://" in word and not spaced) or (there and _holds_study(word)):
        raise UsageError(f"{word} is a study, not a prompt", remedy=f"sightline fit {quoted}")
    if there and os.path.isfile(word):
        remedy = f"Its prompts: sightline predict --file {quoted}. {as_prompt}"
        raise UsageError(f"{word} is a file, not a prompt", remedy=remedy)
    if there:
        raise UsageError(f"{word} is a folder, but not a study", remedy=as_prompt)
    path_like = (
        "/" in word or os.sep in word or word.startswith(("~", ".")) or word.endswith((".db", ".sqlite"))
    )
    if path_like and not spaced:
        remedy = f"Make a study: sightline init {quoted}. {as_prompt}"
        raise UsageError(f"{word} looks like a path, and there is nothing", remedy=remedy)


def _holds_study(word: str) -> bool:
    # Imported here, since studies bring a database with them that a prompt does not need.
    from sightline.study.study import DATABASE_FILE, SETTINGS_FILE

    return any(_exists(os.path.join(word, name)) for name in (DATABASE_FILE, SETTINGS_FILE))


def _exists(word: str) -> bool:
    try:
        return os.path.exists(word)
    except (OSError, ValueError):
        return False  # a prompt may be longer than any path, or hold what no path can


def _short(text: str, most: int = LONG) -> str:
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"
