"""Images that come back for prompts of a study: by id, by line, by wording; what fits none is listed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image as Picture

from sightline.data.import_ import import_, recognise
from sightline.data.sources import prompt_ref
from sightline.errors import ConflictError, DataError, UsageError
from sightline.study import reading
from sightline.study.study import Study, create_study

PROMPTS = "prompt_id,prompt\nc1,a red ball\nc2,two dogs\n7,three cats\n"


@pytest.fixture
def study(tmp_path: Path) -> Iterator[Study]:
    (tmp_path / "prompts.csv").write_text(PROMPTS)
    with create_study(tmp_path / "study") as made:
        import_(made, tmp_path / "prompts.csv")
        yield made


@pytest.fixture
def images(tmp_path: Path) -> Callable[..., Path]:
    """A folder of images of these names, each of another colour."""

    def write(*names: str) -> Path:
        for number, name in enumerate(names):
            file = tmp_path / "images" / name
            file.parent.mkdir(parents=True, exist_ok=True)
            Picture.new("RGB", (4, 4), (number, 90, 40)).save(file)
        return tmp_path / "images"

    return write


def answers(study: Study) -> set[tuple[Any, ...]]:
    refs = dict(reading.prompts(study).select("prompt_id", "ref").iter_rows())
    found = reading.answers(study).select("system", "prompt_id", "position").iter_rows()
    return {(system, refs[prompt], position) for system, prompt, position in found}


def test_known_ids_come_in_and_unknown_ones_are_listed(study: Study, images: Any) -> None:
    folder = images("ours/c1_0.png", "ours/c1_1.png", "ours/c9_0.png", "theirs/pc2_1.png", "theirs/p7_1.png")
    assert recognise(folder)[0].name == "id_images"
    preview = import_(study, folder, dry_run=True, options={"suite": "prompts"})
    assert preview.next == (f"sightline import STUDY {folder} --option=suite=prompts",)
    assert [row[:2] for row in preview.unmatched] == [("ours/c9_0.png", "c9")]
    done = import_(study, folder)
    # Samples of `theirs` count from 1, since none is called 0.
    assert answers(study) == {("ours", "c1", 0), ("ours", "c1", 1), ("theirs", "c2", 0), ("theirs", "7", 0)}
    assert done.frame("unmatched")["file"].to_list() == ["ours/c9_0.png"]
    assert [(each.count, each.reason) for each in done.skipped] == [
        (1, "images of ids that the study does not have")
    ]
    assert import_(study, folder).already


def test_what_was_left_comes_in_once_its_prompt_is_there(study: Study, images: Any, tmp_path: Path) -> None:
    folder = images("ours/c1_0.png", "ours/c9_0.png")
    import_(study, folder)
    (tmp_path / "more.csv").write_text("prompt_id,prompt\nc9,a green car\n")
    import_(study, tmp_path / "more.csv")
    assert import_(study, folder).counts == {"answers": 1, "images": 1}
    assert answers(study) == {("ours", "c1", 0), ("ours", "c9", 0)}


def test_texts_are_attached_to_ids(study: Study, images: Any, tmp_path: Path) -> None:
    (tmp_path / "texts.csv").write_text("prompt_id,prompt\nc9,a green car\n")
    done = import_(study, images("ours/c9_0.png", "ours/c1_0.png"), prompts=tmp_path / "texts.csv")
    assert answers(study) == {("ours", "c1", 0), ("ours", "c9", 0)} and not done.unmatched
    assert "a green car" in reading.prompts(study)["text"].to_list()
    (tmp_path / "texts.csv").write_text("prompt_id,prompt\nc1,another text\n")
    with pytest.raises(ConflictError, match="reads 'another text' here but 'a red ball'"):
        import_(study, images("ours/c1_5.png"), prompts=tmp_path / "texts.csv")
    (tmp_path / "captions.csv").write_text("image,caption\na.png,a dog\n")
    with pytest.raises(UsageError, match="says nothing to the layout captions"):
        import_(study, tmp_path / "captions.csv", prompts=tmp_path / "texts.csv")


def test_images_named_by_the_lines_of_a_text_file(study: Study, images: Any, tmp_path: Path) -> None:
    (tmp_path / "made.txt").write_text("a fox\n\na hen\n")
    folder = images("ours/00001_0.png", "ours/00003_0.png", "ours/00002_0.png")
    done = import_(study, folder, prompts=tmp_path / "made.txt", format="id_images")
    assert answers(study) == {("ours", prompt_ref("a fox"), 0), ("ours", prompt_ref("a hen"), 0)}
    assert [row[1] for row in done.unmatched] == ["00002"]
    # A script that counts from 0 would attach every image to the prompt before its own.
    with pytest.raises(DataError, match="for line 0, and lines count from 1") as refused:
        import_(study, images("ours/00000_0.png"), prompts=tmp_path / "made.txt", format="id_images")
    assert "--option first_line=0" in str(refused.value)


def test_a_line_is_not_the_id_of_another_suite(study: Study, images: Any, tmp_path: Path) -> None:
    """The study has a prompt 7 of its own; the image is for the seventh line of the file."""
    (tmp_path / "made.txt").write_text("".join(f"a fox {n}\n" for n in range(1, 8)))
    folder = images("ours/0007_0.png", "ours/0008_0.png")
    done = import_(study, folder, prompts=tmp_path / "made.txt", format="id_images")
    assert answers(study) == {("ours", prompt_ref("a fox 7"), 0)}
    assert [row[1] for row in done.unmatched] == ["0008"]


def test_lines_of_a_written_suite_may_count_from_0(tmp_path: Path, images: Any) -> None:
    from sightline.systems.suite import make_suite

    made = make_suite("single_object", 2, to=tmp_path / "suite.txt")
    with create_study(tmp_path / "new") as study:
        folder, options = images("ours/0_0.png", "ours/1_0.png"), {"first_line": "0"}
        import_(study, folder, prompts=tmp_path / "suite.txt", options=options)
        assert answers(study) == {("ours", ref, 0) for ref in made.refs}
        assert reading.prompt_records(study)[1].expects == made.prompts[0].expects


def test_two_images_for_one_id_and_sample_are_stated(study: Study, images: Any) -> None:
    folder = images("ours/c1_0.png", "ours/c1_0.jpg", "ours/c2_0.png", "gim/p7_1_v1.png", "gim/p7_1_v2.png")
    done = import_(study, folder, format="id_images")
    second = "second images of one prompt and sample (the first was taken)"
    assert [row[0] for row in done.unmatched if row[2] == second] == ["ours/c1_0.png"]
    assert done.counts["answers"] == 2
    gimbrr = import_(study, folder / "gim", format="gimbrr_images", options={"system": "gim"})
    assert answers(study) >= {("ours", "c1", 0), ("ours", "c2", 0), ("gim", "7", 0)}
    assert [each.reason for each in gimbrr.skipped] == [second]


def test_another_image_than_the_study_has_is_left(study: Study, images: Any, tmp_path: Path) -> None:
    import_(study, images("ours/c1_0.png"))
    other = tmp_path / "again" / "ours"
    other.mkdir(parents=True)
    for name in ("c1_0.webp", "c1_1.png"):
        Picture.new("RGB", (4, 4), "white").save(other / name)
    done = import_(study, tmp_path / "again", options={"collection": "again"})
    assert [row[0] for row in done.unmatched] == ["ours/c1_0.webp"]
    assert answers(study) == {("ours", "c1", 0), ("ours", "c1", 1)}


def test_ids_of_two_suites_need_a_suite(study: Study, images: Any, tmp_path: Path) -> None:
    import_(study, tmp_path / "prompts.csv", options={"suite": "second"})
    folder = images("ours/c1_0.png")
    with pytest.raises(DataError, match="several suites"):
        import_(study, folder, format="id_images")
    import_(study, folder, format="id_images", options={"suite": "second"})
    assert answers(study) == {("ours", "c1", 0)}


def test_folders_by_id_and_names_of_plain_folders(study: Study, images: Any) -> None:
    folder = images("ours/c1/0000.png", "ours/c1/0001.png", "ours/c2/samples/0000.png")
    assert import_(study, folder).layout == "id_images"
    assert answers(study) == {("ours", "c1", 0), ("ours", "c1", 1), ("ours", "c2", 0)}


def test_where_no_id_is_known_names_are_wordings(study: Study, images: Any) -> None:
    done = import_(study, images("ours/Two_dogs.png", "ours/a red ball.png", "ours/cat_1.png"))
    assert done.layout == "folder"
    # The prompts that the study has are met by their words; another wording is a new prompt.
    assert answers(study) == {("ours", "c1", 0), ("ours", "c2", 0), ("ours", prompt_ref("cat_1"), 0)}


def test_names_like_ids_are_no_prompts_where_the_study_has_prompts(
    study: Study, images: Any, tmp_path: Path
) -> None:
    folder = images("ours/x8_0.png", "ours/x9_0.png")
    with pytest.raises(DataError, match="no image could be matched") as refused:
        import_(study, folder)
    assert "--format folder" in refused.value.remedy and "--prompts FILE" in refused.value.remedy
    with create_study(tmp_path / "empty") as empty:
        assert import_(empty, folder).layout == "folder"


def test_rows_of_prompts_that_cannot_be_read_whole(tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text(
        'prompt_id,prompt,expects\n1,two dogs,"{""objects"": [{""kind"": ""dog"", ""count"": ""two""}], '
        '""complete"": true}"\n,a cat,\n3,a cow,"{""objects"": [{""kind"": ""cow"", ""count"": 1}]}"\n'
    )
    with create_study(tmp_path / "s") as study:
        done = import_(study, tmp_path / "p.csv")
        found = {each.key.ref: each for each in reading.prompt_records(study).values()}
    assert [(each.count, each.examples, each.noted) for each in done.skipped] == [
        (1, ["p.csv:2 (a count that is no number: 'two')"], True),
        (1, ["p.csv:3"], True),
    ]
    assert found["1"].expects == {"objects": [{"kind": "dog", "count": None}], "complete": False}
    assert found[prompt_ref("a cat")].text == "a cat" and found["3"].expects is not None


ELSEWHERE = "suite,prompt_id,prompt\nmine,c1,a red ball\nmine,c2,two dogs\nmine,7,three cats\n"


@pytest.fixture
def elsewhere(tmp_path: Path) -> Iterator[Study]:
    """The prompts c1, c2 and 7 in a suite that no importer takes by default."""
    (tmp_path / "suite.csv").write_text(ELSEWHERE)
    (tmp_path / "prompts.csv").write_text(PROMPTS)
    with create_study(tmp_path / "elsewhere") as made:
        import_(made, tmp_path / "suite.csv")
        yield made


@pytest.mark.parametrize(
    ("layout", "name"), [("id_images", "ours/c1_0.png"), ("gimbrr_images", "ours/p7_1.png")]
)
def test_images_go_to_the_prompts_that_are_there(
    elsewhere: Study, images: Any, tmp_path: Path, layout: str, name: str
) -> None:
    folder = images(name)
    for dry_run in (True, False):
        done = import_(elsewhere, folder, prompts=tmp_path / "prompts.csv", dry_run=dry_run)
        assert done.layout == layout and "prompts" not in done.counts and done.counts["answers"] == 1
    assert reading.prompts(elsewhere)["suite"].to_list() == ["mine"] * 3
    assert {ref for _, ref, _ in answers(elsewhere)} == {"7" if layout == "gimbrr_images" else "c1"}
    assert import_(elsewhere, folder, prompts=tmp_path / "prompts.csv").already


def test_a_table_of_answers_goes_to_the_prompts_that_are_there(elsewhere: Study, tmp_path: Path) -> None:
    table = "prompt_id,prompt,image,system\nc1,a red ball,a,s\n8,a red ball,b,s\nc2,other words,c,s\n"
    (tmp_path / "answers.csv").write_text(table)
    import_(elsewhere, tmp_path / "answers.csv", options={"names_only": True})
    found = reading.prompts(elsewhere).select("suite", "ref").rows()
    # The same words under another id, and other words under the same, are other prompts.
    assert found == [("mine", "c1"), ("mine", "c2"), ("mine", "7"), ("prompts", "8"), ("prompts", "c2")]
    assert answers(elsewhere) == {("s", "c1", 0), ("s", "8", 0), ("s", "c2", 0)}


def test_ids_agree_whatever_stands_before_their_digits(elsewhere: Study, images: Any, tmp_path: Path) -> None:
    (tmp_path / "ids.csv").write_text("prompt_id,prompt\np007,three cats\n")
    import_(elsewhere, images("ours/p007_0.png"), prompts=tmp_path / "ids.csv", format="id_images")
    assert answers(elsewhere) == {("ours", "7", 0)} and len(reading.prompts(elsewhere)) == 3


def test_prompts_without_ids_are_known_by_their_texts(elsewhere: Study, images: Any, tmp_path: Path) -> None:
    (tmp_path / "lines.txt").write_text("two dogs\na fox\n")
    folder = images("ours/0001_0.png", "ours/0002_0.png")
    import_(elsewhere, folder, prompts=tmp_path / "lines.txt", format="id_images")
    assert answers(elsewhere) == {("ours", "c2", 0), ("ours", prompt_ref("a fox"), 0)}
    with create_study(tmp_path / "named") as named:
        # Here the study has no ids of its own, and the file gives them.
        import_(named, tmp_path / "lines.txt", options={"suite": "mine"})
        import_(named, images("ours/c2_0.png"), prompts=tmp_path / "prompts.csv", format="id_images")
        assert ("ours", prompt_ref("two dogs"), 0) in answers(named)
        assert reading.prompts(named)["text"].to_list().count("two dogs") == 1


def test_another_text_under_an_id_of_the_study_is_refused(
    elsewhere: Study, images: Any, tmp_path: Path
) -> None:
    (tmp_path / "prompts.csv").write_text(PROMPTS.replace("two dogs", "two cows"))
    folder = images("ours/c1_0.png")
    for dry_run in (True, False):
        with pytest.raises(
            ConflictError, match="prompt 'c2' reads 'two cows' here but 'two dogs'"
        ) as refused:
            import_(elsewhere, folder, prompts=tmp_path / "prompts.csv", dry_run=dry_run)
        assert refused.value.where == "prompts.csv:3" and "in suite 'mine'" in refused.value.what
        assert "--option suite=NAME" in refused.value.remedy
    # As prompts of their own they come in.
    import_(elsewhere, folder, prompts=tmp_path / "prompts.csv", options={"suite": "cows"})
    assert reading.prompts(elsewhere)["suite"].to_list() == ["mine"] * 3 + ["cows"] * 3


def test_prompts_of_two_suites_need_a_suite(elsewhere: Study, images: Any, tmp_path: Path) -> None:
    import_(elsewhere, tmp_path / "prompts.csv", options={"suite": "second"})
    folder = images("ours/c1_0.png")
    with pytest.raises(ConflictError, match="prompt 'c1' is in the suites 'mine' and 'second'") as refused:
        import_(elsewhere, folder, prompts=tmp_path / "prompts.csv")
    assert refused.value.where == "prompts.csv:2" and "--option suite=mine" in refused.value.remedy
    with pytest.raises(DataError, match="several suites have: mine, second"):
        import_(elsewhere, folder)
    import_(elsewhere, folder, prompts=tmp_path / "prompts.csv", options={"suite": "second"})
    suites = dict(reading.prompts(elsewhere).select("prompt_id", "suite").iter_rows())
    assert [suites[key] for key in reading.answers(elsewhere)["prompt_id"]] == ["second"]


def test_links_follow_the_prompts_they_join(elsewhere: Study, images: Any, tmp_path: Path) -> None:
    (tmp_path / "more.csv").write_text("prompt_id,prompt,builds_on\nc1,a red ball,\nc9,two red balls,c1\n")
    done = import_(elsewhere, images("ours/c9_0.png"), prompts=tmp_path / "more.csv", format="id_images")
    assert done.counts["links"] == done.counts["prompts"] == 1
    found = reading.prompts(elsewhere).select("suite", "ref").rows()
    assert found == [("mine", "c1"), ("mine", "c2"), ("mine", "7"), ("prompts", "c9")]


def test_wordings_are_met_in_whatever_suite_they_are(elsewhere: Study, images: Any) -> None:
    import_(elsewhere, images("ours/Two_dogs.png", "ours/a fox.png"))
    assert answers(elsewhere) == {("ours", "c2", 0), ("ours", prompt_ref("a fox"), 0)}
