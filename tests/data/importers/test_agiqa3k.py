"""AGIQA-3K: the counts and means of its page, and what is refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from statistics import fmean

import pytest

from sightline.data.import_ import import_, preview, recognise
from sightline.data.imports import undo
from sightline.errors import ConflictError, DataError
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
from sightline.study.study import create_study

Run = Callable[..., list[Record]]

HEADER = "name,prompt,adj1,adj2,style,mos_quality,std_quality,mos_align,std_align\n"
SMALL = HEADER + (
    'sd1.5_lowstep_007.jpg,"a cat, soft light, anime style",soft light,,anime style,1.5,0.2,2.5,0.3\n'
    'AttnGAN_normal_007.jpg,"a cat, soft light, anime style",soft light,,anime style,0.5,0.2,0,0.3\n'
    "AttnGAN_normal_008.jpg,a dog,,,,1,0.2,5,0.3\n"
)
PARTIAL = "agiqa3k(partial=True)"


@pytest.fixture(scope="module")
def published(data: Path) -> list[Record]:
    from sightline import registry
    from sightline.data.sources import Source

    return list(registry.configure("importer", "agiqa3k").load()(Source(data / "agiqa3k")))


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "data.csv"
    path.write_text(SMALL)
    return path


def test_counts(published: list[Record], data: Path) -> None:
    kinds = Counter(type(record).__name__ for record in published)
    # 2,982 rows, each an image, an answer and two truths; ten system and setting pairs.
    assert kinds["Image"] == kinds["Answer"] == 2_982 and kinds["Truth"] == 2 * 2_982
    assert kinds["Prompt"] == 300 and kinds["System"] == 10 and kinds["Judgement"] == 0
    lengths = {prompt.key: prompt.tags["length"] for prompt in published if isinstance(prompt, Prompt)}
    answered = Counter(
        lengths[answer.prompt]
        for answer in published
        if isinstance(answer, Answer) and isinstance(answer.prompt, PromptKey)
    )
    assert answered == {"0": 594, "1": 1194, "2": 795, "3": 399}
    seen = preview(data / "agiqa3k" / "data.csv")
    assert seen.layout == "agiqa3k" and seen.counts["answers"] == 2_982


def test_means_by_system(published: list[Record]) -> None:
    quality: dict[str, list[float]] = {}
    for truth in published:
        if isinstance(truth, Truth) and truth.question == "quality":
            assert truth.item.system is not None and truth.n is None and truth.low is None
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


def test_a_small_one_in_full(table: Path, run: Run) -> None:
    found = [record._replace(at="") for record in run(PARTIAL, table.parent)]
    cat, dog = PromptKey("agiqa3k", "007"), PromptKey("agiqa3k", "008")
    assert [record for record in found if isinstance(record, Prompt)] == [
        Prompt(
            cat,
            "a cat, soft light, anime style",
            {"adj1": "soft light", "style": "anime style", "length": "2"},
        ),
        Prompt(dog, "a dog", {"length": "0"}),
    ]
    assert [record for record in found if isinstance(record, System)] == [
        System("sd1.5_lowstep"),
        System("AttnGAN_normal"),
    ]
    image = ImageKey("agiqa3k", "sd1.5_lowstep_007.jpg")
    assert next(record for record in found if isinstance(record, Answer)) == Answer(
        cat, "sd1.5_lowstep", 0, image, settings={"model": "sd1.5", "setting": "lowstep"}
    )
    subject = Item(cat, "sd1.5_lowstep", image)
    assert [record for record in found if isinstance(record, Truth)][:2] == [
        Truth("quality", subject, 1.5),
        Truth("alignment", subject, 2.5),
    ]
    assert {(q.low, q.high) for q in found if isinstance(q, Question)} == {(0.0, 5.0)}


@pytest.mark.parametrize("under", ["", "images"])
def test_images_beside_it(table: Path, run: Run, png: bytes, under: str) -> None:
    names = [line.split(",")[0] for line in SMALL.splitlines()[1:]]
    (table.parent / under).mkdir(exist_ok=True)
    for name in names[:2]:
        (table.parent / under / name).write_bytes(png)
    with pytest.raises(DataError, match="there is no image") as caught:
        run(PARTIAL, table.parent)
    assert caught.value.where == "data.csv:4"
    (table.parent / under / names[2]).write_bytes(png)
    found = [record for record in run(PARTIAL, table.parent) if isinstance(record, Image)]
    assert [image.key.name for image in found] == names and all(image.path for image in found)


def test_it_comes_in_once_and_goes_without_a_trace(table: Path, tmp_path: Path) -> None:
    with create_study(tmp_path / "study") as study:
        first = import_(study, table, options={"partial": "true"})
        assert first.layout.startswith("agiqa3k")
        assert first.number is not None
        assert import_(study, table, options={"partial": "true"}).already
        undo(study, first.number)
        assert import_(study, table, options={"partial": "true"}).counts == first.counts


def test_another_name_is_known_by_its_columns(table: Path) -> None:
    other = table.rename(table.with_name("scores.csv"))
    importer, claims = recognise(other)
    assert importer.name == "agiqa3k" and claims[0].confidence > claims[1].confidence


def test_half_of_it(table: Path, run: Run) -> None:
    with pytest.raises(DataError, match="3 rows, where AGIQA-3K has 2,982") as caught:
        run("agiqa3k", table)
    assert caught.value.where == "data.csv:4" and "partial=true" in caught.value.remedy


def test_another_data_set_under_its_name(table: Path) -> None:
    table.write_text("name,value\nx,1\n")
    with pytest.raises(DataError):
        recognise(table.parent)


@pytest.mark.parametrize(
    ("row", "what"),
    [
        ("AttnGAN_normal_007.jpg,a cat,,,,0.5,0.2,0,0.3", "is there twice"),
        ("AttnGAN-9.jpg,a cow,,,,1,0.2,1,0.3", "name must be system_setting_index.jpg"),
        ("AttnGAN_normal_009.jpg,a cow,,,,6,0.2,1,0.3", "mos_quality must be between 0 and 5"),
        ("AttnGAN_normal_009.jpg,a cow,,,,1,0.2,,0.3", "mos_align is empty"),
        ("AttnGAN_normal_009.jpg,a cow,,,,nan,0.2,1,0.3", "mos_quality must be a finite number"),
        ("AttnGAN_normal_009.jpg,a cow,,,,1,0.2,1", "8 cells where the header has 9"),
        ("../x_normal_009.jpg,a cow,,,,1,0.2,1,0.3", "leaves the folder"),
    ],
)
def test_bad_rows(table: Path, run: Run, row: str, what: str) -> None:
    table.write_text(SMALL + row + "\n")
    with pytest.raises(DataError, match=what) as caught:
        run(PARTIAL, table)
    assert caught.value.where == "data.csv:5" and caught.value.remedy


def test_one_index_with_two_prompts(table: Path, tmp_path: Path) -> None:
    table.write_text(SMALL + "glide_normal_008.jpg,a cow,,,,1,0.2,1,0.3\n")
    with create_study(tmp_path / "study") as study, pytest.raises(ConflictError) as caught:
        import_(study, table, options={"partial": "true"})
    assert caught.value.where == "data.csv:5"
