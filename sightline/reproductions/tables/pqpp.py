"""PQPP's Tables 2 to 7 with our rows next to the printed ones, on the best split that a folder holds."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sightline.data.sources import Source
from sightline.errors import DataError, MissingPackage, UsageError, near
from sightline.estimate import Cell, absent
from sightline.prediction import fitted
from sightline.prediction.model import shipped
from sightline.records import NoValue, Prompt, PromptKey
from sightline.registry import configure
from sightline.rendering.tables import Column, Table
from sightline.reproductions.tables.pqpp_printed import (
    BETWEEN,
    COLUMNS,
    MEASURES,
    PREDICTORS,
    SHEETS,
    Predictor,
    Sheet,
)
from sightline.statistics.correlation import EstimateWithTest
from sightline.statistics.prediction_quality import as_latex, quality
from sightline.study.running.validate import gate

Array = NDArray[np.float64]
Cells = Mapping[str, Mapping[str, EstimateWithTest]]

FILES = {"train": "train.csv", "validation": "validation.csv", "test": "test.csv"}
# Split that is judged -> splits that are learned from. Nothing is ever chosen on what is judged.
LEARNED: Mapping[str, tuple[str, ...]] = {
    "test": ("train", "validation"),
    "validation": ("train",),
    "train": (),
}
TIERS = tuple(fitted.RECIPES)
DEFAULT = "small"
TAKES = {
    "small": "words and features, 2 minutes",
    "medium": "small frozen encoders, 10 minutes",
    "large": "a base-size encoder, 10 minutes",
}
"""What a tier adds and takes on two cores."""
_AFTER = NoValue(
    "needs the images that systems drew or found and their rankings; the published tables lack them"
)
HOW_FAIR = {
    "test": (
        "The tiers learned from train.csv and validation.csv; nothing was chosen on test.csv. As shipped: "
        "fitted beforehand to the published files of these names."
    ),
    "validation": (
        "The tiers learned from train.csv alone, but what they are made of was chosen with validation.csv in "
        "sight, which flatters their rows a little."
    ),
    "train": "Nothing is held out here, so that no tier was fitted.",
}
"""What is to be known of our learned rows, by the split that is judged."""
_BOLD = re.compile(r"\\mathbf\{([^}]*)\}")

Step = Callable[[str], None]


@dataclass(frozen=True)
class Rows:
    """Prompts of some splits with their truth, a column each of COLUMNS."""

    ids: Sequence[str]
    texts: Sequence[str]
    truth: Array


@dataclass(frozen=True)
class Line:
    """A row of a table; `whose` is the paper's or ours, `after` what sees the images or rankings."""

    predictor: str
    whose: str
    after: bool
    cells: Cells


