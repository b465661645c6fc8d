"""PQPP (Poesina et al. 2025): how truths go together, what scores can be, faults of the relevance."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import combinations_with_replacement
from typing import Any

from sightline.data.sources import Source
from sightline.errors import DataError
from sightline.language import prompt_features, wordnet
from sightline.records import NoValue, Prompt, PromptKey
from sightline.registry import configure
from sightline.reproductions.card import Number, Obtained, Paper, Part, Printed
from sightline.statistics.correlation import kendall, pearson

TABLE, TRAIN, VALIDATION = "dataset.csv", "train.csv", "validation.csv"
RELEVANT = "retrieval_groundtruth.pickle"
TRUTHS = {"hbpp": "avg_generative_score", "p_at_10": "retrieval_avg_pk", "rr": "retrieval_avg_rr"}
PAIRS = (("hbpp", "p_at_10"), ("hbpp", "rr"), ("p_at_10", "rr"))
SYSTEMS = {"sdxl": "sdxl_score", "glide": "glide_score"}
OF_SYSTEMS = {
    "hbpp": ("sdxl_score", "glide_score"),
    "p_at_10": ("clip_pk", "blip2_pk"),
    "rr": ("clip_rr", "blip2_rr"),
}
ROUNDING = 1e-9
WHOLE = 10_000

# Averages such as 0.15 and 0.15000000000000002 are ties or not as the writer of a file rounded them.
TAU = 0.002
TIES = "dataset.csv and the files of the splits differ in last bits, which makes and breaks ties."
# Feature of a prompt -> its mean over the validation rows, and Pearson and tau there with HBPP, P@10 and RR.
FEATURES: Mapping[str, tuple[str | None, str]] = {
    "word_count": ("10.68", "-0.1404 -0.1070 -0.1739 -0.1428 -0.0682 -0.0486"),
    "mean_word_length": ("4.3441", "-0.0058 -0.0053 -0.0983 -0.0636 -0.0400 -0.0287"),
    "acronym_rate": (None, "-0.0165 -0.0520 -0.0238 -0.0233 0.0415 0.0431"),
    "numeral_rate": (None, "0.0184 0.0114 -0.0404 -0.0423 -0.0230 -0.0142"),
    "conjunction_rate": ("0.0314", "0.0354 0.0387 -0.1155 -0.1073 -0.0800 -0.0740"),
    "preposition_rate": ("0.1699", "0.0331 0.0202 0.0464 0.0349 0.0597 0.0433"),
}
SYNSETS: Mapping[str, tuple[str | None, str]] = {
    "synset_count": ("57.22", "-0.1497 -0.1008 -0.1089 -0.0644 -0.0210 -0.0171"),
}
ONE_ROUND = "With WordNet's rules applied once, as in NLTK since 3.9: these figures were taken that way."
# The correlations differ in the fourth digit; each must come out as well with the morphology of the paper.
RECURSIVE = "With the recursive morphology that the paper used; the figure is of rules applied once."
RECURSIVE_WITHIN = 0.002


def _sizes(source: Source) -> Obtained:
    return {
        "rows.train": sum(1 for _ in source.rows(TRAIN, required=("id",))),
        "rows.validation": sum(1 for _ in source.rows(VALIDATION, required=("id",))),
    }


def _table_3(source: Source) -> Obtained:
    return _truth_against_truth(source, "table3", TABLE, _ids(source, TRAIN))


def _truth_against_truth(source: Source, stem: str, file: str, kept: set[str] | None = None) -> Obtained:
    columns = _columns(source, kept, tuple(TRUTHS.values()), file)
    obtained: dict[str, Number | NoValue | None] = {}
    for a, b in PAIRS:
        x, y = columns[TRUTHS[a]], columns[TRUTHS[b]]
        obtained[f"{stem}.{a}.{b}.pearson"] = pearson(x, y).value
        obtained[f"{stem}.{a}.{b}.tau"] = kendall(x, y).value
    return obtained


def _averages(source: Source) -> Obtained:
    columns = _columns(
        source, None, (*TRUTHS.values(), *(name for pair in OF_SYSTEMS.values() for name in pair))
    )
    obtained = {}
    for truth, (first, second) in OF_SYSTEMS.items():
        rows = zip(columns[TRUTHS[truth]], columns[first], columns[second], strict=True)
        obtained[f"average.{truth}.wrong"] = sum(abs(mean - (a + b) / 2) > ROUNDING for mean, a, b in rows)
    return obtained


def feasible_scores() -> set[float]:
    """What a system's HBPP can be: two images, each the mean of two or three votes of its majority group."""
    groups = ((2, 1), (0, -1))
    of_image = {
        sum(votes) / n
        for group in groups
        for n in (2, 3)
        for votes in combinations_with_replacement(group, n)
    }
    return {round((a + b) / 2, 9) for a, b in combinations_with_replacement(of_image, 2)}


