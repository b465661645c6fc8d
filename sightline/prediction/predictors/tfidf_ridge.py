"""A linear predictor on weighted words, which can say which words make a prompt hard."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from sightline.errors import UsageError
from sightline.extension import predictor
from sightline.prediction.predictors._parts import FEWEST, Array, Learned, marks, settled_columns
from sightline.records import Examples
from sightline.statistics.folds import k_fold

PENALTIES = (0.3, 1.0, 3.0, 10.0, 30.0)
WORD = re.compile(r"\w+")
Grams = list[tuple[str, list[int]]]
Places = NDArray[np.int64]


@predictor(sees="prompt", source="Spaerck Jones 1972; Hoerl and Kennard 1970", licence="Apache-2.0")
class tfidf_ridge(Learned):
    """Linear regression on the words, word pairs and letter sequences of a prompt, rare ones weighing more.

    A sequence of up to `words` words, or of 3 up to `letters` letters within a word, found in `least` prompts
    or more weighs (1 + ln tf)(1 + ln((1 + n) / (1 + df))); the words' half and the letters' half of a prompt
    have the same length. The penalty is the one of `penalties` with the least error on a fifth of the
    examples drawn with `seed`, per target. A prompt's explanation shares each sequence among its words.
    """

    LEARNED = ("rarity", "weights", "base")

    def __init__(
        self,
        *,
        words: int = 2,
        letters: int = 5,
        least: int = 2,
        penalties: tuple[float, ...] = PENALTIES,
        seed: int = 0,
    ) -> None:
        if words < 1 or letters < 3 or least < 1:
            raise UsageError(
                f"tfidf_ridge: words={words}, letters={letters}, least={least}",
                remedy="At least words=1, letters=3 and least=1.",
            )
        self._words = words
        self._letters = letters
        self._least = least
        self._penalties = penalties
        self._seed = seed
        self._place: dict[str, int] = {}
        self._rarity = np.zeros(0)
        self._weights = np.zeros((0, 0))
        self._base = np.zeros(0)

    def fit(self, x: Examples, truth: np.ndarray) -> Self:
        truth = np.asarray(truth, dtype=np.float64)
        spoken = self._spoken(x)
        found = Counter(gram for counts in spoken for gram in counts)
        known = sorted(gram for gram, prompts in found.items() if prompts >= self._least)
        self._place = {gram: number for number, gram in enumerate(known)}
        prompts_with = np.array([found[gram] for gram in known], dtype=np.float64)
        self._rarity = np.log((1 + len(x)) / (1 + prompts_with)) + 1
        inputs = self._matrix(spoken)
        self._weights, self._base = np.zeros((len(known), truth.shape[1])), np.zeros(truth.shape[1])
        for rows, targets in settled_columns(truth):
            for target in targets:
                y = truth[rows, target]
                self._base[target] = y.mean()
                if len(y) >= FEWEST and np.ptp(y) > 0 and known:
                    line = self._fit_one(inputs[np.flatnonzero(rows)], y)
                    self._weights[:, target], self._base[target] = line
        return self

    def _fit_one(self, inputs: Any, y: np.ndarray) -> tuple[np.ndarray, float]:
        from sklearn.linear_model import Ridge

        def line(penalty: float, rows: np.ndarray) -> Any:
            return Ridge(alpha=penalty, solver="sparse_cg", tol=1e-5).fit(inputs[rows], y[rows])

        held = k_fold(len(y), min(5, len(y)), seed=self._seed) == 0
        learn, test = np.flatnonzero(~held), np.flatnonzero(held)
        errors = [
            float(((line(penalty, learn).predict(inputs[test]) - y[test]) ** 2).mean())
            for penalty in self._penalties
        ]
        best = line(self._penalties[int(np.argmin(errors))], np.arange(len(y)))
        return best.coef_, float(best.intercept_)

    def _spoken(self, x: Examples) -> list[Counter[str]]:
        return [Counter(gram for gram, _ in self._grams(prompt.text)) for prompt in x.prompts]

    def _grams(self, text: str) -> Iterator[tuple[str, list[int]]]:
        """Every sequence of the text, with the numbers of the words it lies in."""
        spoken = WORD.findall(text.lower())
        for number, word in enumerate(spoken):
            for length in range(1, min(self._words, len(spoken) - number) + 1):
                yield " ".join(spoken[number : number + length]), [*range(number, number + length)]
            # The mark in front keeps letters apart from words, and the blanks tell where a word ends.
            padded = f" {word} "
            for size in range(3, self._letters + 1):
                for start in range(len(padded) - size + 1):
                    yield f"~{padded[start : start + size]}", [number]

    def _weighed(self, spoken: Sequence[Mapping[str, int]]) -> tuple[Array, Places, Places]:
        """The weights of all sequences of all prompts, their columns, and where each prompt starts.

        The words' half and the letters' half of a prompt have length 1 / sqrt 2 each.
        """
        columns, values, starts = [np.zeros(0, dtype=np.int64)], [np.zeros(0)], [0]
        for counts in spoken:
            known = sorted(
                (self._place[gram], gram[0] == "~", n) for gram, n in counts.items() if gram in self._place
            )
            place = np.array([at for at, _, _ in known], dtype=np.int64)
            is_letters = np.array([letters for _, letters, _ in known], dtype=np.bool_)
            often = np.array([n for _, _, n in known], dtype=np.float64)
            columns.append(place)
            values.append(_halves((1 + np.log(often)) * self._rarity[place], is_letters))
            starts.append(starts[-1] + len(place))
        return np.concatenate(values), np.concatenate(columns), np.array(starts)

    def _matrix(self, spoken: Sequence[Mapping[str, int]]) -> Any:
        from scipy.sparse import csr_array

        return csr_array(self._weighed(spoken), shape=(len(spoken), len(self._place)))

    def predict(self, x: Examples) -> np.ndarray:
        spoken = self._spoken(x)
        values, columns, starts = self._weighed(spoken)
        row = np.repeat(np.arange(len(spoken)), np.diff(starts))
        # As good as a sparse product, and without its library, which takes longer to load than all the rest.
        sums = [np.bincount(row, values * each[columns], len(spoken)) for each in self._weights.T]
        return np.stack(sums, axis=1) + self._base if sums else np.zeros((len(spoken), 0))

    def explain(self, x: Examples) -> Sequence[Mapping[str, float]]:
        """What each word adds to the base; all together they are the prediction."""
        return [self._explain_one(prompt.text) for prompt in x.prompts]

    def _explain_one(self, text: str) -> dict[str, float]:
        spoken = WORD.findall(text.lower())
        grams: Grams = [(gram, where) for gram, where in self._grams(text) if gram in self._place]
        often = Counter(gram for gram, _ in grams)
        weights, columns, _ = self._weighed([often])
        value = dict(zip(columns.tolist(), weights.tolist(), strict=True))
        shares = np.zeros((len(spoken), len(self._base)))
        for gram, where in grams:
            place = self._place[gram]
            shares[where] += value[place] / often[gram] / len(where) * self._weights[place]
        made: dict[str, float] = {}
        for target, end in enumerate(marks(len(self._base))):
            made[f"base{end}"] = float(self._base[target])
            for word, share in zip(spoken, shares[:, target], strict=True):
                made[f"word {word}{end}"] = made.get(f"word {word}{end}", 0.0) + float(share)
        return made

    def state(self) -> dict[str, np.ndarray]:
        return {"grams": np.array(list(self._place), dtype=np.str_), **super().state()}

    def restore(self, state: Mapping[str, np.ndarray]) -> Self:
        self._place = {str(gram): number for number, gram in enumerate(state["grams"])}
        return super().restore(state)


def _halves(values: Array, second: np.ndarray) -> Array:
    scaled = values.copy()
    for half in (second, ~second):
        length = np.sqrt((values[half] ** 2).sum())
        scaled[half] /= length * np.sqrt(2) if length > 0 else 1.0
    return scaled