@dataclass(frozen=True)
class Made:
    """A table with printed and own rows; `split` is what ours are on, with the number of its prompts.

    Rows that are `typed` are predictors, before or after generation and retrieval, and the best is bold.
    """

    number: int
    caption: str
    split: str
    n: int
    headings: Mapping[str, str]
    lines: Sequence[Line]
    printed_split: str = "test"
    typed: bool = True

    @property
    def title(self) -> str:
        return (
            f"Table {self.number}. {self.caption} "
            f"(paper: {self.printed_split} rows; ours: {self.split} rows, n = {self.n:,})"
        )

    def best(self, line: Line, target: str, measure: str) -> bool:
        """Whether this is the highest of its column, apart from the sign, among rows of the same owner."""
        mine = line.cells[target][measure].value
        values = [
            abs(value)
            for each in self.lines
            if each.whose == line.whose and (value := each.cells[target][measure].value) is not None
        ]
        return self.typed and mine is not None and abs(mine) == max(values)

    def table(self) -> Table:
        """The table as a terminal shows it: the best of a column starred, marks of significance."""
        typed = [Column("type"), Column("predictor"), Column("rows")]
        first = typed if self.typed else [Column("predictor", "metric"), Column("rows")]
        keys = [(target, measure) for target in self.headings for measure in MEASURES]
        columns = [Column(f"{t}_{m}", f"{self.headings[t]} {m.capitalize()}") for t, m in keys]
        rows: list[list[Cell]] = []
        for line in self.lines:
            names = [line.predictor, line.whose]
            kind = ["Post-" if line.after else "Pre-"] if self.typed else []
            rows.append([*kind, *names, *(self._shown(line, *key) for key in keys)])
        return Table([*first, *columns], rows, self.title)

    def _shown(self, line: Line, target: str, measure: str) -> Cell:
        figure = line.cells[target][measure]
        if figure.value is None:
            return absent(f"{line.predictor}: {figure.reason or 'no value'}")
        return f"{'*' if self.best(line, target, measure) else ''}{figure.value:.3f}{figure.mark}"

    def as_data(self) -> dict[str, object]:
        """The table for programs: values with marks, the best, intervals, p and n, or the reason for none."""
        rows = [
            {
                "predictor": line.predictor,
                "whose": line.whose,
                "split": self.printed_split if line.whose == "paper" else self.split,
                "sees": "answers" if line.after else "prompt",
                "values": {
                    target: {name: self._data(line, target, name) for name in MEASURES}
                    for target in line.cells
                },
            }
            for line in self.lines
        ]
        return {
            "table": self.number,
            "caption": self.caption,
            "split": self.split,
            "n": self.n,
            "targets": list(self.headings),
            "rows": rows,
        }

    def _data(self, line: Line, target: str, measure: str) -> dict[str, object]:
        figure = line.cells[target][measure]
        if figure.value is None:
            return {"value": None, "reason": figure.reason}
        best = self.best(line, target, measure)
        cell: dict[str, object] = {"value": figure.value, "mark": figure.mark, "best": best}
        if line.whose == "ours":
            cell |= {"low": figure.low, "high": figure.high, "p": figure.p, "n": figure.n}
        return cell


def notes(made: Sequence[Made], tiers: Sequence[str]) -> list[str]:
    """What the signs mean, how fair the comparison is, and what would take longer."""
    if not made:
        return [f"No tables: none of {', '.join(FILES.values())} is here."]
    legend = [
        "* (bold): the highest of its column regardless of sign, of the paper's rows and of ours.",
        "† p < 0.01, ‡ p < 0.001. Word networks (edge count to Page Rank): absolute values.",
    ]
    others = [f"--tier {name}: {TAKES[name]}" for name in TIERS if name not in tiers]
    more = [f"More of our rows, and how long on two cores: {'; '.join(others)}."] if others else []
    return [*legend, *([HOW_FAIR[made[0].split]] if tiers else []), *more]


def chosen_tiers(asked: str) -> list[str]:
    """Tiers by name, separated by commas; `all` for every one, `none` for none."""
    if asked == "none":
        return []
    if asked == "all":
        return list(TIERS)
    names = [name.strip() for name in asked.split(",") if name.strip()]
    for name in names:
        if name not in TIERS:
            raise UsageError(f"there is no tier {name!r}", remedy=near(name, (*TIERS, "all", "none")))
    return list(dict.fromkeys(names))


def tables(
    folder: str | Path, tiers: Sequence[str] = (DEFAULT,), *, seed: int = 0, step: Step = lambda what: None
) -> list[Made]:
    """Tables 2 to 7, as far as the splits are here: none without any, own rows where they can be had."""
    source = Source(folder)
    split = next((name for name in ("test", "validation", "train") if source.has(FILES[name])), None)
    if split is None:
        return []
    judged = read(source, [split])
    values = predictions(source, split, judged, tiers, seed=seed, step=step)
    step("correlating with the truth")
    return with_ours(source, split, judged, values)


def with_ours(source: Source, split: str, judged: Rows, values: Mapping[str, Array | NoValue]) -> list[Made]:
    """The tables with our predictions of the judged rows correlated with their truth."""
    learned = [name for name in values if name not in PREDICTORS]
    cache: dict[tuple[str, str], Mapping[str, EstimateWithTest]] = {}

    def own(name: str, target: str, unsigned: bool) -> Mapping[str, EstimateWithTest]:
        if (name, target) not in cache:
            cache[name, target] = _against(values[name], judged, target, unsigned)
        return cache[name, target]

    made = []
    for sheet in SHEETS:
        lines = list(_lines(sheet, learned, own))
        made.append(Made(sheet.number, sheet.caption, split, len(judged.texts), sheet.targets, lines))
    return [made[0], _between(source), *made[1:]]