def _scores(source: Source) -> Obtained:
    feasible = feasible_scores()
    columns = _columns(source, None, tuple(SYSTEMS.values()))
    outside = {
        f"hbpp.{system}.infeasible": sum(round(value, 9) not in feasible for value in columns[column])
        for system, column in SYSTEMS.items()
    }
    return {"hbpp.values": len(feasible), **outside}


def _relevance(source: Source) -> Obtained:
    listing: Any = source.pickle(RELEVANT)
    if not isinstance(listing, dict) or not all(isinstance(ids, list) for ids in listing.values()):
        raise DataError("not lists of image ids by row number", where=RELEVANT, remedy="Obtain it again.")
    judged = _ids(source, TRAIN) | _ids(source, VALIDATION)
    counts = {"whole": [0, 0], "given": [0, 0]}
    rows = 0
    for rows, row in enumerate(source.rows(TABLE, required=("id", "image_id")), 1):
        listed = [str(each) for each in listing.get(rows - 1, [])]
        faults = len(set(listed)) < len(listed), row.text("image_id") not in listed
        for kind in ("whole", *(["given"] if row.text("id") in judged else [])):
            for place, fault in enumerate(faults):
                counts[kind][place] += fault
    absent = NoValue(f"the figure is over {WHOLE:,} rows, and {rows:,} are here")
    return {
        "relevant.repeated.whole": counts["whole"][0] if rows == WHOLE else absent,
        "relevant.own_missing.whole": counts["whole"][1] if rows == WHOLE else absent,
        "relevant.repeated.train_validation": counts["given"][0],
        "relevant.own_missing.train_validation": counts["given"][1],
    }


def _features(source: Source) -> Obtained:
    def mean_word_length(text: str) -> float:
        prompt = Prompt(PromptKey("pqpp", "0"), text)
        return float(configure("of_prompt", "mean_word_length").load()([prompt])[0])

    of_text: Mapping[str, Callable[[str], float | None]] = {
        "word_count": prompt_features.word_count,
        "mean_word_length": mean_word_length,
        "acronym_rate": prompt_features.acronym_rate,
        "numeral_rate": prompt_features.numeral_rate,
        "conjunction_rate": prompt_features.conjunction_rate,
        "preposition_rate": prompt_features.preposition_rate,
    }
    return _against_truth(source, FEATURES, of_text)


def _senses(source: Source, *, recursive: bool) -> Obtained:
    database = wordnet.find(recursive=recursive)
    reason = wordnet.why_not(database)
    if database is None or reason:
        obtained: Obtained = dict.fromkeys((each.id for each in _feature_figures(SYNSETS)), NoValue(reason))
    else:
        count = partial(prompt_features.synset_count, wordnet=database)
        obtained = _against_truth(source, SYNSETS, {"synset_count": count})
    named = "synset_count.recursive" if recursive else "synset_count"
    return {name.replace("synset_count", named, 1): value for name, value in obtained.items()}


def _against_truth(
    source: Source,
    printed: Mapping[str, tuple[str | None, str]],
    of_text: Mapping[str, Callable[[str], float | None]],
) -> Obtained:
    kept = _ids(source, VALIDATION)
    rows = source.rows(TABLE, required=("id", "best_caption"))
    texts = [row.text("best_caption") for row in rows if row.text("id") in kept]
    truths = _columns(source, kept, tuple(TRUTHS.values()))
    obtained: dict[str, Number | NoValue | None] = {}
    for name, (mean, _) in printed.items():
        raw = [of_text[name](text) for text in texts]
        values = [math.nan if value is None else float(value) for value in raw]
        if mean is not None:
            obtained[f"{name}.mean"] = sum(values) / len(values) if values else None
        for truth, column in TRUTHS.items():
            obtained[f"{name}.{truth}.pearson"] = pearson(values, truths[column]).value
            obtained[f"{name}.{truth}.tau"] = kendall(values, truths[column]).value
    return obtained


