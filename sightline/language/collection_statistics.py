"""What the captions of a collection say about a prompt before anything is retrieved.

A document is all that is said of one image. Terms are the Treebank's words in lower case without stop words.
Logarithms are natural. Terms that the collection does not contain have no statistics; `unseen` is their
proportion.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sightline.errors import DataError
from sightline.language.prompt_features import STOP_WORDS
from sightline.language.tokens import words

Integers = NDArray[np.int64]
# Name of a statistic -> what it is and who introduced it.
STATISTICS: Mapping[str, str] = {
    "max_idf": "Highest ln(N / df) of the terms (Scholer, Williams and Turpin 2004).",
    "mean_idf": "Mean ln(N / df) of the terms (Cronen-Townsend, Zhou and Croft 2002).",
    "idf_deviation": "Standard deviation of ln(N / df) over the terms (He and Ounis 2004).",
    "mean_ictf": "Mean ln(|C| / cf) of the terms (Kwok 1996; He and Ounis 2004).",
    "query_scope": "-ln of the proportion of documents with any of the terms (He and Ounis 2004).",
    "clarity": "Simplified clarity: sum p(t|Q) ln(p(t|Q) / p(t|C)) (He and Ounis 2004).",
    "sum_scq": "Sum of (1 + ln cf) ln(1 + N / df) over the terms (Zhao, Scholer and Tsegay 2008).",
    "mean_scq": "Mean of (1 + ln cf) ln(1 + N / df) over the terms (Zhao, Scholer and Tsegay 2008).",
    "max_scq": "Highest (1 + ln cf) ln(1 + N / df) of the terms (Zhao, Scholer and Tsegay 2008).",
    "sum_variability": "Sum over terms of the deviation of their weight (Zhao, Scholer and Tsegay 2008).",
    "mean_variability": "Mean over terms of the deviation of their weight (Zhao, Scholer and Tsegay 2008).",
    "max_variability": "Highest deviation of a term's weight (Zhao, Scholer and Tsegay 2008).",
    "mean_pmi": "Mean ln(N df(a,b) / (df(a) df(b))) over pairs of terms that meet (Hauff 2010).",
    "max_pmi": "Highest ln(N df(a,b) / (df(a) df(b))) of the pairs of terms that meet (Hauff 2010).",
    "apart": "Proportion of pairs of terms that occur together in no document.",
    "unseen": "Proportion of terms that the collection does not contain.",
}


def terms(text: str) -> list[str]:
    """The words that statistics are about: lower case, no stop words nor clitics such as 's."""
    return [
        word
        for word in map(str.lower, words(text))
        if word.strip("'") not in STOP_WORDS and any(map(str.isalnum, word))
    ]


class _Counts(NamedTuple):
    """Where a term occurs, ascending, and how often in each place."""

    places: Integers
    times: Integers

    def without(self, document: int | None) -> _Counts:
        if document is None:
            return self
        keep = self.places != document
        return self if keep.all() else _Counts(self.places[keep], self.times[keep])


class CollectionStatistics:
    """An inverted index of the captions of a collection, and the classic predictors that read it."""

    def __init__(self, captions: Iterable[Sequence[str]]) -> None:
        found: dict[str, list[tuple[int, int]]] = defaultdict(list)
        lengths = []
        for number, of_image in enumerate(captions):
            counts = Counter(term for caption in of_image for term in terms(caption))
            lengths.append(counts.total())
            for term, count in counts.items():
                found[term].append((number, count))
        if not found:
            raise DataError(
                "no image of the collection has a caption with words",
                remedy="Import captions, or leave statistics of the collection out.",
            )
        self._lengths = lengths
        self.documents, self.length = len(lengths), sum(lengths)
        tables = {term: np.array(counted, dtype=np.int64) for term, counted in found.items()}
        self._counts = {term: _Counts(table[:, 0].copy(), table[:, 1]) for term, table in tables.items()}

    def of(self, text: str, *, without: int | None = None) -> dict[str, float]:
        """The STATISTICS of a prompt; NaN where there is nothing to compute it from.

        `without` leaves out one document, by its place. A prompt that was itself taken from a caption must be
        learned from without it: it would never have an unseen word, and a new prompt may.
        """
        listed = terms(text)
        distinct = dict.fromkeys(listed)
        counts = {term: self._counts[term].without(without) for term in distinct if term in self._counts}
        known = {term: each for term, each in counts.items() if each.places.size}
        documents, length = self.documents, self.length
        if without is not None:
            documents, length = documents - 1, length - self._lengths[without]
        found = dict.fromkeys(STATISTICS, math.nan)
        if distinct:
            found["unseen"] = 1 - len(known) / len(distinct)
        if known:
            found |= self._of_terms(list(known.values()), documents, length)
            found["clarity"] = _clarity([term for term in listed if term in known], known, length)
        if len(known) > 1:
            found |= _of_pairs([each.places for each in known.values()], documents)
        return found

    def _of_terms(self, known: Sequence[_Counts], documents: int, length: int) -> dict[str, float]:
        frequency = np.array([each.places.size for each in known], dtype=np.float64)
        total = np.array([each.times.sum() for each in known], dtype=np.float64)
        rarity = np.log(1 + documents / frequency)
        deviation = rarity * np.array([_deviation_of_logarithm(each.times) for each in known])
        idf = np.log(documents / frequency)
        scq = (1 + np.log(total)) * rarity
        held = np.zeros(self.documents, dtype=np.bool_)
        for each in known:
            held[each.places] = True
        return {
            "max_idf": float(idf.max()),
            "mean_idf": float(idf.mean()),
            "idf_deviation": float(idf.std()),
            "mean_ictf": float(np.log(length / total).mean()),
            "query_scope": math.log(documents / np.count_nonzero(held)),
            "sum_scq": float(scq.sum()),
            "mean_scq": float(scq.mean()),
            "max_scq": float(scq.max()),
            "sum_variability": float(deviation.sum()),
            "mean_variability": float(deviation.mean()),
            "max_variability": float(deviation.max()),
        }


def _deviation_of_logarithm(times: Integers) -> float:
    """Standard deviation of ln tf; most terms occur once wherever they occur, which needs no logarithm."""
    return 0.0 if times.max() == 1 else float(np.log(times).std())


def _clarity(listed: Sequence[str], known: Mapping[str, _Counts], length: int) -> float:
    shares = {term: count / len(listed) for term, count in Counter(listed).items()}
    return sum(
        share * math.log(share * length / int(known[term].times.sum())) for term, share in shares.items()
    )


def _of_pairs(known: Sequence[Integers], documents: int) -> dict[str, float]:
    pairs = list(combinations(known, 2))
    met = [
        math.log(documents * together / (one.size * two.size))
        for one, two in pairs
        if (together := _in_both(one, two))
    ]
    found = {"apart": 1 - len(met) / len(pairs)}
    if met:
        found |= {"mean_pmi": sum(met) / len(met), "max_pmi": max(met)}
    return found


def _in_both(one: Integers, two: Integers) -> int:
    """How many numbers two ascending columns share, the shorter looked up in the longer."""
    short, long = (one, two) if one.size < two.size else (two, one)
    place = np.searchsorted(long, short)
    return int(np.count_nonzero(long[np.minimum(place, long.size - 1)] == short))
