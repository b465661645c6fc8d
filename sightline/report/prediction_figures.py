"""Charts of prompts and predictions: where hard prompts lie, what was predicted, and what was true."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from sightline.encoders.choice import Loadable, encoder_of, first_loadable
from sightline.errors import DataError, MissingPackage, UsageError, near
from sightline.estimate import Cell, format_cell, format_number
from sightline.prediction.fit import LEAST, examples
from sightline.prediction.fitted import load as load_fitted
from sightline.rendering.blocks import Block, Figure, Grid, Heading, cards
from sightline.rendering.shown import Scale, ShownPrompt, Thumbnail
from sightline.rendering.tables import Column, Table
from sightline.rendering.theme import Colour
from sightline.report.album import Album
from sightline.report.difficulty_scales import both_kinds, difficulty, truth_of
from sightline.report.image_files import Drawing, Figures, write_figures
from sightline.report.prediction_charts import box_figure, levels, map_figure
from sightline.report.prompt_cards import scale_of
from sightline.report.quadrant_charts import Quadrant, quadrant_figure, quadrants
from sightline.report.settings import MEGABYTES
from sightline.report.stored_predictions import StoredPredictions, best, quality_table, read_predictions
from sightline.statistics.correlation import pearson
from sightline.statistics.prediction_quality import by_quarter
from sightline.study import reading, rollup
from sightline.study.blocks import answers_to
from sightline.study.running.embedding import embed_texts, text_hash
from sightline.study.running.progress import Listener
from sightline.study.study import Study
from sightline.variability.figures import variability_pictures
from sightline.verbs import SEED, argument, option, verb

Array = NDArray[np.float64]
Picked = tuple[int, str]

ENCODERS = ("minilm", "hashed_words")
"""The first that is available lays out the map: one that knows meanings and is fast, else one of words."""
FEATURES = "features"
MOST_ON_A_MAP = 10_000
LEAST_ON_A_MAP = 4
PERPLEXITY = 30.0
COMPONENTS = 50
STEPS = 500
PICTURES = 1
"""Images per system and prompt."""
SIDE = 384
"""Pixels of the longer side of an image, as far as the page has room."""
ENDS = 2
"""Prompts shown at each end: predicted well or missed, hard or easy."""


@verb("share")
def figures(
    study: Study,
    folder: Annotated[str | Path, argument("The folder to write to.", "DIR")],
    *,
    questions: Annotated[
        Sequence[str],
        option("Draw this question; repeatable.", "--question", metavar="QUESTION", shown="all with truth"),
    ] = (),
    across: Annotated[
        str,
        option(
            "Part prompts into easy and hard by these two questions or measures.",
            metavar="FIRST,SECOND",
            shown="generation and retrieval, or the first two questions",
        ),
    ] = "",
    encoder: Annotated[
        str | None,
        option(
            "Lay out the map by this encoder's vectors, by features (the predictors' own inputs), or by a "
            "file that fit --save wrote: the space of the fitted model itself.",
            metavar="ENCODER",
            shown=f"{ENCODERS[0]}, else {ENCODERS[1]}",
        ),
    ] = None,
    seed: Annotated[int, SEED] = 0,
    listener: Listener | None = None,
) -> Figures:
    """Draw the prompts and their predictions as SVG and PNG files, with a page that shows them all.

    For each question with truth about prompts: a map of the prompts (t-SNE), coloured by truth; and, where
    predictions are stored, those of the best predictor against truth, as box plots and with the prompts
    predicted best and worst. Then the prompts that are easy or hard on two scales. The page also shows
    variability in pictures, where it was measured.
    """
    drawn = prediction_figures(
        study,
        whole=True,
        questions=questions,
        across=_two_names(across),
        encoder=encoder,
        seed=seed,
        listener=listener,
    )
    with suppress(DataError):  # nothing is measured, or images have been removed since
        drawn = replace(drawn, variability=variability_pictures(study).blocks)
    if not drawn.drawings and not drawn.variability:
        raise DataError("there is nothing to draw", where=study.name, remedy=" ".join(drawn.notes))
    return replace(drawn, files=write_figures(study, drawn, Path(folder)))


def _two_names(across: str) -> tuple[str, str] | None:
    if not across:
        return None
    # Commas between parentheses belong to a measure's parameters.
    names = [name.strip() for name in re.split(r",(?![^(]*\))", across)]
    if len(names) != 2 or not all(names):
        raise UsageError(f"cannot read --across {across!r}", remedy="Write two names: alignment,quality")
    return names[0], names[1]


def prediction_figures(
    study: Study,
    *,
    whole: bool = False,
    questions: Sequence[str] = (),
    across: tuple[str, str] | None = None,
    encoder: str | None = None,
    most: int = MOST_ON_A_MAP,
    colours: Mapping[str, Colour] | None = None,
    album: Album | None = None,
    stored: bool = False,
    seed: int = 0,
    listener: Listener | None = None,
) -> Figures:
    """The same as blocks of a page; unless `whole`, prompts and a map for the first question alone.

    Of more than `most` prompts, the map has a sample drawn by the seed. With `stored` it is drawn only from
    vectors that the study holds: no encoder is loaded. Pictures come from the `album` of the page.
    """
    making = _Making(study, colours or {}, listener, album or Album(study, MEGABYTES), stored)
    names = _named(study, questions)
    for number, name in enumerate(names):
        found = read_predictions(study, name)
        if found and (number or whole):
            making.blocks += [Heading(f"Predicting {name}"), Grid(quality_table(name, found))]
        making.predicted(name, found, with_prompts=whole or not number)
    if names:
        making.maps(names if whole else names[:1], encoder, most, seed)
    making.quadrants(across or both_kinds(study), named=across is not None)
    return Figures(making.blocks, making.drawings, making.notes)


class _Making:
    """Blocks and charts as they come, and what had to be omitted."""

    def __init__(
        self,
        study: Study,
        colours: Mapping[str, Colour],
        listener: Listener | None,
        album: Album,
        stored: bool,
    ) -> None:
        self.study = study
        self.colours = colours
        self.listener = listener
        self.album = album
        self.stored = stored
        self.blocks: list[Block] = []
        self.drawings: list[Drawing] = []
        self.notes: list[str] = []

    def draw(self, name: str, title: str, below: str, figure: Figure) -> None:
        self.drawings.append(Drawing(name, title, below, figure))
        self.blocks.append(figure)

    def predicted(self, name: str, stored: Sequence[StoredPredictions], *, with_prompts: bool) -> None:
        """The best predictor against truth: boxes, quarters, and prompts where it did well and badly."""
        shown = best(stored)
        if shown is None:
            self.notes.append(f"No predictions of {name} are stored: sightline fit STUDY --question {name}.")
            return
        several = f" The best of {len(stored)} predictors by Pearson's r is shown." if len(stored) > 1 else ""
        if shown.worth != "useful":
            several = f" {shown.verdict}{several}"
            self.notes.append(shown.verdict)
        if with_prompts:
            self.blocks.append(Heading("Predicted against true"))
        self.draw(
            f"boxes-{name}",
            f"Predicted against true {name}",
            f"{shown.predictor}, {shown.ids.size:,} prompts, each held out",
            box_figure(
                shown.predicted, shown.truth, scale=shown.scale, predictor=shown.predictor, note=several
            ),
        )
        self.blocks.append(Grid(_quarters(shown), "By quarter of the prediction"))
        if with_prompts and shown.tells:
            # Of a predictor that knows nothing, these would be what it hit by chance.
            self._cards("Hard and easy prompts that were predicted", shown, _predicted_well(shown))
        if with_prompts:
            self._cards("Missed most", shown, _missed(shown))

    def _cards(self, title: str, shown: StoredPredictions, picked: Sequence[Picked]) -> None:
        rows = [
            (
                int(shown.ids[row]),
                {"mean": shown.estimate(row), "note": said, "truth": float(shown.truth[row])},
            )
            for row, said in picked
        ]
        self._paired(title, rows, replace(shown.scale, name=f"predicted {shown.scale.name}"))

    def _paired(self, title: str, rows: Sequence[tuple[int, dict[str, Any]]], scale: Scale | None) -> None:
        """Prompts two and two side by side, each with what else is said of it."""
        if not rows:
            return
        texts = reading.prompt_records(self.study, [key for key, _ in rows])
        shown = [ShownPrompt(texts[key].text, thumbnails=self._thumbnails(key), **more) for key, more in rows]
        self.blocks += [Heading(title), replace(cards(shown, scale, self.colours), paired=True)]

    def _thumbnails(self, prompt_id: int) -> list[Thumbnail]:
        answers = answers_to(self.study, prompt_id).drop_nulls("sha256")
        return self.album.thumbnails(answers, PICTURES, SIDE)

    def maps(self, names: Sequence[str], encoder: str | None, most: int, seed: int) -> None:
        """One layout of all prompts that have a truth, drawn once for each question."""
        truths = {name: truth_of(self.study, name) for name in names}
        ids = sorted({key for known in truths.values() for key in known})
        note = ""
        if len(ids) > most:
            chosen = np.random.default_rng(seed).choice(len(ids), most, replace=False)
            note = f"A sample of {most:,} of {len(ids):,} prompts, drawn with seed {seed}."
            ids = [ids[place] for place in np.sort(chosen)]
        if len(ids) < LEAST_ON_A_MAP:
            self.notes.append(f"A map needs {LEAST_ON_A_MAP} prompts with truth; there are {len(ids)}.")
            return
        found = self._stored_vectors(ids) if self.stored else self._vectors(ids, encoder)
        if found is None:
            home = shlex.quote(str(self.study.home))
            self.notes.append(f"A map of the prompts is drawn by: sightline figures {home} FOLDER")
            return
        vectors, what = found
        if not np.ptp(vectors, axis=0).any():
            self.notes.append("There is no map: to the encoder all prompts are the same.")
            return
        places = dict(zip(ids, laid_out(vectors, seed=seed), strict=True))
        how = (
            f"Prompts near each other are alike {what} (t-SNE, perplexity "
            f"{perplexity(len(ids)):.3g}, seed {seed}); how far apart groups lie means little."
        )
        self.blocks.append(Heading("A map of the prompts"))
        for name, known in truths.items():
            mine = [key for key in ids if key in known]
            figure = map_figure(
                np.array([places[key] for key in mine]),
                np.array([known[key] for key in mine]),
                scale=scale_of(self.study, name),
                how=how,
                note=note,
            )
            below = f"{len(mine):,} prompts; near each other, they are alike {what} (t-SNE, seed {seed})"
            self.draw(f"map-{name}", f"Prompts by true {name}", below, figure)
        if note:
            self.notes.append(f"The map: {note[0].lower()}{note[1:]}")

    def _stored_vectors(self, ids: Sequence[int]) -> tuple[Array, str] | None:
        """The vectors of the first encoder that the study holds for all of these prompts."""
        records = reading.prompt_records(self.study, ids)
        contents = [text_hash(records[key].text) for key in ids]
        for name in ENCODERS:
            try:
                encoder = encoder_of(name, "text")
            except MissingPackage:
                continue  # without its extra the study's vectors of it cannot be named
            vectors, known = self.study.vectors.get(encoder.identity, contents)
            if known.all():
                return np.asarray(vectors, dtype=np.float64), f"to {encoder.name}"
        return None

    def _vectors(self, ids: Sequence[int], encoder: str | None) -> tuple[Array, str]:
        if encoder == FEATURES:
            raw = np.asarray(examples(self.study, ids).features, dtype=np.float64)
            known = np.isfinite(raw)
            count = np.maximum(known.sum(axis=0), 1)
            mean = np.where(known, raw, 0).sum(axis=0) / count
            away = np.where(known, raw - mean, 0.0)
            spread = np.sqrt((away**2).sum(axis=0) / count)
            return away / np.where(spread > 1e-12, spread, 1.0), "in their features"
        if encoder is not None and encoder.endswith(".npz"):
            records = reading.prompt_records(self.study, ids)
            model = load_fitted(Path(encoder))
            return model.latent(
                [records[key].text for key in ids]
            ), f"to the predictor in {Path(encoder).name}"
        by = Loadable(encoder_of(encoder, "text")) if encoder else first_loadable(ENCODERS, "text")
        if by.instead:
            self.notes.append(f"The map compares prompts by {by.encoder.name}: {by.instead}.")
        records = reading.prompt_records(self.study, ids)
        texts = [records[key].text for key in ids]
        vectors = embed_texts(self.study, by.encoder, texts, self.listener)
        return np.asarray(vectors, dtype=np.float64), f"to {by.encoder.name}"

    def quadrants(self, across: tuple[str, str] | None, *, named: bool) -> None:
        """Easy and hard on two scales, with the clearest prompts of each kind."""
        if across is None:
            self.notes.append("Easy and hard prompts on two scales need two questions with truth.")
            return
        first, second = (difficulty(self.study, name) for name in across)
        ids = sorted(set(first.values) & set(second.values))
        if len(ids) < LEAST:
            if named:
                raise DataError(f"only {len(ids)} prompts have both {across[0]} and {across[1]}")
            self.notes.append(f"Only {len(ids)} prompts have both {across[0]} and {across[1]}.")
            return
        columns = [np.array([side.values[key] for key in ids]) for side in (first, second)]
        scales = (first.scale, second.scale)
        # Two questions about the same systems are distinguished by their own names.
        words = (first.word, second.word)
        if first.word == second.word:
            words = (f"by {first.scale.name}", f"by {second.scale.name}")
        related = pearson(*columns)
        note = f"Pearson's r between both is {format_cell(related)}." if related.value is not None else ""
        figure = quadrant_figure(columns[0], columns[1], scales=scales, words=words, note=note)
        name, title = f"quadrants-{across[0]}-{across[1]}", f"Easy and hard, {' and '.join(words)}"
        self.blocks.append(Heading(title))
        self.draw(name, title, f"{len(ids):,} prompts, divided at the middle of each scale", figure)
        four = quadrants(columns[0], columns[1], scales, words)
        rows: list[list[Cell]] = [[each.name, each.rows.size, each.rows.size / len(ids)] for each in four]
        groups = [Column("prompts"), Column("n", "how many"), Column("proportion", format="%")]
        self.blocks.append(Grid(Table(groups, rows, "The four groups")))
        self._examples(four, ids, scales, columns)

    def _examples(
        self,
        four: Sequence[Quadrant],
        ids: Sequence[int],
        scales: tuple[Scale, Scale],
        columns: Sequence[Array],
    ) -> None:
        """The clearest prompts of each group, placed as the groups lie in the plane: easy right and above."""
        picked = [
            (each, int(each.rows[number]))
            for easy in (True, False)
            for number in range(ENDS)
            for each in sorted(four, key=lambda each: each.easy_first)
            if each.easy_second == easy and number < each.rows.size
        ]
        rows = []
        for each, row in picked:
            values = [format_number(float(column[row]), decimals=2) for column in columns]
            tags = [(scale.name, value) for scale, value in zip(scales, values, strict=True)]
            rows.append((ids[row], {"tags": tags, "note": each.name[0].upper() + each.name[1:]}))
        self._paired("The clearest of each group", rows, None)


def laid_out(vectors: Array, *, seed: int = 0) -> Array:
    """Rows in a plane, those alike near each other: t-SNE of the first COMPONENTS principal components.

    It starts from the first two of them, and runs in one thread: sums over several threads are not the same
    twice, and a layout turns small differences into large ones.
    Source: van der Maaten and Hinton, Visualizing data using t-SNE (2008); Barnes-Hut, van der Maaten (2014).
    """
    from sklearn.manifold import TSNE
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        centred = vectors - vectors.mean(axis=0)
        _, axes = np.linalg.eigh(centred.T @ centred)
        axes = axes[:, ::-1][:, :COMPONENTS]
        # An eigenvector's sign is arbitrary: its largest part counts as positive.
        signs = np.sign(axes[np.abs(axes).argmax(axis=0), np.arange(axes.shape[1])])
        main = centred @ (axes * signs)
        start = main[:, :2] / max(float(main[:, 0].std()), 1e-12) * 1e-4
        if start.shape[1] < 2 or start[:, 1].std() < 1e-9:
            start = np.random.default_rng(seed).normal(scale=1e-4, size=(len(main), 2))
        model = TSNE(
            perplexity=perplexity(len(main)),
            init=start.astype(np.float32),
            learning_rate="auto",
            max_iter=STEPS,
            angle=0.7,
            random_state=seed,
            n_jobs=1,
        )
        return np.asarray(model.fit_transform(main), dtype=np.float64)


def perplexity(n: int) -> float:
    """PERPLEXITY, or a third of the others where there are few: t-SNE's own rule of thumb."""
    return min(PERPLEXITY, max(1.0, (n - 1) / 3))


