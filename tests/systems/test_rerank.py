"""Re-ranking by a measure that looks at the pictures: order, cache, and what has no value."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from studies import put, rankings

import sightline
from sightline.errors import DataError, UsageError
from sightline.records import Answer, ImageKey, PromptKey, System
from sightline.study.study import Study
from sightline.systems.rerank import rerank

MEASURE = '''
from sightline.extension import NoValue, measure

@measure.of_answer(direction="{direction}", source="me", licence="MIT")
def blueness(prompts, images, *, log: str = ""):
    """Mean blue; a green image has no value. `log` counts what was looked at."""
    if log:
        with open(log, "a") as file:
            file.write("x" * len(images))
    return [
        NoValue("it is green") if image.rgb[0, 0, 1] else float(image.rgb[..., 2].mean()) for image in images
    ]
'''
ORDER = ["rose", "leaf", "grape", "sea"]


@pytest.fixture
def study(painted: Study) -> Study:
    records = [System("first", "retriever", "paints")]
    for place, name in enumerate(ORDER):
        records.append(  # type: ignore[arg-type]
            Answer(PromptKey("suite", "b"), "first", place, ImageKey("paints", name), 1.0 - place / 10)
        )
    put(painted, records, "run")
    return painted


def measure(tmp_path: Path, direction: str = "higher") -> None:
    (tmp_path / "plugins" / "blueness.py").write_text(MEASURE.format(direction=direction))


def test_the_first_ones_in_the_order_of_the_measure(study: Study, tmp_path: Path) -> None:
    measure(tmp_path)
    done = rerank(study, "closer", "first", "blueness", first=3)
    # Blue: grape 255, rose 0; leaf has no value and comes behind them, sea was not looked at.
    assert rankings(study, "closer")["b"] == [("grape", 255.0), ("rose", 0.0), ("leaf", -1.0), ("sea", -2.0)]
    assert (done.prompts, done.answers, done.computed, done.without) == (1, 4, 3, {"it is green": 1})


def test_a_measure_whose_low_end_is_good(study: Study, tmp_path: Path) -> None:
    measure(tmp_path, "lower")
    rerank(study, "closer", "first", "blueness")
    # Equal values keep the engine's order: grape stood before sea.
    assert rankings(study, "closer")["b"] == [
        ("rose", 0.0),
        ("grape", -255.0),
        ("sea", -255.0),
        ("leaf", -256.0),
    ]


def test_what_score_knows_is_not_computed_again(study: Study, tmp_path: Path) -> None:
    measure(tmp_path)
    log = tmp_path / "calls"
    counted = f"blueness(log={str(log)!r})"
    assert rerank(study, "closer", "first", counted, first=2).computed == 2
    assert rerank(study, "again", "first", counted, first=4).computed == 2
    sightline.score(study, counted)
    assert rerank(study, "third", "first", counted).computed == 0
    assert log.read_text() == "x" * 4
    assert rerank(study, "third", "first", counted).already


@pytest.mark.parametrize(
    ("told", "error", "said"),
    [
        ({"measure": "sharpness"}, UsageError, "of image, not of an answer"),
        ({"measure": "bluness"}, UsageError, "Did you mean blueness"),
        ({"of": "frist"}, UsageError, "Did you mean first"),
        ({"first": 0}, UsageError, "1 answer or more"),
        ({"system": "first"}, UsageError, "replace its own answers"),
        ({"system": ""}, UsageError, "needs a name"),
    ],
)
def test_wrong_calls_are_refused(
    study: Study, tmp_path: Path, told: dict[str, object], error: type[Exception], said: str
) -> None:
    measure(tmp_path)
    call = {"system": "closer", "of": "first", "measure": "blueness", **told}
    with pytest.raises(error, match=said):
        rerank(study, **call)  # type: ignore[arg-type]


def test_a_measure_without_a_good_end_is_refused(study: Study, tmp_path: Path) -> None:
    measure(tmp_path, "none")
    with pytest.raises(UsageError, match="no direction"):
        rerank(study, "closer", "first", "blueness")


def test_images_without_files_cannot_be_looked_at(study: Study, tmp_path: Path) -> None:
    measure(tmp_path)
    answer = Answer(PromptKey("suite", "b"), "names", 0, ImageKey("far", "x"), 1.0)
    put(study, [System("names", "retriever", "far"), answer], "far")
    with pytest.raises(DataError, match="none of the images that names answered with"):
        rerank(study, "closer", "names", "blueness")


def test_blip2_reranks_what_a_faster_engine_found(
    study: Study, small_checkpoint: Callable[[str], Path]
) -> None:
    """As in ConQA: the first images in the order of BLIP-2's matching head, by the library's own numbers."""
    import torch
    from PIL import Image
    from transformers import AutoProcessor, Blip2ForImageTextRetrieval

    from sightline.checkpoints import content_hash
    from sightline.study import reading

    folder = small_checkpoint("blip2_itm")
    named = f"blip_itm(model={str(folder)!r}, sha256={content_hash(folder)!r})"
    done = rerank(study, "matched", "first", named, first=128)
    assert (done.computed, done.without) == (4, {})
    model = Blip2ForImageTextRetrieval.from_pretrained(folder).eval()
    processor = AutoProcessor.from_pretrained(folder)
    texts = {row["ref"]: row["text"] for row in reading.prompts(study).iter_rows(named=True)}
    shown = {row["name"]: row["sha256"] for row in reading.images(study).iter_rows(named=True)}
    chances = {}
    for name in ORDER:
        image = Image.fromarray(study.files.picture(shown[name]).rgb)
        inputs = processor(images=image, text=[texts["b"]], return_tensors="pt")
        with torch.no_grad():
            logits = model(**inputs, use_image_text_matching_head=True).logits_per_image
        chances[name] = float(logits.softmax(dim=1)[0, 1])
    found = rankings(study, "matched")["b"]
    assert [name for name, _ in found] == sorted(ORDER, key=lambda name: -chances[name])
    assert dict(found) == pytest.approx(chances, abs=1e-4)
    assert rerank(study, "again", "first", named).computed == 0
