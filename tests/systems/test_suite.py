"""Making suites of prompts from tasks, listing them, and writing them for generating elsewhere."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from sightline.data.import_ import import_
from sightline.data.sources import prompt_ref
from sightline.errors import ExtensionError, UsageError
from sightline.expects import COGNITIVE, SKILLS
from sightline.study import reading
from sightline.study.study import create_study
from sightline.systems.suite import export_suite, make_suite
from sightline.systems.suites import list_suites, show_suite

SHORT = '''
from sightline.extension import task
from sightline.records import NewPrompt

@task(skill="nothing", source="me", licence="MIT")
def short(rng, n):
    """Always one prompt."""
    yield NewPrompt("a ball")

@task(skill="nothing", source="me", licence="MIT")
def torn(rng, n):
    """The same text with two meanings."""
    yield NewPrompt("a ball", {}, {"text": "one"})
    yield NewPrompt("a ball", {}, {"text": "two"})
'''


def test_the_same_seed_makes_the_same_prompts() -> None:
    made = make_suite("counting(most=5)", 8, seed=3)
    assert made == make_suite("counting(most=5)", 8, seed=3)
    assert made.prompts != make_suite("counting(most=5)", 8, seed=4).prompts
    assert made.task.startswith("counting(") and made.n == 8
    assert len(set(made.refs)) == len(made.refs) == len(made.prompts)
    # Numbers two to five in rounds: each twice among eight.
    assert sorted(prompt.tags["number"] for prompt in made.prompts[:8]) == sorted("23452345")
    alone = make_suite("counting(most=5)", 8, seed=3, simpler=False)
    assert list(alone.prompts) == list(made.prompts[:8])
    assert {prompt.tags["skill"] for prompt in made.prompts[8:]} == {"single_object"}


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet", ".txt"])
def test_a_written_suite_can_be_imported_with_its_links(tmp_path: Path, suffix: str) -> None:
    file = tmp_path / f"colours{suffix}"
    made = make_suite("colour_binding", 5, to=file)
    with create_study(tmp_path / "study") as study:
        import_(study, made.files[-1], options={"suite": "colours"})
        found = {prompt.key.ref: prompt for prompt in reading.prompt_records(study).values()}
        links = reading.links(study)
        ids = dict(reading.prompts(study).select("prompt_id", "ref").iter_rows())
    assert len(found) == len(made.prompts)
    for ref, prompt in zip(made.refs, made.prompts, strict=True):
        assert found[ref].text == prompt.text
        assert found[ref].tags == prompt.tags
        assert found[ref].expects == prompt.expects
        mine = links.filter(pl.col("prompt_id").replace_strict(ids, return_dtype=pl.String) == ref)
        wanted = {prompt_ref(each.text) for each in prompt.builds_on}
        assert {ids[to] for to in mine["to_prompt_id"]} == wanted


def test_text_for_generating_elsewhere_keeps_its_ids_beside_it(tmp_path: Path) -> None:
    made = make_suite("text_rendering", 4, to=tmp_path / "texts.txt", simpler=False)
    assert [Path(file).name for file in made.files] == ["texts.txt", "texts.ids.csv"]
    lines = (tmp_path / "texts.txt").read_text().splitlines()
    assert lines == [prompt.text for prompt in made.prompts]
    ids = pl.read_csv(tmp_path / "texts.ids.csv", infer_schema_length=0)
    assert ids["line"].to_list() == ["1", "2", "3", "4"] and ids["prompt_id"].to_list() == list(made.refs)
    assert ids["prompt"].to_list() == lines and "builds_on" not in ids.columns


def test_our_own_suite_has_every_skill_and_no_contradiction() -> None:
    made = make_suite("all", 20)
    assert {prompt.tags["skill"] for prompt in made.prompts} == set(COGNITIVE)
    assert made == make_suite("all", 20) and len(set(made.refs)) == len(made.refs)
    # A task alone makes the same prompts as in the suite.
    texts = {prompt.text for prompt in made.prompts}
    assert {prompt.text for prompt in make_suite("negation", 20).prompts} <= texts


@pytest.mark.parametrize(
    ("task", "n", "seed", "said"),
    [
        ("countin", 3, 0, "Did you mean counting"),
        ("counting", 0, 0, "1 or more"),
        ("counting", 3, -1, "0 or more"),
        ("counting", 10_000, 0, "different prompts"),
        ("counting", 10**9, 0, "up to 1,000,000"),
    ],
)
def test_wrong_calls_are_refused(task: str, n: int, seed: int, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        make_suite(task, n, seed=seed)


def test_a_task_must_make_as_many_as_asked_and_not_contradict_itself(plugins: Path) -> None:
    (plugins / "short.py").write_text(SHORT)
    with pytest.raises(ExtensionError, match="made 1 prompts where 2"):
        make_suite("short", 2)
    with pytest.raises(ExtensionError, match=r"'a ball' expects .*two.* here and .*one.* elsewhere"):
        make_suite("torn", 2)


def test_published_suites_are_listed_with_where_to_get_them() -> None:
    listed = list_suites()
    published = listed.frame("published")
    wanted = {"gimbrr", "geneval_prompts", "t2i_compbench", "drawbench", "partiprompts", "dsg1k"}
    assert wanted <= set(published["suite"])
    assert all(home.startswith("https://") for home in published["home"])
    for skills in published["skills"]:
        assert skills and set(skills.split(", ")) <= set(SKILLS)
    tasks = set(listed.frame("made")["suite"])
    assert {"all", "counting", "typos"} <= tasks and len(tasks) >= 12


def test_one_suite_is_shown(tmp_path: Path) -> None:
    shown = show_suite("counting(most=3)")
    assert dict(shown.parameters)["most"] == "3" and len(shown.examples) == 5
    assert "builds on" in shown.table("examples").to_markdown()
    assert show_suite("drawbench").frame("categories").rows()[0] == ("Colors", "compositional")
    assert len(show_suite("all").examples) >= 12
    with pytest.raises(UsageError, match="Did you mean counting"):
        show_suite("countin")


def test_a_suite_of_a_study_is_written_with_what_it_builds_on(tmp_path: Path) -> None:
    with create_study(tmp_path / "study") as study:
        import_(study, make_suite("arithmetic", 3, to=tmp_path / "a.csv").files[0])
        import_(study, make_suite("spatial", 3, to=tmp_path / "s.csv").files[0], options={"suite": "where"})
        done = export_suite(study, tmp_path / "out" / "sums.txt", skill=["arithmetic"])
        table = pl.read_csv(tmp_path / "out" / "sums.ids.csv", infer_schema_length=0)
        assert done.prompts == table.height and done.simpler == table.height - 3
        assert set(table["suite"]) == {"prompts"}
        named = {ref for cell in table["builds_on"].drop_nulls() for ref in cell.split()}
        assert named <= set(table["prompt_id"])
        assert export_suite(study, tmp_path / "w.csv", suite="where").simpler == 0
        for how, said in (({"suite": "wher"}, "Did you mean where"), ({"skill": ["x"]}, "no prompt")):
            with pytest.raises(UsageError, match=said):
                export_suite(study, tmp_path / "no.csv", **how)  # type: ignore[arg-type]


def test_a_suite_of_many_tags_fits_a_screen_and_a_file_of_another_kind_is_refused(tmp_path: Path) -> None:
    (shown,) = make_suite("all", 1).tables().values()
    assert [each.name for each in shown.for_people.columns] == ["prompt_id", "prompt", "tags.skill"]
    assert len(shown.columns) > 12, "programs get every tag"
    with pytest.raises(UsageError, match=r"cannot write a \.xls file") as caught:
        make_suite("counting", 2, to=tmp_path / "mine.xls")
    assert ".parquet, .txt." in (caught.value.remedy or "")
