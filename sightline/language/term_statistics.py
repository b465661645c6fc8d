"""What is known of words from the prompts learned from: how many use each, and what that says of a prompt.

The counts of words alone, unlike an index of who used them, can be kept and passed on: no prompt can be read
back from them. Terms and logarithms are those of collection_statistics.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Self

import numpy as np
from numpy.typing import NDArray

from sightline.language.collection_statistics import terms

Array = NDArray[np.float64]
STATISTICS: Mapping[str, str] = {
    "terms": "How many different terms the prompt has.",
    "max_idf": "Highest ln(N / n) of the terms, n the prompts that use it out of N.",
    "mean_idf": "Mean ln(N / n) of the terms.",
    "min_idf": "Lowest ln(N / n) of the terms.",
    "idf_deviation": "Standard deviation of ln(N / n) over the terms.",
    "sum_scq": "Sum of (1 + ln n) ln(1 + N / n) over the terms.",
    "mean_scq": "Mean of (1 + ln n) ln(1 + N / n) over the terms.",
    "max_scq": "Highest (1 + ln n) ln(1 + N / n) of the terms.",
    "log_chance": "Sum of ln(n / N): how likely all terms together are, were they independent.",
    "unseen": "Proportion of the terms that no prompt uses.",
}


class TermStatistics:
    """How many of a number of prompts use each term."""

    def __init__(self, prompts: Sequence[str] = ()) -> None:
        self.prompts = len(prompts)
        self._used: dict[str, int] = dict(Counter(term for text in prompts for term in set(terms(text))))

    def table(self, texts: Sequence[str], *, learned_from: bool = False) -> Array:
        """One row per text, one column per statistic; NaN where there is nothing to compute it from.

        A text that was `learned_from` is looked at as if it had not been: it would never have an unseen term,
        and a new one may.
        """
        rows = [self._row(text, 1 if learned_from else 0) for text in texts]
        return np.array(rows, dtype=np.float64).reshape(len(texts), len(STATISTICS))

    def _row(self, text: str, own: int) -> list[float]:
        distinct = set(terms(text))
        if not distinct:
            return [0.0, *[math.nan] * (len(STATISTICS) - 1)]
        total = max(self.prompts - own, 1)
        used = [count for term in distinct if (count := self._used.get(term, 0) - own) > 0]
        unseen = 1 - len(used) / len(distinct)
        # A term that nobody uses is taken to be half as common as one that a single prompt uses.
        rarity = [math.log(total / count) for count in used]
        full = rarity + [math.log(2 * total)] * (len(distinct) - len(used))
        mean = sum(full) / len(full)
        scq = [(1 + math.log(count)) * math.log(1 + total / count) for count in used] or [0.0]
        return [
            float(len(distinct)),
            max(full),
            mean,
            min(full),
            math.sqrt(sum((each - mean) ** 2 for each in full) / len(full)),
            sum(scq),
            sum(scq) / len(scq),
            max(scq),
            -sum(full),
            unseen,
        ]

    def knows(self, term: str) -> bool:
        """Whether any prompt uses the term."""
        return term in self._used

    def state(self) -> dict[str, np.ndarray]:
        """The counts as plain arrays."""
        listed = sorted(self._used)
        return {
            "terms": np.frombuffer("\n".join(listed).encode(), dtype=np.uint8),
            "used": np.array([self._used[term] for term in listed], dtype=np.int32),
            "prompts": np.array(self.prompts),
        }

    @classmethod
    def restored(cls, state: Mapping[str, np.ndarray]) -> Self:
        """The statistics that gave this state."""
        made = cls()
        made.prompts = int(state["prompts"])
        listed = state["terms"].tobytes().decode().split("\n") if state["used"].size else []
        made._used = dict(zip(listed, state["used"].tolist(), strict=True))
        return made
