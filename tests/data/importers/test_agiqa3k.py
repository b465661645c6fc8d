"""AGIQA-3K: the counts and means of its page, and what is refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from sightline.data.import_ import import_, recognise
from sightline.errors import ConflictError, DataError
from sightline.records import Answer, Image, ImageKey, Item, Prompt, PromptKey, Question, System, Truth
from sightline.study.study import create_study

Run = Callable[..., list[Any]]
Example = Callable[..., Path]

HEADER = "name,prompt,adj1,adj2,style,mos_quality,mos_align\n"
PARTIAL = "agiqa3k(partial=True)"


@pytest.fixture(scope="module")
def published(data: Path, run: Run) -> list[Any]:
    return run("agiqa3k", data / "agiqa3k")


def test_counts(published: list[Any], data: Path) -> None:
    kinds = Counter(type(record).__name__ for record in published)
    # 2,982 rows, each an image, an answer and two truths; ten system and setting pairs.
    assert kinds["Image"] == kinds["Answer"] == 2_982 and kinds["Truth"] == 2 * 2_982
    assert kinds["Prompt"] == 300 and kinds["System"] == 10 and kinds["Judgement"] == 0
    lengths = {prompt.key: prompt.tags["length"] for prompt in published if isinstance(prompt, Prompt)}
    answered = Counter(lengths[answer.prompt] for answer in published if isinstance(answer, Answer))
    assert answered == {"0": 594, "1": 1194, "2": 795, "3": 399}
    assert recognise(data / "agiqa3k" / "data.csv")[0].name == "agiqa3k"


def test_means_by_system(published: list[Any]) -> None:
    quality: dict[str, list[float]] = {}
    for truth in published:
        if isinstance(truth, Truth) and truth.question == "quality":
            assert truth.item.system is not None and truth.n == 21
            assert truth.low is not None and truth.high is not None
            assert 0 <= truth.low <= truth.value <= truth.high <= 5
            quality.setdefault(truth.item.system, []).append(truth.value)
    printed = {
        "AttnGAN_normal": 0.9863,
        "glide_normal": 1.0924,
        "DALLE2_normal": 2.6243,
        "sd1.5_normal": 2.8274,
        "xl2.2_normal": 3.2982,
        "midjourney_normal": 3.6260,
        "midjourney_lowstep": 2.3873,
    }
    assert {system: round(fmean(quality[system]), 4) for system in printed} == printed


def test_the_example_in_full(example: Example, run: Run) -> None:
    cat, dog = PromptKey("agiqa3k", "007"), PromptKey("agiqa3k", "008")
    image, system = ImageKey("agiqa3k", "sd1.5_lowstep_007.jpg"), "sd1.5_lowstep"
    records = [record._replace(at="") for record in run(PARTIAL, example("agiqa3k"))]
    tags = {"adj1": "soft light", "style": "anime style", "length": "2"}
    assert records[2:8] == [
        System(system),
        Prompt(cat, "a cat, soft light, anime style", tags),
        Image(image),
        Answer(cat, system, 0, image, settings={"model": "sd1.5", "setting": "lowstep"}),
        Truth("quality", Item(cat, system, image), 1.5),
        Truth("alignment", Item(cat, system, image), 2.5),
    ]
    assert [p for p in records if isinstance(p, Prompt)][1:] == [Prompt(dog, "a dog", {"length": "0"})]
    assert {(q.low, q.high) for q in records if isinstance(q, Question)} == {(0.0, 5.0)}


@pytest.mark.parametrize("under", ["", "images"])
def test_images_next_to_it(example: Example, run: Run, png: bytes, under: str) -> None:
    table = example("agiqa3k")
    names = [line.split(",")[0] for line in table.read_text().splitlines()[1:]]
    (table.parent / under).mkdir(exist_ok=True)
    for name in names[:2]:
        (table.parent / under / name).write_bytes(png)
    with pytest.raises(DataError, match="there is no image") as caught:
        run(PARTIAL, table.parent)
    assert caught.value.where == "data.csv:4"
    (table.parent / under / names[2]).write_bytes(png)
    images = run(PARTIAL, table.parent, Image)
    assert [image.key.name for image in images] == names and all(image.path for image in images)


def test_another_name_is_known_by_its_columns(example: Example) -> None:
    table = example("agiqa3k")
    importer, claims = recognise(table.rename(table.with_name("scores.csv")))
    assert importer.name == "agiqa3k" and claims[0].confidence > claims[1].confidence


def test_half_of_it(example: Example, run: Run) -> None:
    with pytest.raises(DataError, match="3 rows, where AGIQA-3K has 2,982") as caught:
        run("agiqa3k", example("agiqa3k"))
    assert caught.value.where == "data.csv:4" and "partial=true" in caught.value.remedy


def test_another_data_set_under_its_name(example: Example) -> None:
    with pytest.raises(DataError):
        recognise(example("agiqa3k", {"data.csv": "name,value\nx,1\n"}).parent)


@pytest.mark.parametrize(
    ("row", "what"),
    [
        ("AttnGAN_normal_007.jpg,a cat,,,,0.5,0", "is there twice"),
        ("AttnGAN-9.jpg,a cow,,,,1,1", "name must be system_setting_index.jpg"),
        ("AttnGAN_normal_009.jpg,a cow,,,,6,1", "mos_quality must be between 0 and 5"),
        ("AttnGAN_normal_009.jpg,a cow,,,,1,", "mos_align is empty"),
        ("AttnGAN_normal_009.jpg,a cow,,,,nan,1", "mos_quality must be a finite number"),
        ("AttnGAN_normal_009.jpg,a cow,,,,1", "6 cells where the header has 7"),
        ("../x_normal_009.jpg,a cow,,,,1,1", "leaves the folder"),
    ],
)
def test_bad_rows(refuses: Callable[..., None], row: str, what: str) -> None:
    good = "AttnGAN_normal_007.jpg,a cat,,,,0.5,0\n"
    refuses(PARTIAL, {"data.csv": f"{HEADER}{good}{row}\n"}, "data.csv:3", what)


def test_one_index_with_two_prompts(example: Example, tmp_path: Path) -> None:
    rows = "glide_normal_008.jpg,a cow,,,,1,1\nglide_lowstep_008.jpg,a dog,,,,1,1\n"
    table = example("agiqa3k", {"data.csv": HEADER + rows})
    with create_study(tmp_path / "study") as study, pytest.raises(ConflictError) as caught:
        import_(study, table, options={"partial": "true"})
    assert caught.value.where == "data.csv:3"
