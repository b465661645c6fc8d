"""What `sightline predict` says of prompts without a study: one by one, from a file, or beside rewordings."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from sightline.cli._errors import Stopped
from sightline.cli._output import Output, quoted
from sightline.cli._progress import counted, waiting
from sightline.errors import DataError, UsageError, near

if TYPE_CHECKING:
    from sightline.estimate import Cell, Direction
    from sightline.prediction.predict import Expected, Prediction, Predictions
    from sightline.prediction.prompt_files import Line
    from sightline.rendering.tables import Column, Table

BLOCKS = 5
"""More prompts than this are shown as a table."""
SHOWN = 20
"""Rows of a file that people see."""
GAUGE = 28
MINUS = "−"
WORDS = 4
LONG = 60
LEAST = 0.005
"""What adds less than this is not said to make a prompt easier or harder."""


class Shown(NamedTuple):
    """How a target is called, on which scale it lies if it has two ends, what it means, and what is good."""

    title: str
    low: float | None
    high: float | None
    meaning: str = ""
    direction: Direction = "higher"

    @property
    def sign(self) -> int:
        """-1 where less is better."""
        return -1 if self.direction == "lower" else 1


SHIPPED: Mapping[str, Shown] = {
    "hbpp": Shown("HBPP", -1, 2, "how well generated images fit, by people"),
    "p_at_10": Shown("P@10", 0, 1, "share of relevant images among the first ten found"),
    "rr": Shown("RR", 0, 1, "1 / rank of the first relevant image found"),
}


class Teller(Protocol):
    """What predicts prompts: the predictor that ships, or one from a file."""

    targets: Sequence[str]
    shown: Mapping[str, Shown]
    called: str

    def tell(self, prompts: Sequence[str], explain: bool = True) -> Predictions:
        """What is expected of each prompt."""

    def rank(self, prompt: str, candidates: Sequence[str], by: str) -> Predictions:
        """The prompt and its rewordings, best first."""


class Shipped:
    """The predictor that ships, by the tier asked for or the best that runs here."""

    called: str = "tier"

    def __init__(self, tier: str | None) -> None:
        from sightline.prediction.predict import TARGETS

        self._tier = tier
        self.targets: Sequence[str] = TARGETS
        self.shown: Mapping[str, Shown] = SHIPPED

    def tell(self, prompts: Sequence[str], explain: bool = True) -> Predictions:
        from sightline.prediction.predict import predict

        return predict(prompts, tier=self._tier, explain=explain)

    def rank(self, prompt: str, candidates: Sequence[str], by: str) -> Predictions:
        from sightline.prediction.predict import suggest

        return suggest(prompt, candidates, by=by, tier=self._tier)


class FromFile:
    """A predictor that `sightline predict STUDY --save` wrote."""

    called: str = "model"

    def __init__(self, path: Path) -> None:
        from sightline.prediction.fitted import load

        fitted = load(path)
        ends = fitted.about.get("ends", {})
        directions = fitted.about.get("directions", {})
        self.path = path
        self.targets: Sequence[str] = fitted.targets
        self.shown: Mapping[str, Shown] = {
            name: Shown(name, *ends.get(name, (None, None)))._replace(
                direction=directions.get(name, "higher")
            )
            for name in fitted.targets
        }

    def tell(self, prompts: Sequence[str], explain: bool = True) -> Predictions:
        from sightline.prediction.predict import predict

        return predict(prompts, model=self.path, explain=explain)

    def rank(self, prompt: str, candidates: Sequence[str], by: str) -> Predictions:
        from sightline.prediction.predict import suggest

        return suggest(prompt, candidates, by=by, model=self.path)


def of_prompts(output: Output, prompts: Sequence[str], teller: Teller) -> int:
    """What is expected of each prompt, and the words that make it so."""
    with waiting("reading the prompts"):
        found = teller.tell(prompts)
    if output.for_programs:
        output.show(
            _table(teller, found.predictions), words=_weighed(found.predictions), **_facts(teller, found)
        )
    elif len(prompts) <= BLOCKS:
        for prediction in found.predictions:
            output.say(*_block(teller, prediction), "")
    else:
        output.show(_table(teller, found.predictions, people=True))
        _say_warnings(output, found.predictions)
    refused = [prediction for prediction in found.predictions if prediction.refused]
    if len(refused) < len(found.predictions):
        _say_tier(output, teller, found.tier, found.why, found.coverage)
        told = next(prediction.prompt for prediction in found.predictions if not prediction.refused)
        named = quoted(told) if len(told) <= LONG else "PROMPT"
        own = f" --model {quoted(teller.path)}" if isinstance(teller, FromFile) else ""
        output.next(f"sightline predict {named}{own} --suggest 'another wording'", "rank your own rewordings")
    return DataError.exit_code if refused else 0


def of_rewordings(
    output: Output, prompt: str, suggestions: Sequence[str], by: str | None, teller: Teller
) -> int:
    """The prompt and its candidate rewordings, the one of which most is expected first."""
    chosen = by or teller.targets[0]
    if chosen not in teller.targets:
        raise UsageError(f"nothing called {chosen!r} is predicted", remedy=near(chosen, teller.targets))
    candidates, bad = _candidates(suggestions)
    candidates = [each for each in dict.fromkeys(candidates) if each.strip() != prompt.strip()]
    if not candidates:
        raise UsageError(
            "there is no other wording to rank",
            remedy="Give --suggest TEXT, or --suggest FILE with one a line.",
        )
    with waiting("reading the rewordings"):
        found = teller.rank(prompt, candidates, chosen)
    table = _ranked(teller, prompt, found.predictions, chosen, people=not output.for_programs)
    output.show(table, most=SHOWN, by=chosen, unread=bad, **_facts(teller, found))
    output.say(*bad)
    _say_warnings(output, found.predictions)
    output.say("", _verdict(prompt, found.predictions, chosen, _shown(teller, chosen)))
    _say_tier(output, teller, found.tier, found.why, found.coverage)
    return 0


def of_file(output: Output, file: Path, column: str | None, to: Path | None, teller: Teller) -> int:
    """Every prompt of a file, a piece at a time; rows that cannot be read are kept with a reason."""
    from sightline.prediction.prompt_files import (
        Batch,
        check_writable,
        predict_rows,
        read_prompts,
        write_rows,
    )

    def tell(prompts: Sequence[str]) -> Predictions:
        return teller.tell(prompts, explain=False)

    if to is not None:
        check_writable(to)
        if to.exists() and file.exists() and os.path.samefile(file, to):
            raise UsageError("--to is the very file that is read", remedy="Write to another file.")
    batch = Batch()
    collected: list[tuple[Line, Prediction]] = []
    try:
        with counted(f"predicting {file.name}") as progress:
            rows = predict_rows(read_prompts(file, column), tell, batch, str(file), progress)
            if to is not None:
                write_rows(rows, to, teller.targets)
            else:
                collected = list(rows)
    except KeyboardInterrupt:
        raise Stopped("Stopped. Nothing was written; run the same command again.") from None
    facts: dict[str, Any] = {teller.called: batch.tier, "why": batch.why, "coverage": batch.coverage}
    if to is not None:
        output.show(_summary(batch.rows, batch.refused, batch.warned, str(to)), bad=batch.named, **facts)
    else:
        predictions = [prediction for _, prediction in collected]
        table = _table(teller, predictions, [line for line, _ in collected], people=not output.for_programs)
        output.show(table, most=SHOWN, **facts)
    if batch.refused:
        output.say(f"{batch.refused:,} of {batch.rows:,} rows have no prediction:", *_indented(batch.named))
        if batch.refused > len(batch.named):
            output.say(f"  ... and {batch.refused - len(batch.named):,} more.")
    if batch.refused < batch.rows:
        _say_tier(output, teller, batch.tier, batch.why, batch.coverage)
    if to is None:
        output.next(f"sightline predict --file {quoted(file)} --to predictions.csv", "keep them in a file")
    return DataError.exit_code if batch.refused == batch.rows else 0


def _candidates(suggestions: Sequence[str]) -> tuple[list[str], list[str]]:
    """Rewordings as they stand, or those of a file; and the rows that could not be read."""
    from sightline.prediction.prompt_files import SUFFIXES, read_prompts

    found: list[str] = []
    bad: list[str] = []
    for each in suggestions:
        path = Path(each)
        if path.suffix.lower() not in SUFFIXES or (any(map(str.isspace, each)) and not _is_file(path)):
            found.append(each)
            continue
        for line in read_prompts(path):
            if line.reason:
                bad.append(f"{each}:{line.row}: {line.reason}")
            else:
                found.append(line.prompt)
    return found, bad


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:
        return False  # a text may be longer than any file name


def _block(teller: Teller, prediction: Prediction) -> list[str]:
    """One prompt as a person likes to read it: the figures with their gauges, then the words."""
    from sightline.estimate import format_number

    lines = [_short(prediction.prompt, 100)]
    if prediction.refused:
        return [*lines, f"  no prediction: {prediction.refused}"]
    wide = max(len(shown.title) for shown in teller.shown.values()) + 1
    for target, shown in teller.shown.items():
        found = prediction.expected.get(target)
        if found is not None:
            value, low, high = (
                format_number(float(each), "", 2) for each in (found.value, found.low, found.high)
            )
            figures = f"{value:>5}  {f'[{low}, {high}]':<15}"
            told = f"  {shown.title:<{wide}} {figures} {_gauge(found, shown)}  {shown.meaning}"
            lines.append(told.rstrip())
    easier, harder = _sides(teller, prediction)
    first = teller.shown[teller.targets[0]].title
    of = f" ({first})" if len(teller.shown) > 1 else ""
    lines += [f"  + easier{of}  {', '.join(easier)}"] if easier else []
    lines += [f"  {MINUS} harder{of}  {', '.join(harder)}"] if harder else []
    return [*lines, *(f"  ! {warning}" for warning in prediction.warnings)]


def _gauge(found: Expected, shown: Shown) -> str:
    """Where the value and its interval lie on the scale, if it has ends: "··──●──····"."""
    start, end = shown.low, shown.high
    if start is None or end is None or start >= end:
        return ""

    def place(value: float) -> int:
        share = (value - start) / (end - start)
        return max(0, min(GAUGE - 1, round(share * (GAUGE - 1))))

    low, value, high = (place(each) for each in (found.low, found.value, found.high))
    return "".join("●" if n == value else "─" if low <= n <= high else "·" for n in range(GAUGE))


def _sides(teller: Teller, prediction: Prediction) -> tuple[list[str], list[str]]:
    """The words that make the prompt easiest, and those that make it hardest, by the first target."""
    target = teller.targets[0]
    sign = _shown(teller, target).sign
    told = [(word, part) for word, part in prediction.words.get(target, ()) if abs(part) >= LEAST]
    easier = [_effect(word, part) for word, part in told if sign * part > 0]
    harder = [_effect(word, part) for word, part in told if sign * part < 0]
    return easier[:WORDS], harder[:WORDS]


def _effect(word: str, part: float) -> str:
    return f"{word} {'+' if part > 0 else MINUS}{abs(part):.2f}"


def _shown(teller: Teller, target: str) -> Shown:
    return teller.shown.get(target, Shown(target, None, None))


def _expected_columns(teller: Teller, predictions: Sequence[Prediction], people: bool) -> list[Column]:
    from sightline.rendering.tables import Column

    found = {target for prediction in predictions for target in prediction.expected}
    return [
        Column(name, shown.title, shown.direction, format=".2f", estimate=True)
        for name, shown in ((name, _shown(teller, name)) for name in teller.targets)
        if name in teller.shown or (name in found and not people)
    ]


def _expected_cells(prediction: Prediction, columns: Sequence[Column]) -> list[Cell]:
    from sightline.estimate import Estimate, absent

    cells: list[Cell] = []
    for column in columns:
        found = prediction.expected.get(column.name)
        if found is None:
            cells.append(absent(prediction.refused or "not predicted"))
        elif isfinite(found.low) and isfinite(found.high):
            cells.append(Estimate(found.value, found.low, found.high))
        else:
            cells.append(Estimate(found.value))
    return cells


def _table(
    teller: Teller, predictions: Sequence[Prediction], lines: Sequence[Line] = (), people: bool = False
) -> Table:
    from sightline.rendering.tables import Column, Table

    expected = _expected_columns(teller, predictions, people)
    columns = [*([Column("row")] if lines else []), Column("prompt"), *expected]
    worded = any(prediction.words for prediction in predictions)
    columns += [Column("easier"), Column("harder")] if worded else []
    columns += [] if people else [Column("warnings")]
    rows: list[list[Cell]] = []
    for number, prediction in enumerate(predictions):
        cells: list[Cell] = [lines[number].row] if lines else []
        cells += [
            _short(prediction.prompt) if people else prediction.prompt,
            *_expected_cells(prediction, expected),
        ]
        cells += [", ".join(side) for side in _sides(teller, prediction)] if worded else []
        cells += [] if people else ["; ".join(prediction.warnings)]
        rows.append(cells)
    return Table(columns, rows, "What is expected, with 90 % intervals" if people else "")


def _ranked(teller: Teller, prompt: str, predictions: Sequence[Prediction], by: str, people: bool) -> Table:
    from sightline.estimate import absent
    from sightline.rendering.tables import Column, Table

    expected, shown = _expected_columns(teller, predictions, people), _shown(teller, by)
    own = next((each.expected.get(by) for each in predictions if _is_own(each, prompt)), None)
    rows: list[list[Cell]] = []
    for rank, prediction in enumerate(predictions, 1):
        mine = prediction.expected.get(by)
        gain: Cell = absent(prediction.refused or "nothing to compare with")
        if mine is not None and own is not None:
            gain = shown.sign * (mine.value - own.value) + 0.0  # no -0.0
        said = "your prompt" if _is_own(prediction, prompt) else ""
        text = _short(prediction.prompt) if people else prediction.prompt
        rows.append([rank, text, said, gain, *_expected_cells(prediction, expected)])
    columns = [Column("rank"), Column("prompt", "wording"), Column("own", " "), Column("gain", format="+.2f")]
    return Table(
        [*columns, *expected],
        rows,
        f"By {shown.title}: best first, with 90 % intervals" if people else "",
    )


def _is_own(prediction: Prediction, prompt: str) -> bool:
    return prediction.prompt.strip() == prompt.strip()


def _verdict(prompt: str, predictions: Sequence[Prediction], by: str, shown: Shown) -> str:
    """Whether rewording pays, and how sure that is."""
    told = [each for each in predictions if by in each.expected]
    own = next((each for each in told if _is_own(each, prompt)), None)
    if own is None or not told:
        return "Nothing can be said of your own prompt, so that nothing is better or worse than it."
    best = told[0]
    if best is own:
        return f"Nothing better is expected of any other wording ({shown.title})."
    gain = best.expected[by].value - own.expected[by].value
    here, there = own.expected[by], best.expected[by]
    apart = there.low > here.high if shown.sign > 0 else there.high < here.low
    less = "" if shown.sign > 0 else " (less is better)"
    sure = "their intervals do not meet" if apart else "their intervals overlap: try both"
    return f'Best: "{_short(best.prompt)}", {gain:+.2f} {shown.title} expected{less}; {sure}.'


def _summary(rows: int, refused: int, warned: int, to: str) -> Table:
    from sightline.rendering.tables import Column, Table

    columns = [
        Column("rows"),
        Column("predicted"),
        Column("refused", "without a prediction"),
        Column("warned", "with a warning"),
        Column("file", "written to"),
    ]
    return Table(columns, [(rows, rows - refused, refused, warned, to)])


def _weighed(predictions: Sequence[Prediction]) -> list[dict[str, list[dict[str, str | float]]]]:
    """What each word adds to each figure, prompt by prompt."""
    return [
        {
            target: [{"word": word, "effect": effect} for word, effect in told]
            for target, told in prediction.words.items()
        }
        for prediction in predictions
    ]


def _facts(teller: Teller, found: Predictions) -> dict[str, Any]:
    return {teller.called: found.tier, "why": found.why, "coverage": found.coverage}


def _say_tier(output: Output, teller: Teller, tier: str, why: str, coverage: float) -> None:
    by = f"the {tier} tier" if teller.called == "tier" else tier
    told = f"FitResult by {by}" + (f" ({why.rstrip('.')})" if why else "")
    output.say(f"{told}. Intervals hold {coverage * 100:.0f} % of prompts of the same kind.")


def _say_warnings(output: Output, predictions: Sequence[Prediction]) -> None:
    for prediction in predictions:
        output.say(*(f"! {_short(prediction.prompt, 40)}: {warning}" for warning in prediction.warnings))


def _indented(lines: Sequence[str]) -> list[str]:
    return [f"  {line}" for line in lines]


def _short(text: str, most: int = LONG) -> str:
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"