def read(source: Source, splits: Sequence[str]) -> Rows:
    """The rows of some splits, in the order of the files."""
    required = ("id", "best_caption", *COLUMNS.values())
    rows = [row for split in splits for row in source.rows(FILES[split], required=required)]
    truth = [[row.number(column) for column in COLUMNS.values()] for row in rows]
    return Rows(
        [row.text("id") for row in rows],
        [row.text("best_caption") for row in rows],
        np.array(truth, dtype=np.float64).reshape(len(rows), len(COLUMNS)),
    )


def predictions(
    source: Source,
    split: str,
    judged: Rows,
    tiers: Sequence[str],
    *,
    seed: int = 0,
    step: Step = lambda what: None,
) -> dict[str, Array | NoValue]:
    """What every feature and tier predicts for the judged prompts, one column per target, or why it cannot.

    The truth of the judged rows goes into none of it: features and tiers are handed the texts alone.
    """
    texts = list(judged.texts)
    predicted: dict[str, Array | NoValue] = {}
    for predictor in PREDICTORS.values():
        if predictor.measure:
            step(f"computing {predictor.measure}")
            predicted[predictor.name] = _feature(predictor, texts)
        elif predictor.after:
            predicted[predictor.name] = _AFTER
    here = [name for name in LEARNED[split] if source.has(FILES[name])]
    learn = read(source, here)
    twice = sorted({*judged.ids} & {*learn.ids})
    if twice:
        raise DataError(
            f"row {twice[0]} of {FILES[split]} is also in {' or '.join(FILES[name] for name in here)}",
            where=str(source.root),
            remedy="What is judged must not be learned from: obtain the published splits again.",
        )
    if split == "test":
        for tier in TIERS:
            step(f"asking the {tier} tier as it ships")
            predicted[f"Sightline {tier}, as shipped"] = _shipped(tier, texts)
    for tier in tiers:
        step(f"fitting the {tier} tier to {len(learn.texts):,} prompts ({TAKES.get(tier, 'minutes')})")
        predicted[f"Sightline {tier}"] = _learned(tier, learn, texts, seed)
    return predicted


def _feature(predictor: Predictor, texts: Sequence[str]) -> Array | NoValue:
    chosen = configure("of_prompt", predictor.measure)
    prompts = [Prompt(PromptKey("pqpp", str(number)), text) for number, text in enumerate(texts)]
    try:
        outcomes = gate(chosen.spec, chosen.load()(prompts), len(prompts))
    except MissingPackage as missing:
        return NoValue(missing.what)
    column = [np.nan if each.value is None else each.value for each in outcomes]
    return np.tile(np.array(column, dtype=np.float64)[:, None], len(COLUMNS))


def _learned(tier: str, learn: Rows, texts: Sequence[str], seed: int) -> Array | NoValue:
    if not learn.texts:
        return NoValue("no split to learn from is here")
    recipe = fitted.recipe_of(tier)
    if seed:
        recipe = recipe.replace("stack(", f"stack(seed={seed},", 1)
    try:
        return fitted.fit(recipe, learn.texts, learn.truth, targets=list(COLUMNS)).values(texts)
    except MissingPackage as missing:
        return NoValue(missing.what)


def _shipped(tier: str, texts: Sequence[str]) -> Array | NoValue:
    """What ships was fitted to the published training and validation rows, and test rows are new to it."""
    try:
        used = shipped(tier)
    except MissingPackage as missing:
        return NoValue(missing.what)
    return used.values(texts)[:, [list(used.targets).index(target) for target in COLUMNS]]


def _against(
    values: Array | NoValue, judged: Rows, target: str, unsigned: bool
) -> Mapping[str, EstimateWithTest]:
    if isinstance(values, NoValue):
        return dict.fromkeys(MEASURES, EstimateWithTest(None, reason=values.reason))
    number = list(COLUMNS).index(target)
    own = quality(values[:, number], judged.truth[:, number])
    return {name: _without_sign(own[name]) if unsigned else own[name] for name in MEASURES}


def _without_sign(figure: EstimateWithTest) -> EstimateWithTest:
    if figure.value is None or figure.value >= 0:
        return figure
    ends = [None if end is None else -end for end in (figure.high, figure.low)]
    return replace(figure, value=-figure.value, low=ends[0], high=ends[1])


