"""GIMBRR: the counts, rates and faults of its page; image folders; what is refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from sightline.data.import_ import import_, recognise
from sightline.errors import DataError
from sightline.judging.truth import truth
from sightline.records import Answer, Image, ImageKey, Item, Judgement, Prompt, PromptKey, System
from sightline.study import reading, rollup
from sightline.study.study import create_study

Run = Callable[..., list[Any]]
Example = Callable[..., Path]
AGAIN = "images judged again with another verdict (both are kept; the latest counts)"
DIRECTORY, EXTRA, VERDICTS = "Prompt_dir_1.csv", "Prompt_dir_1_extraVars.csv", "annotations_df_1.csv"


@pytest.fixture(scope="module")
def published(data: Path, run: Run) -> list[Any]:
    return run("gimbrr", data / "gimbrr")


def prompts(records: list[Any]) -> dict[str, Prompt]:
    return {record.key.ref: record for record in records if isinstance(record, Prompt)}


def verdicts(records: list[Any]) -> list[Any]:
    return [record for record in records if isinstance(record, Judgement)]


def test_the_directory(published: list[Any]) -> None:
    found = prompts(published)
    tasks = Counter(prompt.tags["task"] for prompt in found.values())
    assert len(found) == 2_302 and tasks.pop("Single object") == 502
    # Eleven tasks, five controlled sets and two img2img tasks of 100 prompts each.
    assert len(tasks) == 11 + 5 + 2 and set(tasks.values()) == {100}
    checkable = Counter(
        p.tags["auto_assessment"] for p in found.values() if p.tags["task"] == "Conditional generation"
    )
    assert checkable["True"] == 63
    # 601 prompts with one link, 781 with two, 84 with three, 34 with four.
    assert Counter(len(p.links) for p in found.values()) == {0: 802, 1: 601, 2: 781, 3: 84, 4: 34}
    singles = {key for key, p in found.items() if p.tags["task"] == "Single object"}
    assert all(kind == "builds_on" and to.ref in singles for p in found.values() for kind, to in p.links)
    multiple = [p for p in found.values() if p.tags["task"] == "Multiple objects"]
    assert Counter(p.tags["common"] for p in multiple) == {"True": 50, "False": 50}
    assert Counter(p.tags["num_objects"] for p in multiple) == {"2": 33, "3": 33, "4": 34}


def test_verdicts_and_their_traps(published: list[Any]) -> None:
    given = verdicts(published)
    # 4 systems x 2,102 prompts; the sixteen that are doubled stand in the place of sixteen that are missing.
    assert len(given) == 8_408 and {verdict.annotator for verdict in given} == {None}
    assert sum(isinstance(record, Answer) for record in published) == 8_408 - 16
    again = [verdict for verdict in given if verdict.repetition]
    first = {verdict.item: verdict.value for verdict in given if not verdict.repetition}
    assert len(again) == 16 and {verdict.item.system for verdict in again} == {"SD1.5"}
    assert sum(first[verdict.item] != verdict.value for verdict in again) == 5
    judged: dict[str, set[str]] = {system: set() for system in ("Dalle", "MJ", "SD2.1", "SD1.5")}
    for verdict in given:
        judged[verdict.item.system].add(verdict.item.prompt.ref)
    assert {system: len(refs) for system, refs in judged.items()} == {
        "Dalle": 2_102, "MJ": 2_102, "SD2.1": 2_102, "SD1.5": 2_086,
    }  # fmt: skip
    never = prompts(published).keys() - judged["Dalle"]
    assert {prompts(published)[each].tags["task"].split(":")[0] for each in never} == {"img2img"}
    other = [prompt for prompt in prompts(published).values() if "judged_text" in prompt.tags]
    assert len(other) == 98 and sum(int(prompt.tags["judged_text_rows"]) for prompt in other) == 392
    assert prompts(published)["1435"].text == "four oranges and twelve apples"
    assert prompts(published)["1435"].tags["judged_text"] == "three oranges and six apples"


def test_skills_and_what_is_complete(published: list[Any]) -> None:
    found = [p for p in prompts(published).values() if not p.tags["task"].startswith("img2img")]
    skills = Counter(p.tags["skill"] for p in found)
    # 100 prompts a task; single objects have 502 besides 100 controlled ones, counting two controlled sets.
    assert len(skills) == 12 and skills["single_object"] == 602 and skills["counting"] == 300
    complete = Counter(p.tags["skill"] for p in found if p.expects["complete"])
    # The directory itself says that 63 conditions can be checked; the form has no actions and no parts.
    assert complete["conditional"] == 63 and complete["counting"] == 300 and complete["spatial"] == 100
    assert {"directed_actions", "unusual_arrangements", "chimeras", "compositional"}.isdisjoint(complete)
    (saddle,) = (p for p in found if p.text == "A horse with a yellow saddle")
    assert saddle.expects["objects"][0]["attributes"] == ["yellow saddle"]


def test_what_cannot_be_read_is_counted_and_the_rest_goes_on(
    example: Example, run: Run, left_out: Callable[..., Any]
) -> None:
    folder = example("gimbrr")
    directory = (folder / DIRECTORY).read_text().replace('"3,6"', '"3,several"')
    directory += ",,a dog without id,dog,True,Single object,,,\n"
    (folder / DIRECTORY).write_text(directory)
    with (folder / VERDICTS).open("a") as file:
        file.write("p1_1_v9.png,True,MJ,1,a park without dogs\np1_1_v0.png,True,MJ,,no id\n")
    assert len(run("gimbrr", folder, Prompt)) == 5 and len(verdicts(run("gimbrr", folder))) == 5
    counted = prompts(run("gimbrr", folder))["2"].expects or {}
    assert [each["at_least"] for each in counted["objects"]] == [True, True] and not counted["complete"]
    left = left_out("gimbrr", folder)
    assert left["rows without an ID"] == [f"{DIRECTORY}:7", f"{VERDICTS}:8"]
    assert left["verdicts on a second image of one ID and number"] == [f"{VERDICTS}:7 (p1_1_v9.png)"]
    assert [each for reason, each in left.items() if reason.startswith("counts that are no number")] == [
        [f"{DIRECTORY}:3 ('3,several')"]
    ]


def test_match_rates(published: list[Any]) -> None:
    tasks = {key: prompt.tags["task"] for key, prompt in prompts(published).items()}
    counted = [v for v in verdicts(published) if not tasks[v.item.prompt.ref].startswith("Controlled")]
    rates = {}
    for system in ("Dalle", "MJ", "SD2.1", "SD1.5"):
        values = [verdict.value for verdict in counted if verdict.item.system == system]
        assert len(values) == 1_602
        rates[system] = round(100 * sum(value == 1 for value in values) / len(values), 4)
    assert rates == {"Dalle": 54.7441, "MJ": 46.4419, "SD2.1": 34.3321, "SD1.5": 35.0811}
    latest = {v.item: v.value for v in counted if v.item.system == "SD1.5"}
    assert round(100 * sum(value == 1 for value in latest.values()) / len(latest), 2) == 34.74


def test_the_example_in_full(example: Example, run: Run) -> None:
    found = [record._replace(at="") for record in run("gimbrr", example("gimbrr"))]
    read = prompts(found)
    assert read["1"].tags == {
        "task": "Negation", "auto_assessment": "True", "representations": "park", "label": "dog",
        "object_num": "1", "extra_characteristic": "False", "skill": "negation",
    }  # fmt: skip
    assert read["2"].tags["judged_text"] == "two cats and four dogs"
    assert read["2"].tags["judged_text_rows"] == "2" and read["2"].tags["num_objects"] == "2"
    assert read["2"].links == [("builds_on", PromptKey("gimbrr", each)) for each in "45"]
    expects = {key: prompt.expects or {} for key, prompt in read.items()}
    assert [(each["kind"], each["count"]) for each in expects["2"]["objects"]] == [("cat", 3), ("dog", 6)]
    assert not any(each["at_least"] for each in expects["2"]["objects"])
    assert [(each["kind"], each["count"]) for each in expects["4"]["objects"]] == [("cat", 1)]
    assert expects["4"]["objects"][0]["at_least"] is True
    assert all(each["complete"] for each in expects.values())
    assert expects["1"]["absent"] == ["dog"] and expects["5"]["text"] == "dog"
    assert expects["3"]["relation"] == {"first": "cat", "where": "on top of", "second": "dog"}
    assert [record for record in found if isinstance(record, System)] == [System("Dalle"), System("MJ")]
    park = PromptKey("gimbrr", "1")
    image = ImageKey("gimbrr", "MJ/p1_1_v0.png")
    assert [a for a in found if isinstance(a, Answer)][-1] == Answer(park, "MJ", 0, image)
    subject = Item(park, "MJ", image)
    assert verdicts(found)[-2:] == [
        Judgement("match", subject, 0.0),
        Judgement("match", subject, 1.0, repetition=1),
    ]


def test_the_directory_alone(example: Example, run: Run, left_out: Callable[..., Any]) -> None:
    folder = example("gimbrr", {VERDICTS: None, EXTRA: None})
    assert len(run("gimbrr", folder / DIRECTORY)) == len(run("gimbrr", folder, Prompt)) == 5
    assert left_out("gimbrr", folder) == {"files of GIMBRR that are not here": ["annotations_df_*.csv"]}


def test_images_in_folders_with_the_directory(
    example: Example, run: Run, left_out: Callable[..., Any]
) -> None:
    names = ["Dalle/p1_1_v0.png", "new/p4_2.png", "new/p77_1.png", "new/cat.png", "new/p4_0.png"]
    folder = example("gimbrr", dict.fromkeys(names, "red"))
    answers = [(a.system, a.position, a.image.name) for a in run("gimbrr", folder, Answer)]
    assert ("new", 1, "new/p4_2.png") in answers
    paths = {image.key.name: image.path for image in run("gimbrr", folder, Image) if image.path}
    assert paths == {name: str(folder / name) for name in names[:2]}
    assert left_out("gimbrr", folder) == {
        "images of prompts that the directory does not hold": ["new/p77_1.png"],
        "images not called p<ID>_<n>, with n from 1": ["new/cat.png", "new/p4_0.png"],
        "columns not taken (keep one as a tag with --column tags.NAME=THEIRS)": ["Unnamed: 0"],
        AGAIN: ["annotations_df_1.csv:6 (p1_1_v0.png)"],
    }


def test_images_that_arrive_later(example: Example, tmp_path: Path, png: bytes) -> None:
    pictures = tmp_path / "pictures"
    for name in ("Dalle/p1_1_v0.png", "Dalle/p3_1_v0.png", "Dalle/notes.png", "other/p5_12_x.jpg"):
        (pictures / name).parent.mkdir(parents=True, exist_ok=True)
        (pictures / name).write_bytes(png)
    assert recognise(pictures)[0].name == "gimbrr_images"
    with create_study(tmp_path / "study") as study:
        with pytest.raises(DataError, match=r"no image could be matched.*p1_1_v0.png \(1\)"):
            import_(study, pictures)
        import_(study, example("gimbrr"))
        added = import_(study, pictures)
        # Dalle's p1 is known from the verdicts and only gets its bytes.
        assert added.counts == {"answers": 2, "images": 2, "systems": 1}
        assert [(each.count, each.examples) for each in added.skipped] == [(1, ["Dalle/notes.png"])]


def test_images_at_the_top(tmp_path: Path, run: Run, png: bytes) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    for name in ("p7_1.png", "p7_2.png"):
        (folder / name).write_bytes(png)
    assert [(a.system, a.prompt, a.position) for a in run("gimbrr_images", folder, Answer)] == [
        ("mine", PromptKey("gimbrr", "7"), position) for position in (0, 1)
    ]
    assert {a.system for a in run("gimbrr_images(system='x')", folder, Answer)} == {"x"}
    other = tmp_path / "other"
    other.mkdir()
    (other / "cat.png").write_bytes(png)
    with pytest.raises(DataError, match="no image is called p<ID>_<n>"):
        run("gimbrr_images", other)


def test_what_mentions_a_prompt_that_lost_its_id_is_counted_and_the_rest_goes_on(
    example: Example, run: Run, left_out: Callable[..., Any]
) -> None:
    folder = example("gimbrr")
    for file, old in ((DIRECTORY, "\n3,4,cat"), (DIRECTORY, "\n1,2,"), (EXTRA, "\n2,3,,")):
        lost = f"{old[:3]},{old.split(',', 2)[2]}"
        (folder / file).write_text((folder / file).read_text().replace(old, lost))
    kept = prompts(run("gimbrr", folder))
    assert kept.keys() == {"1", "3", "5"} and kept["1"].tags["object_num"] == "1"
    assert [key.ref for _, key in kept["3"].links] == ["5"] and "num_features" not in kept["3"].tags
    assert len(verdicts(run("gimbrr", folder))) == 3, "those of prompt 1"
    left = left_out("gimbrr", folder)
    assert left["rows without an ID"] == [f"{EXTRA}:4", f"{DIRECTORY}:3", f"{DIRECTORY}:5"]
    (mentions,) = (each for reason, each in left.items() if reason.startswith("mentions of prompts"))
    assert mentions == [
        f"{DIRECTORY}:2 (4)", f"{DIRECTORY}:4 (4)", f"{EXTRA} (2)", f"{EXTRA} (4)", f"{VERDICTS}:3 (2)",
    ], "the first five"  # fmt: skip


@pytest.mark.parametrize(
    ("file", "old", "new", "where", "what"),
    [
        (DIRECTORY, "3,4,cat,cat,True,Single object,,,\n", "", EXTRA, "prompt 4 is not in Prompt_dir_1.csv"),
        (DIRECTORY, "3,4,", "3,4,cat,cat,True,Single object,,,\n3,4,", f"{DIRECTORY}:6", "4 is there twice"),
        (DIRECTORY, ",,4\n", ",,four\n", f"{DIRECTORY}:2", "Linked_prompts must be ids"),
        (DIRECTORY, ",", ";", f"{DIRECTORY}:1", "a semicolon between the cells"),
        (EXTRA, "3,4,,cat,,,,,\n", "", f"{DIRECTORY}:5", "prompt 4 is not in Prompt_dir_1_extraVars.csv"),
        (EXTRA, "cat on top", "cow on top", f"{DIRECTORY}:4", "prompt 3 reads otherwise"),
    ],
)
def test_files_that_do_not_belong_together(
    example: Example, refuses: Callable[..., None], file: str, old: str, new: str, where: str, what: str
) -> None:
    refuses("gimbrr", {file: (example("gimbrr") / file).read_text().replace(old, new)}, where, what)


@pytest.mark.parametrize(
    ("row", "what"),
    [
        ("p9_1.png,True,MJ,9,a cow", "prompt 9 is not in the prompt directory"),
        ("p3_1.png,,MJ,3,x", "annotation is empty"),
        ("p3_1.png,perhaps,MJ,3,x", "annotation must be yes or no"),
        ("p3_1.png,True,MJ,4,cat", "File_name must be p4_<n>"),
    ],
)
def test_bad_verdicts(example: Example, refuses: Callable[..., None], row: str, what: str) -> None:
    rows = (example("gimbrr") / VERDICTS).read_text()
    refuses("gimbrr", {VERDICTS: f"{rows}{row}\n"}, f"{VERDICTS}:7", what)


@pytest.mark.parametrize(
    ("changed", "where", "what"),
    [
        ({DIRECTORY: None, EXTRA: None}, VERDICTS, "the prompt directory is missing"),
        ({DIRECTORY: "prompt,image\na,b\n"}, f"{DIRECTORY}:1", "no column ID"),
    ],
)
def test_other_files(refuses: Callable[..., None], changed: Any, where: str, what: str) -> None:
    refuses("gimbrr", changed, where, what)


def test_the_published_files_are_whole_or_named_a_part(data: Path, tmp_path: Path, run: Run) -> None:
    for name in ("Prompt_dir_230228.csv", "annotations_df_230311.csv"):
        text = (data / "gimbrr" / name).read_text()
        (tmp_path / name).write_text(text if name.startswith("P") else "".join(text.splitlines(True)[:4000]))
    with pytest.raises(DataError, match="3,999 rows, where the published file has 8,408") as caught:
        run("gimbrr", tmp_path)
    assert caught.value.where == "annotations_df_230311.csv:4000"
    assert len(verdicts(run("gimbrr(partial=True)", tmp_path))) == 3_999


def test_two_directories(example: Example, run: Run) -> None:
    with pytest.raises(DataError, match=r"Prompt_dir_1.csv and Prompt_dir_2.csv are versions of one file"):
        run("gimbrr", example("gimbrr", {"Prompt_dir_2.csv": "ID,Prompt\n"}))


def test_a_study_settles_to_the_latest_verdict(data: Path, tmp_path: Path) -> None:
    # One verdict a prompt, the latest: 34.74 % for SD 1.5 over the 1,602 prompts outside "Controlled"
    # suites; the other systems were rated once.
    with create_study(tmp_path / "s") as study:
        import_(study, data / "gimbrr")
        (settled,) = truth(study).questions
        assert settled.superseded == 16
        tags = reading.tags(study).filter(pl.col("name") == "task")
        kept = tags.filter(~pl.col("value").str.contains("(?i)controlled"))["prompt_id"]
        values = rollup.by_system(study, settled.question).filter(pl.col("prompt_id").is_in(kept.to_list()))
        rates = dict(values.group_by("system").agg(pl.col("value").mean()).iter_rows())
    assert sorted(round(100 * rate, 2) for rate in rates.values()) == [34.33, 34.74, 46.44, 54.74]
