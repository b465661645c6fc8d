"""Scales of difficulty: questions by the kind of system they are about, measures, and what is no scale."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PIL import Image as Pillow

from sightline.errors import UsageError
from sightline.measures.score import score
from sightline.records import (
    Answer,
    Image,
    ImageKey,
    Item,
    Prompt,
    PromptKey,
    Question,
    Record,
    System,
    Truth,
)
from sightline.report.difficulty_scales import both_kinds, difficulty
from sightline.study.study import Study, create_study
from sightline.study.writing.loading import load

N = 12


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Study]:
    """A painter with truths, and an engine whose first answer is relevant to every third prompt."""
    folder = tmp_path_factory.mktemp("searched")
    some: list[Record] = [
        Question("fit", "interval", 0.0, 1.0),
        Question("flaws", "interval", 0.0, 1.0, direction="lower"),
        Question("style", "interval", 0.0, 1.0, direction="none"),
        Question("relevance", "ordinal", 0.0, 1.0, 1.0),
        System("painter"),
        System("engine", "retriever", "photos"),
    ]
    for n in range(N):
        key = PromptKey("s", str(n))
        some.append(Prompt(key, f"prompt {n}"))
        for name in (f"{n}-a", f"{n}-b"):
            Pillow.new("RGB", (8, 8), (20 * n, len(name), 200 if "a" in name else 20)).save(
                folder / f"{name}.png"
            )
            some.append(Image(ImageKey("photos", name), str(folder / f"{name}.png")))
        for place, name in enumerate((f"{n}-a", f"{n}-b")):
            some.append(Answer(key, "engine", place, ImageKey("photos", name), score=1.0 - place))
            worth = float((n % 3 == 0) == (place == 0))
            some.append(Truth("relevance", Item(key, image=ImageKey("photos", name)), worth))
        some += [Truth(asked, Item(key, "painter"), n / N) for asked in ("fit", "flaws", "style")]
    with create_study(folder / "study") as study:
        load(study, some, importer="test", path="test", digest="1")
        score(study, "reciprocal_rank")
        yield study


def test_a_measure_of_rankings_stands_for_retrieval(searched: Study) -> None:
    first, second = both_kinds(searched) or ("", "")
    assert first == "fit" and second.startswith("reciprocal_rank")
    found = difficulty(searched, second)
    # Relevant at the first place for every third prompt, else at the second: RR is 1 or 1/2.
    assert sorted(found.values.values()) == [0.5] * 8 + [1.0] * 4
    assert (found.word, found.scale.direction, found.scale.domain) == ("to retrieve", "higher", (0.0, 1.0))


def test_a_question_about_generators_is_hard_to_generate(searched: Study) -> None:
    found = difficulty(searched, "flaws")
    assert (found.word, found.scale.direction) == ("to generate", "lower")
    assert sorted(found.values.values()) == [n / N for n in range(N)]


def test_what_has_no_better_end_is_no_difficulty(searched: Study) -> None:
    with pytest.raises(UsageError, match="style has no direction"):
        difficulty(searched, "style")
    with pytest.raises(UsageError):
        difficulty(searched, "no such thing")