def _quarters(shown: StoredPredictions) -> Table:
    """How far off predictions are where they say hard and where they say easy."""
    sign = -1.0 if shown.scale.direction == "lower" else 1.0
    columns = [
        Column("quarter"),
        Column("from", f"predicted {shown.scale.name} from"),
        Column("to", "to"),
        Column("n", "prompts"),
        Column("bias", "predicted minus true", format="+"),
        Column("rmse", "RMSE", "lower"),
        Column("smare", "sMARE", "lower"),
        Column("kendall", "Kendall", "higher", estimate=True),
    ]
    rows: list[list[Cell]] = []
    for each in by_quarter(sign * shown.predicted, sign * shown.truth):
        ends = sorted((sign * each.low, sign * each.high))
        row: list[Cell] = [each.name, *ends, each.n, sign * each.bias, each.rmse, each.smare]
        rows.append([*row, each.kendall])
    return Table(columns, rows, f"{shown.predictor} by quarter of the predicted {shown.scale.name}")


def _predicted_well(shown: StoredPredictions) -> list[Picked]:
    """Prompts of the hardest and of the easiest quarter with the least error: middling ones are no feat."""
    error = np.abs(shown.predicted - shown.truth)
    quarters = levels(shown.truth, shown.scale)
    if len(quarters) < 2:
        return []
    sides = []
    for level, said in ((quarters[0], "Was hard, as predicted."), (quarters[-1], "Was easy, as predicted.")):
        order = level.rows[np.lexsort((level.rows, error[level.rows]))]
        sides.append([(int(row), said) for row in order[:ENDS]])
    return _side_by_side(*sides)


