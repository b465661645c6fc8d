"""The published data, with the counts that its README and papers name."""

from __future__ import annotations

import csv
import pickle
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sightline import registry
from sightline.errors import DataError
from sightline.expects import SKILLS, sound
from sightline.records import Answer, Image, Judgement, Prompt, PromptKey, Question, System, Truth

Run = Callable[..., list[Any]]


def kinds(records: list[Any]) -> dict[str, int]:
    return dict(Counter(type(record).__name__ for record in records))


def test_imagenhub(data: Path, run: Run) -> None:
    found = run("imagenhub", data / "imagenhub")
    # 7 systems x 97 prompts = 679 images; 679 x 3 raters = 2,037 rows of 2 questions = 4,074 votes.
    assert kinds(found) == {
        "System": 7, "Prompt": 97, "Image": 679, "Answer": 679, "Question": 2, "Judgement": 4074,
    }  # fmt: skip
    votes = [record for record in found if isinstance(record, Judgement)]
    assert {vote.value for vote in votes} == {0.0, 0.5, 1.0}
    assert Counter(vote.annotator for vote in votes) == {("imagenhub", name): 1358 for name in "123"}
    assert {question.name: question.step for question in found if isinstance(question, Question)} == {
        "semantic_consistency": 0.5,
        "perceptual_quality": 0.5,
    }
    first = next(record for record in found if isinstance(record, Prompt))
    assert first.text == "A black colored banana." and first.tags == {
        "category": "Colors",
        "source": "DrawBench",
        "skill": "compositional",
    }
    assert all(Path(image.path or "").is_file() for image in found if isinstance(image, Image))


def test_visor(data: Path, run: Run) -> None:
    found = run("visor", data / "visor")
    # 2 systems x 100 prompts x 4 samples.
    assert kinds(found) == {"Prompt": 100, "System": 2, "Image": 800, "Answer": 800}
    samples = Counter((a.system, a.prompt) for a in found if isinstance(a, Answer))
    assert len(samples) == 200 and set(samples.values()) == {4}
    first = next(record for record in found if isinstance(record, Prompt))
    assert first.tags == {"obj1": "frisbee", "relation": "to the left of", "obj2": "cake", "skill": "spatial"}
    assert first.expects["complete"] and all(each["at_least"] for each in first.expects["objects"])
    assert first.expects["relation"] == {"first": "frisbee", "where": "left of", "second": "cake"}


SUITES = {
    "drawbench": "prompt_suites/drawbench",
    "partiprompts": "prompt_suites/partiprompts",
    "t2i_compbench": "prompt_suites/t2i_compbench",
    "dsg1k": "prompt_suites/dsg1k",
    "geneval_prompts": "prompt_suites/geneval",
    "gimbrr": "gimbrr",
}


@pytest.mark.parametrize("name", SUITES)
def test_every_prompt_of_a_published_suite_has_a_skill_of_the_one_vocabulary(
    data: Path, run: Run, name: str
) -> None:
    about = registry.get("importer", name).spec.details["suite"]
    found = [record for record in run(name, data / SUITES[name]) if isinstance(record, Prompt)]
    # What `suite list` says of the number of prompts and of their skills is what the files hold.
    assert len(found) == about["prompts"]
    skills = Counter(prompt.tags.get("skill") for prompt in found)
    assert skills.pop(None, 0) == (200 if name == "gimbrr" else 0)  # img2img, which nobody judged
    assert set(skills) == set(about["skills"].values()) <= set(SKILLS)
    for prompt in found:
        assert prompt.expects is None or (sound(prompt.expects)[1] == [] and "complete" in prompt.expects)


@pytest.fixture(scope="module")
def published(data: Path, run: Run) -> list[Any]:
    return run("pqpp", data / "pqpp")


@pytest.mark.slow
def test_pqpp_prompts(published: list[Any]) -> None:
    prompts = [record for record in published if isinstance(record, Prompt)]
    assert Counter(prompt.tags["split"] for prompt in prompts) == {"train": 6000, "validation": 2000}
    assert len({prompt.key for prompt in prompts}) == 8000
    assert sum("relevant_repeated" in prompt.tags for prompt in prompts) == 372
    assert sum("own_image_missing" in prompt.tags for prompt in prompts) == 140
    # 20 captions of dataset.csv hold line ends, so that a line and a row are not the same.
    assert sum("\n" in prompt.text for prompt in prompts) == 20
    assert {(s.name, s.kind, s.collection) for s in published if isinstance(s, System)} == {
        ("sdxl", "generator", None),
        ("glide", "generator", None),
        ("clip", "retriever", "coco"),
        ("blip2", "retriever", "coco"),
    }


