"""Learned measures as files of plain arrays, each with a card for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from sightline.arrays import content_hash, packed, save_arrays
from sightline.estimate import Estimate, format_cell
from sightline.extension import Configured
from sightline.measures.of_answer.learned import DIGITS, FOLDER, FORMAT
from sightline.records import Question
from sightline.statistics.conformal import Intervals
from sightline.version import __version__
from sightline.weights import keep_by_name

LEVELS = ("pooled", "within prompts")
Figures = Mapping[str, Mapping[str, Estimate]]
"""By what was left out together, the rank correlation at each level."""


def save_learned(
    path: Path,
    chosen: Configured,
    measures: Sequence[Configured],
    model: Any,
    intervals: Intervals,
    asked: Question,
    figures: Figures,
    about: Mapping[str, Any],
) -> str:
    """Write a model and its card; the name is that of its question and the hash of its content.

    Under this name it is also found from any folder of this machine.
    """
    description = {
        "format": FORMAT,
        "sees": "answer",
        # With every parameter spelled out: a default that changes must not change what was fitted.
        "recipe": str(chosen),
        "measures": [str(each) for each in measures],
        "question": {name: getattr(asked, name) for name in ("name", "low", "high", "direction", "wording")},
        "intervals": intervals.state(),
        "about": {
            **about,
            "figures": {
                left_out: {level: _plain(value) for level, value in levels.items()}
                for left_out, levels in figures.items()
            },
            "sightline": __version__,
            "date": datetime.now(UTC).date().isoformat(),
        },
    }
    arrays: dict[str, np.ndarray] = {}
    for name, array in model.state().items():
        arrays |= packed(f"model/{name}", np.asarray(array))
    save_arrays(path, description, arrays)
    plain = "".join(letter if letter.isalnum() else "_" for letter in asked.name)
    named = f"{plain}_{(content_hash(path) or '')[:DIGITS]}"
    keep_by_name(FOLDER, path, named)
    card = _card(named, chosen, measures, asked, figures, about)
    path.with_suffix(".card.md").write_text(card, encoding="utf-8")
    return named


def _card(
    named: str,
    chosen: Configured,
    measures: Sequence[Configured],
    asked: Question,
    figures: Figures,
    about: Mapping[str, Any],
) -> str:
    """What the model is, what it was fitted to, and all figures."""
    seen = ", ".join(["its image and its prompt", *(each.short for each in measures)])
    lines = [
        f"# Learned measure {named}",
        "",
        f"Predicts {asked.name} of an answer from {seen}.",
        f"Predictor: `{chosen.short}`.",
        f"Fitted to {about['answers']:,} answers to {about['prompts']:,} prompts by {about['systems']:,} "
        "systems; it is never given the system.",
        "",
        f"| left out together | {' | '.join(f'SRoCC, {level}' for level in LEVELS)} |",
        "|---|---|---|",
        *(
            f"| {left_out} | {' | '.join(format_cell(levels[level]) for level in LEVELS)} |"
            for left_out, levels in figures.items()
        ),
        "",
        "95 % intervals over prompts. The first row is what to expect of other systems under one model. It",
        "takes each prediction relative to what its model says on average, since models that learned without",
        "different systems expect different things; the row without this correction is the cautious one.",
        "A recipe that was chosen by these very figures flatters them. What was learned holds for prompts",
        "and images like these: compare with people again before you rely on it elsewhere.",
        "",
    ]
    return "\n".join(lines)


def _plain(value: Estimate) -> dict[str, float | int | None]:
    return {name: getattr(value, name) for name in ("value", "low", "high", "n")}
