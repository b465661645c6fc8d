"""Where a fitted model places examples: those near each other are alike to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sightline.records import Examples

MOST_REASONS = 2000
"""The reasons that move predictions most; beyond these a table would not fit into memory."""


def latent_of(model: Any, x: Examples) -> np.ndarray:
    """The model's own hidden layer, if it has one; otherwise what each reason adds to a prediction."""
    own = getattr(model, "latent", None)
    return np.asarray(own(x)) if own is not None else reasons_table(model.explain(x))


def reasons_table(reasons: Sequence[Mapping[str, float]]) -> np.ndarray:
    """Reasons as columns, 0 where one says nothing of an example, the largest first; the base is none."""
    sizes: dict[str, float] = {}
    for each in reasons:
        for name, part in each.items():
            if name.partition("[")[0] != "base":
                sizes[name] = sizes.get(name, 0.0) + part * part
    kept = sorted(sizes, key=lambda name: -sizes[name])[:MOST_REASONS]
    place = {name: column for column, name in enumerate(kept)}
    table = np.zeros((len(reasons), len(kept)))
    for row, each in enumerate(reasons):
        for name, part in each.items():
            if name in place:
                table[row, place[name]] = part
    return table


def scaled(columns: np.ndarray, size: float) -> np.ndarray:
    """Columns around their mean with a spread of `size` all together."""
    away = columns - columns.mean(axis=0)
    spread = float(np.sqrt((away**2).sum(axis=1).mean())) if away.size else 0.0
    return away * (size / spread) if spread > 0 else away
