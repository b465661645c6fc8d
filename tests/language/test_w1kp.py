"""All features together: names, groups, gaps and their reasons, and a prompt worked by hand."""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from sightline.errors import DataError
from sightline.language.vectors import Glove
from sightline.language.w1kp import FEATURES, Sources, catalogue, extract

NOTHING = Sources(*[f"no {field.name}" for field in dataclasses.fields(Sources)])
TEXTS = ["the cat saw the cat, 8k, digital art", "mat, 8k", "", "42"]


def lengths(texts: Sequence[str]) -> np.ndarray:
    return np.array([float(len(text)) for text in texts])


@pytest.fixture
def sources(tmp_path: Path) -> Sources:
    (tmp_path / "glove.txt").write_text("the 1 0\ncat 0 2\nart 3 0\n")
    return dataclasses.replace(
        NOTHING,
        concreteness={"cat": 5.0, "art": 2.0},
        dictionary={"the", "cat", "saw", "art", "mat"},
        zipf=lambda word: {"the": 8.0, "cat": 5.0}.get(word, 0.0),
        glove=Glove(tmp_path / "glove.txt"),
        clip=lengths,
    )


def test_all_56_and_the_share() -> None:
    listed = catalogue([f"k{n}" for n in range(20)])
    assert Counter(each.group for each in listed) == {
        "syntax": 24, "keywords": 20, "word order": 3, "psycholinguistics": 4, "semantic relations": 3,
        "embedding norm": 2, "keyword share": 1,
    }  # fmt: skip
    assert len({each.name for each in listed}) == 57 and all(each.definition for each in listed)
    assert {each.name for each in FEATURES} == {each.name for each in catalogue([])}


def test_a_prompt_by_hand(sources: Sources) -> None:
    """the cat saw the cat, 8k, digital art: 8 words with a letter, 6 distinct of which 4 occur once."""
    found = {name: values[0] for name, values in extract(TEXTS, sources=sources).columns.items()}
    assert found["concreteness"] == (5 + 5 + 2) / 3
    assert found["honore"] == pytest.approx(100 * math.log(8) / (1 - 4 / 6))
    assert found["out_of_dictionary"] == 2 / 8  # 8k, digital
    assert found["word_frequency"] == (8 + 5 + 8 + 5) / 4
    assert found["glove_norm"] == (1 + 4 + 1 + 4 + 9) / 5
    assert found["clip_norm"] == len(TEXTS[0])
    assert found["keyword_share"] == 3 / 8
    assert found["keyword:8k"] == found["keyword:digital art"] == 1


def test_gaps_are_nan_with_a_reason(sources: Sources) -> None:
    found = extract(TEXTS, sources=sources)
    assert found.keywords == ("8k", "digital art")
    assert list(found.columns) == [each.name for each in found.catalogue]
    assert found.missing["words"] == found.missing["adjective_noun"] == {"no parser": 4}
    assert found.missing["senses"] == {"no wordnet": 4}
    # mat and 8k are not rated; "" and "42" have no word.
    assert found.missing["concreteness"] == {"the prompt has no word": 2, "no word is rated": 1}
    assert found.missing["honore"] == {"the prompt has no word": 2, "every word occurs once": 1}
    assert found.missing["keyword_share"] == {"the prompt has no word": 1}
    assert "keyword:8k" not in found.missing
    for name, values in found.columns.items():
        assert np.isnan(values).sum() == sum(found.missing.get(name, {}).values())
    assert np.isnan(found.columns["concreteness"]).mean() == 3 / 4


def test_given_keywords(sources: Sources) -> None:
    found = extract(TEXTS, sources=sources, keywords=["Digital Art", "4k"]).columns
    assert found["keyword:Digital Art"].tolist() == [1, 0, 0, 0]
    assert found["keyword:4k"].tolist() == [0, 0, 0, 0]
    none = extract([], sources=sources)
    assert all(values.shape == (0,) for values in none.columns.values()) and not none.missing


def test_an_encoder_must_give_one_length_per_text(sources: Sources) -> None:
    with pytest.raises(ValueError, match="one length per text"):
        extract(TEXTS, sources=dataclasses.replace(sources, clip=lambda texts: np.ones((4, 2))))


def test_a_wrong_path_is_an_error_and_not_a_reason(tmp_path: Path) -> None:
    for source in ("concreteness", "glove"):
        with pytest.raises(DataError):
            Sources.find(**{source: tmp_path / "absent.txt"})


def test_what_this_machine_has(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is installed, every column is there, and each gap has a reason."""
    monkeypatch.delenv("SIGHTLINE_CONCRETENESS", raising=False)
    found = extract(["a red cat sleeps quietly on a mat", "two dogs, 8k"])
    assert found.missing["concreteness"] == {
        "no concreteness ratings are named (SIGHTLINE_CONCRETENESS=FILE)": 2
    }
    assert found.missing["clip_norm"] == {"no CLIP encoder was asked for": 2}
    for name, values in found.columns.items():
        assert np.isnan(values).sum() == sum(found.missing.get(name, {}).values())
    if not isinstance(Sources.find().parser, str):
        assert found.columns["words"].tolist() == [8, 3]
        assert found.columns["adjective_noun"].tolist() == [1, 0]
    ratings = data / "concreteness" / "Concreteness_ratings_Brysbaert_et_al_BRM.txt"
    rated = Sources.find(concreteness=ratings)
    assert "concreteness" not in extract(["a red cat"], sources=rated).missing