def _lines(
    sheet: Sheet, learned: Sequence[str], own: Callable[[str, str, bool], Mapping[str, EstimateWithTest]]
) -> Iterator[Line]:
    """Each printed row with ours under it; what we learned stands where the prompt alone is seen."""
    rows = [each for name, each in PREDICTORS.items() if name in sheet.cells or name in sheet.unprinted]
    before = [each for each in rows if not each.after]
    for each in (*before, *map(Predictor, learned), *(each for each in rows if each.after)):
        if each.name in sheet.cells:
            yield Line(each.name, "paper", each.after, sheet.printed(each.name))
        if each.measure or each.after or each.name in learned:
            cells = {target: own(each.name, target, each.unsigned) for target in sheet.targets}
            yield Line(each.name, "ours", each.after, cells)


def _between(source: Source) -> Made:
    """Table 3: the truths of the training rows against each other."""
    rows = read(source, ["train"]) if source.has(FILES["train"]) else None
    columns = {title: list(COLUMNS).index(target) for target, title in SHEETS[0].targets.items()}
    lines = []
    for pair in BETWEEN.cells:
        lines.append(Line(pair, "paper", False, BETWEEN.printed(pair)))
        own: Mapping[str, EstimateWithTest] = dict.fromkeys(
            MEASURES, EstimateWithTest(None, reason=f"{FILES['train']} is not here")
        )
        if rows is not None:
            x, y = (rows.truth[:, columns[name]] for name in pair.split(" vs. "))
            own = quality(x, y)
        lines.append(Line(pair, "ours", False, {"truth": {name: own[name] for name in MEASURES}}))
    n = 0 if rows is None else len(rows.texts)
    return Made(3, BETWEEN.caption, "train", n, BETWEEN.targets, lines, "train", typed=False)


def latex(made: Sequence[Made]) -> str:
    """All tables in the paper's form, the printed rows and then ours, the best of either in bold."""
    return "\n".join(_latex(each) for each in made)


def _latex(made: Made) -> str:
    paper, ours = (
        as_latex(
            {line.predictor: _headed(made, line.cells) for line in made.lines if line.whose == whose},
            measures=MEASURES,
            headings={line.predictor: _heading(made, line) for line in made.lines if line.whose == whose},
        )
        for whose in ("paper", "ours")
    )
    # One tabular of both: the first without its end, the second without its head.
    body = paper.partition(r"\bottomrule")[0] + ours[ours.index(r"\midrule") :]
    body = body if made.typed else _BOLD.sub(r"\1", body)
    caption = made.title.replace("&", r"\&").replace("%", r"\%").replace("#", r"\#")
    return "\n".join(
        [r"\begin{table}", r"\centering", rf"\caption{{{caption}}}", body.rstrip(), r"\end{table}", ""]
    )


def _headed(made: Made, cells: Cells) -> dict[str, Mapping[str, EstimateWithTest]]:
    return {made.headings[target]: figures for target, figures in cells.items()}


def _heading(made: Made, line: Line) -> str:
    rows = f"Paper, {made.printed_split} rows" if line.whose == "paper" else f"Ours, {made.split} rows"
    return f"{rows}, {'after' if line.after else 'before'} generation or retrieval" if made.typed else rows


def comma_separated(made: Sequence[Made]) -> str:
    """All tables as one CSV: one row per table, predictor, target and measure."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    key = ["table", "whose", "split", "predictor", "target", "measure"]
    writer.writerow([*key, "value", "low", "high", "p", "mark", "n", "reason"])
    for each in made:
        for whose, split in (("paper", each.printed_split), ("ours", each.split)):
            for line in (line for line in each.lines if line.whose == whose):
                for target, figures in line.cells.items():
                    for measure, figure in figures.items():
                        # csv writes None as nothing, and a float as repr does.
                        numbers = [figure.value, figure.low, figure.high, figure.p]
                        rest = [figure.mark, figure.n, figure.reason]
                        writer.writerow(
                            [each.number, whose, split, line.predictor, target, measure, *numbers, *rest]
                        )
    return file.getvalue()


WRITERS: Mapping[str, Callable[[Sequence[Made]], str]] = {
    ".tex": latex,
    ".csv": comma_separated,
}
