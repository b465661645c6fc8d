"""How well measures agree with people, where the relation is known."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image as Pillow

from sightline.comparison.measure_trust import MeasureTrust
from sightline.comparison.trust import Trust, trust
from sightline.errors import DataError, UsageError
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
from sightline.study.study import Study, create_study
from sightline.study.writing.loading import load

LEVELS = (10, 40, 90, 160, 250)


def study_with(folder: Path, *records: Record) -> Study:
    """Five prompts of 1 to 5 words, each answered by one flat picture, brighter from prompt to prompt."""
    told: list[Record] = []
    for n, level in enumerate(LEVELS):
        file = folder / f"{n}.png"
        Pillow.new("RGB", (4, 4), (level, level, level)).save(file)
        key, prompt = ImageKey("c", str(n)), PromptKey("s", str(n))
        told += [
            Prompt(prompt, " ".join(["word"] * (n + 1))),
            Image(key, str(file)),
            Answer(prompt, "a", 0, key),
        ]
    broken = folder / "broken.png"
    broken.write_bytes(b"broken")
    told += [Prompt(PromptKey("s", "x"), "x"), Image(ImageKey("c", "x"), str(broken))]
    told.append(Answer(PromptKey("s", "x"), "a", 0, ImageKey("c", "x")))
    study = create_study(folder / "study")
    load(study, [*told, *records], importer="test", path="test", digest="1", keep_broken=True)
    return study


def of_images(question: str, *values: float) -> list[Record]:
    """A truth for each picture, the last one for the picture that is broken."""
    names = [*map(str, range(len(LEVELS))), "x"]
    return [
        Truth(question, Item(PromptKey("s", name), image=ImageKey("c", name)), value)
        for name, value in zip(names, values, strict=False)
    ]


def by_measure(found: Trust) -> dict[tuple[str, str], MeasureTrust]:
    return {(each.measure, each.question): each for each in found.rows}


def test_a_monotone_relation_and_its_opposite(tmp_path: Path) -> None:
    study = study_with(
        tmp_path,
        Question("liked", "interval", 0, 100),
        Question("disliked", "interval", 0, 100, direction="lower"),
        *of_images("liked", 1, 2, 30, 40, 99, 50),
        *of_images("disliked", 5, 4, 3, 2, 1),
    )
    score(study, ["brightness", "words"])
    found = by_measure(trust(study))
    assert set(found) == {(m, q) for m in ("brightness", "words") for q in ("liked", "disliked")}
    bright = found["brightness", "liked"]
    # The broken picture has truth but no brightness: five pairs, not six, and not a zero among them.
    assert bright.correlation.value == pytest.approx(1)
    assert (bright.correlation.n, bright.kind) == (5, "of_image")
    assert found["brightness", "disliked"].correlation.value == pytest.approx(-1)
    # Prompts have 1 2 3 4 5 1 words and truths 1 2 30 40 99 50: mid-ranks 1.5 3 4 5 6 1.5 and 1 2 3 4 6 5.
    # Both means are 3.5; sum of products 1.5 + 6 + 12 + 20 + 36 + 7.5 - 6 * 3.5^2 = 9.5; sums of squares
    # 2.25 + 9 + 16 + 25 + 36 + 2.25 - 73.5 = 17 and 91 - 73.5 = 17.5; rho = 9.5 / sqrt(17 * 17.5).
    words = found["words", "liked"]
    assert words.correlation.value == pytest.approx(9.5 / 297.5**0.5)
    assert (words.correlation.n, words.kind) == (6, "of_prompt")


def test_one_question_only(tmp_path: Path) -> None:
    study = study_with(
        tmp_path,
        Question("liked"),
        Question("disliked"),
        *of_images("liked", 1, 2, 3, 4, 5),
        *of_images("disliked", 5, 4, 3, 2, 1),
    )
    score(study, "brightness")
    (found,) = trust(study, "disliked").rows
    assert found.question == "disliked" and found.correlation.value == pytest.approx(-1)
    with pytest.raises(UsageError, match="no question is called 'likd'"):
        trust(study, "likd")


def test_too_few_pairs_have_a_reason(tmp_path: Path) -> None:
    study = study_with(tmp_path, Question("liked"), *of_images("liked", 1, 2))
    score(study, "brightness")
    (found,) = trust(study).rows
    assert (found.correlation.value, found.correlation.n) == (None, 2)
    assert found.correlation.reason


@pytest.mark.parametrize("about", ["nothing", "the broken picture"])
def test_missing_pieces(tmp_path: Path, about: str) -> None:
    other = Truth("liked", Item(PromptKey("s", "x"), image=ImageKey("c", "x")), 3.0)
    study = study_with(tmp_path, Question("liked"), *([] if about == "nothing" else [other]))
    with pytest.raises(DataError, match="nothing is scored yet"):
        trust(study)
    score(study, "brightness")
    with pytest.raises(DataError, match="no measure and no truth are about the same things"):
        trust(study)


def test_rankings_are_measured_as_they_stand(tmp_path: Path) -> None:
    """Engine e finds image N of prompt N at rank 1 to 5; afterwards all of them turn out to be relevant."""
    keys = [PromptKey("s", str(n)) for n in range(5)]
    told: list[Record] = [Question("liked", "interval", 0, 9), Question("relevance", "ordinal", 0, 1, 1)]
    told.append(System("e", "retriever", "c"))
    for n, key in enumerate(keys):
        told.append(Prompt(key, f"query {n}"))
        told += [Answer(key, "e", place, ImageKey("c", f"{n}-{place}")) for place in range(5)]
        told.append(Truth("liked", Item(key, "e"), float(n)))
        told.append(Truth("relevance", Item(key, image=ImageKey("c", f"{n}-{n}")), 1.0))
    with create_study(tmp_path / "study") as study:
        load(study, told, importer="test", path="test", digest="1")
        score(study, "reciprocal_rank")
        (before,) = trust(study, "liked").rows
        assert before.correlation.value == pytest.approx(-1)
        # The first is relevant throughout, but of prompt 0 nothing else is: all ranks are 1.
        new = [
            Truth("relevance", Item(key, image=ImageKey("c", f"{n}-0")), 1.0) for n, key in enumerate(keys)
        ]
        load(study, new[1:], importer="test", path="more", digest="2")
        (after,) = trust(study, "liked").rows
        assert after.correlation.value is None


def test_scores_of_engines_are_on_scales_of_their_own(unjudged: Study) -> None:
    """nqc of steep rises with what people say of query n, that of flat falls: one number would mix them."""
    score(unjudged, "nqc@100")
    with pytest.raises(DataError, match="no measure and no truth are about the same things"):
        trust(unjudged)
    keys = [(n, engine) for n in range(8) for engine in ("steep", "flat")]
    liked = [Truth("liked", Item(PromptKey("s", str(n)), engine), float(n)) for n, engine in keys]
    load(unjudged, [Question("liked", "interval", 0, 9), *liked], importer="t", path="liked", digest="2")
    score(unjudged, ["nqc@100", "engine_overlap@2"])
    found = by_measure(trust(unjudged))
    assert found["nqc of steep", "liked"].correlation.value == pytest.approx(1)
    assert found["nqc of flat", "liked"].correlation.value == pytest.approx(-1)
    # What engines share is on one scale: one row of 16 values over 8 prompts, all of them 0.
    overlap = found["engine_overlap(k=2)", "liked"].levels["pooled"]
    assert (overlap.items, overlap.spearman.n, overlap.spearman.value) == (16, 8, None)
    assert {each.direction for each in found.values()} == {"none"} and len(found) == 3