def _missed(shown: StoredPredictions) -> list[Picked]:
    """Prompts that did much worse, and much better, than predicted."""
    sign = -1.0 if shown.scale.direction == "lower" else 1.0
    surplus = sign * (shown.truth - shown.predicted)
    rows = np.arange(surplus.size)
    worse, better = np.lexsort((rows, surplus)), np.lexsort((rows, -surplus))
    return _side_by_side(
        [(int(row), "Did worse than predicted.") for row in worse[:ENDS] if surplus[row] < 0],
        [(int(row), "Did better than predicted.") for row in better[:ENDS] if surplus[row] > 0],
    )


def _side_by_side(left: Sequence[Picked], right: Sequence[Picked]) -> list[Picked]:
    """Two columns, row by row; what one has more comes last."""
    return [each for both in zip_longest(left, right) for each in both if each]


def _named(study: Study, questions: Sequence[str]) -> list[str]:
    """The questions asked for, or all with truth about prompts, those with predictions first."""
    known = [asked.name for _, asked in reading.questions(study)]
    for name in questions:
        if name not in known:
            raise UsageError(f"no question is called {name!r} in this study", remedy=near(name, known))
    chosen = list(dict.fromkeys(questions)) or known
    settled = [name for name in chosen if not rollup.by_prompt(study, name).is_empty()]
    bare = [name for name in questions if name not in settled]
    if bare:
        raise DataError(f"{bare[0]} has no truth about prompts", remedy="sightline truth STUDY")
    if questions:
        return settled
    return sorted(settled, key=lambda name: not read_predictions(study, name))