def _ids(source: Source, file: str) -> set[str]:
    return {row.text("id") for row in source.rows(file, required=("id",))}


def _columns(
    source: Source, kept: set[str] | None, wanted: Sequence[str], file: str = TABLE
) -> dict[str, list[float]]:
    columns: dict[str, list[float]] = {name: [] for name in wanted}
    for row in source.rows(file, required=("id", *wanted)):
        if kept is None or row.text("id") in kept:
            for name in wanted:
                columns[name].append(row.number(name))
    return columns


def _feature_figures(features: Mapping[str, tuple[str | None, str]], note: str = "") -> list[Printed]:
    figures = []
    for name, (mean, correlations) in features.items():
        if mean is not None:
            figures.append(Printed(f"{name}.mean", mean, note or "Validation rows."))
        values = iter(correlations.split())
        for truth in TRUTHS:
            figures += _correlations(f"{name}.{truth}", next(values), next(values))
    return figures


def _recursive_figures() -> list[Printed]:
    figures = []
    for figure in _feature_figures(SYNSETS):
        name = figure.id.replace("synset_count", "synset_count.recursive", 1)
        if figure.id.endswith(".mean"):
            figures.append(Printed(name, None, "Of the recursive morphology no mean is known."))
        else:
            figures.append(Printed(name, figure.value, RECURSIVE, RECURSIVE_WITHIN))
    return figures


def _correlations(stem: str, r: str, tau: str) -> list[Printed]:
    return [Printed(f"{stem}.pearson", r), Printed(f"{stem}.tau", tau, TIES, TAU)]


def _table_3_figures(stem: str) -> list[Printed]:
    return [
        *_correlations(f"{stem}.hbpp.p_at_10", "0.1188", "0.0829"),
        *_correlations(f"{stem}.hbpp.rr", "0.0704", "0.0460"),
        *_correlations(f"{stem}.p_at_10.rr", "0.5629", "0.5045"),
    ]


PAPER = Paper(
    "PQPP: prompt and query performance prediction",
    {file: ("best_caption", "avg_generative_score") for file in (TABLE, TRAIN)},
    (
        Part(
            (Printed("rows.train", "6000"), Printed("rows.validation", "2000")),
            _sizes,
            (TRAIN, VALIDATION),
        ),
        Part(_table_3_figures("table3"), _table_3, (TABLE, TRAIN)),
        Part(
            _table_3_figures("table3.train_csv"),
            partial(_truth_against_truth, stem="table3.train_csv", file=TRAIN),
            (TRAIN,),
        ),
        Part(
            [
                Printed(f"average.{truth}.wrong", "0", "Rows whose average is not the mean of both systems.")
                for truth in TRUTHS
            ],
            _averages,
            (TABLE,),
        ),
        Part(
            (
                Printed("hbpp.values", "31", "Two images, each the mean of two or three votes of one group."),
                Printed("hbpp.sdxl.infeasible", "0", "Rows whose score is none of the values it can take."),
                Printed("hbpp.glide.infeasible", "0", "Rows whose score is none of the values it can take."),
            ),
            _scores,
            (TABLE,),
        ),
        Part(
            (
                Printed("relevant.repeated.whole", "571", "Queries that list an image twice, all rows."),
                Printed("relevant.own_missing.whole", "184", "Queries that lack their own image, all rows."),
                Printed("relevant.repeated.train_validation", "372", "The same in train and validation."),
                Printed("relevant.own_missing.train_validation", "140", "The same in train and validation."),
            ),
            _relevance,
            (TABLE, TRAIN, VALIDATION, RELEVANT),
        ),
        Part(_feature_figures(FEATURES), _features, (TABLE, VALIDATION)),
        Part(_feature_figures(SYNSETS, ONE_ROUND), partial(_senses, recursive=False), (TABLE, VALIDATION)),
        Part(_recursive_figures(), partial(_senses, recursive=True), (TABLE, VALIDATION)),
    ),
)