@pytest.mark.slow
def test_pqpp_lines_are_those_of_the_file(published: list[Any], data: Path) -> None:
    lines = (data / "pqpp" / "dataset" / "dataset.csv").read_bytes().decode().split("\n")
    for prompt in published:
        if isinstance(prompt, Prompt):
            file, _, line = prompt.at.partition(":")
            assert file == "dataset/dataset.csv" and lines[int(line) - 1].startswith(prompt.key.ref + ",")


@pytest.mark.slow
def test_pqpp_truths(published: list[Any]) -> None:
    truths = [record for record in published if isinstance(record, Truth)]
    count = Counter((truth.question, truth.item.system) for truth in truths)
    assert count.pop(("relevance", None)) > 300_000
    assert set(count.values()) == {8000} and len(count) == 9
    of_first = {
        (t.question, t.item.system): t.value
        for t in truths
        if t.item.prompt == PromptKey("pqpp", "592015") and t.question != "relevance"
    }
    assert of_first[("hbpp", "glide")] == 1.3333333333333333 and of_first[("hbpp", "sdxl")] == 2.0
    assert of_first[("p_at_10", "blip2")] == 0.2 and of_first[("rr", "clip")] == 0.125
    assert of_first[("rr", None)] == (0.25 + 0.125) / 2
    relevance = [t.item for t in truths if t.question == "relevance"]
    assert len(set(relevance)) == len(relevance), "an id listed twice is one truth"


@pytest.mark.slow
def test_pqpp_table_3_on_the_train_rows(published: list[Any]) -> None:
    from scipy.stats import pearsonr

    train = {p.key for p in published if isinstance(p, Prompt) and p.tags["split"] == "train"}
    values: dict[str, list[float]] = {"hbpp": [], "p_at_10": [], "rr": []}
    for truth in published:
        if isinstance(truth, Truth) and truth.item.system is None and truth.item.prompt in train:
            values.get(truth.question, []).append(truth.value)
    for first, second, printed in (
        ("hbpp", "p_at_10", 0.1188),
        ("hbpp", "rr", 0.0704),
        ("p_at_10", "rr", 0.5629),
    ):
        assert pearsonr(values[first], values[second])[0] == pytest.approx(printed, abs=6e-5)


def test_pqpp_with_images(data: Path, tmp_path: Path, run: Run, png: bytes) -> None:
    (tmp_path / "dataset").mkdir()
    lines = (data / "pqpp" / "dataset" / "dataset.csv").read_text("utf-8").split("\n")[:3]
    (tmp_path / "dataset" / "dataset.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "images" / "363951").mkdir(parents=True)
    for number in (4, 5, 6, 7, 8):
        (tmp_path / "images" / "363951" / f"image_{number}.png").write_bytes(png)
    found = run("pqpp", tmp_path)
    assert [(a.system, a.position, a.image and a.image.name) for a in found if isinstance(a, Answer)] == [
        ("sdxl", 0, "images/363951/image_4.png"),
        ("sdxl", 1, "images/363951/image_5.png"),
        ("glide", 0, "images/363951/image_7.png"),
        ("glide", 1, "images/363951/image_8.png"),
    ]
    photos = [i for i in found if isinstance(i, Image) and i.key.collection == "coco"]
    assert [(photo.key.name, photo.path is not None) for photo in photos] == [
        ("363951", True),
        ("568311", False),
    ]


def test_pqpp_with_a_hostile_pickle(data: Path, tmp_path: Path, run: Run) -> None:
    (tmp_path / "dataset").mkdir()
    shutil.copyfile(data / "pqpp" / "dataset" / "validation.csv", tmp_path / "dataset" / "dataset.csv")
    (tmp_path / "dataset" / "retrieval_groundtruth.pickle").write_bytes(pickle.dumps(shutil.rmtree))
    with pytest.raises(DataError, match=r"shutil\.rmtree"):
        run("pqpp", tmp_path)


def test_pqpp_cut_from_its_middle_is_refused(data: Path, tmp_path: Path, run: Run) -> None:
    # The relevance is keyed by row number: without the rows before, it would go to the wrong prompts.
    shutil.copytree(data / "pqpp" / "dataset", tmp_path / "dataset", copy_function=shutil.copyfile)
    with (data / "pqpp" / "dataset" / "dataset.csv").open(encoding="utf-8", newline="") as whole:
        rows = list(csv.reader(whole))
    with (tmp_path / "dataset" / "dataset.csv").open("w", encoding="utf-8", newline="") as part:
        csv.writer(part).writerows([rows[0], *rows[1500:2000]])
    with pytest.raises(DataError, match="lack their own photo"):
        run("pqpp", tmp_path)
