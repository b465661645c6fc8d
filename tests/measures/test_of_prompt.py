"""Measures of a prompt, against hand counts and the values published with PQPP."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from sightline.extension import NoValue
from sightline.measures.of_prompt.characters import characters
from sightline.measures.of_prompt.mean_word_length import mean_word_length
from sightline.measures.of_prompt.words import words
from sightline.records import Prompt, PromptKey
from sightline.statistics.correlation import kendall, pearson


def prompts(*texts: str) -> list[Prompt]:
    return [Prompt(PromptKey("suite", str(number)), text) for number, text in enumerate(texts)]


def test_words_are_whitespace_pieces() -> None:
    assert list(words(prompts("a cat, sleeping", "", "  one\n\ttwo  ", "state-of-the-art"))) == [3, 0, 2, 1]


def test_mean_word_length_counts_punctuation_with_its_word() -> None:
    # (1 + 4 + 8) / 3
    found = mean_word_length(prompts("a cat, sleeping", "   "))
    assert found[0] == pytest.approx(13 / 3)
    assert found[1] == NoValue("the prompt has no words")


def test_characters_do_not_depend_on_how_an_accent_is_spelled() -> None:
    assert list(characters(prompts("caf\u00e9", "cafe\u0301", " cat ", "", "\U0001f431"))) == [4, 4, 3, 0, 1]


def test_mean_word_length_is_the_published_feature(data: Path) -> None:
    """PQPP's validation rows: mean 4.3441, Pearson/tau -.0058/-.0053, -.0983/-.0636, -.0400/-.0287."""
    with (data / "pqpp" / "dataset" / "validation.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    lengths = [float(length) for length in mean_word_length(prompts(*(row["best_caption"] for row in rows)))]
    assert sum(lengths) / len(lengths) == pytest.approx(4.3441, abs=5e-5)
    published = {
        "avg_generative_score": (-0.0058, -0.0053),
        "retrieval_avg_pk": (-0.0983, -0.0636),
        "retrieval_avg_rr": (-0.0400, -0.0287),
    }
    for column, (r, tau) in published.items():
        truth = [float(row[column]) for row in rows]
        # Printed figures may be cut or rounded; tau may differ by 0.002 where truths carry float noise.
        assert pearson(lengths, truth).value == pytest.approx(r, abs=1e-4)
        assert kendall(lengths, truth).value == pytest.approx(tau, abs=2e-3)
