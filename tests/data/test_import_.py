"""Recognising a layout, previewing it, bringing it in whole or not at all, and taking it back."""

from __future__ import annotations

import io
import os
import sys
from collections import namedtuple
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select

from sightline import registry
from sightline.data.import_ import SPARE, import_, recognise
from sightline.data.imports import undo
from sightline.errors import ConflictError, DataError, SightlineError, StudyError, UsageError
from sightline.pictures import MOST_BYTES
from sightline.records import Answer
from sightline.study.running.progress import Progress
from sightline.study.schema import database, tables
from sightline.study.study import Study

Fill = Callable[..., Path]


@pytest.fixture
def box(tmp_path: Path) -> Path:
    folder = tmp_path / "box"
    folder.mkdir()
    return folder


def rows(study: Study) -> dict[str, int]:
    with database.reading(study.engine) as connection:
        return {
            name: int(connection.execute(select(func.count()).select_from(table)).scalar_one())
            for name, table in tables.metadata.tables.items()
            if name in ("prompt", "image", "system", "answer", "judgement", "truth", "source", "prompt_tag")
        }


ANSWERS = "prompt,image,system\na dog,a.png,s\na dog,b.png,s\na cat,c.png,t\n"
BY_NAME = {"names_only": "true"}


def test_what_nobody_claims_is_told_with_what_was_looked_for(box: Path, fill: Fill) -> None:
    fill(box, {"x.csv": "promt,pic\nx,y\n", "sub/readme.md": "x"})
    with pytest.raises(DataError) as caught:
        recognise(box / "x.csv")
    assert "promt, pic" in caught.value.what and "--column prompt=promt" in caught.value.remedy
    fill(box, {"x.csv": "hue,pic\nx,y\n"})
    with pytest.raises(DataError) as caught:
        recognise(box / "x.csv")
    assert all(name in caught.value.remedy for name in registry.names("importer"))
    with pytest.raises(DataError, match=r"Import a file of it, for example .*x\.csv"):
        recognise(box)
    (box / "x.csv").unlink()
    with pytest.raises(DataError, match="layout is not known"):
        recognise(box)


def test_a_fault_in_the_file_is_told_rather_than_an_unknown_layout(box: Path, fill: Fill) -> None:
    fill(box, {"x.csv": b"prompt,image\ncaf\xe9,1\n", "y.csv": b"caf\xe9,image\nx,1\n", "z.csv": b""})
    with pytest.raises(DataError, match=r"y\.csv:1: not UTF-8"):
        recognise(box / "y.csv")
    with pytest.raises(DataError, match=r"z\.csv: the file is empty"):
        recognise(box / "z.csv")
    with pytest.raises(DataError, match="no such file or folder"):
        recognise(box / "nothing.csv")


PLUGIN = '''
from sightline.extension import importer
from sightline.records import Prompt, PromptKey

@importer(claims={claims}, source="test", licence="MIT")
def {name}(source, *, suite: str = "x"):
    """A format of somebody else."""
    yield Prompt(PromptKey(suite, "1"), "a dog")
'''


def test_a_tie_asks_for_the_format(
    box: Path, fill: Fill, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plugins = fill(
        tmp_path / "plugins",
        {
            "mine.py": PLUGIN.format(name="mine", claims='("*.odd",)'),
            "yours.py": PLUGIN.format(name="yours", claims="lambda source: 0.9 * source.has('*.odd')"),
            "failing.py": PLUGIN.format(name="failing", claims="lambda source: 1 / 0"),
        },
    )
    monkeypatch.setenv("SIGHTLINE_PLUGINS", str(plugins))
    fill(box, {"a.odd": "x", "p.csv": "prompt\nx\n"})
    with pytest.raises(UsageError, match="mine or yours") as caught:
        recognise(box)
    assert "--format mine" in caught.value.remedy
    assert recognise(box, "yours(suite='y')")[0].arguments == {"suite": "y"}
    (plugins / "yours.py").unlink()
    assert recognise(box)[0].name == "mine"
    importer, claims = recognise(box / "p.csv")
    assert importer.name == "prompts"
    assert [(claim.importer, claim.trouble) for claim in claims if claim.trouble] == [
        ("failing", "ZeroDivisionError: division by zero")
    ]


def test_a_plugin_that_fails_while_it_looks_is_named(
    study: Study, box: Path, fill: Fill, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plugins = fill(
        tmp_path / "plugins", {"failing.py": PLUGIN.format(name="failing", claims="lambda source: 1 / 0")}
    )
    monkeypatch.setenv("SIGHTLINE_PLUGINS", str(plugins))
    fill(box, {"p.csv": "prompt\nx\n", "x.csv": "promt,pic\nx,y\n"})
    warning = "Warning: the importer failing was passed over: ZeroDivisionError: division by zero."
    assert warning in import_(study, box / "p.csv", dry_run=True).notes
    assert warning in import_(study, box / "p.csv").notes
    with pytest.raises(DataError) as caught:
        recognise(box / "x.csv")
    assert warning in caught.value.remedy


def test_options_as_the_command_line_gives_them(box: Path, fill: Fill) -> None:
    fill(box, {"a.csv": ANSWERS})
    options = {"names_only": "true", "suite": "7"}
    importer, _ = recognise(box / "a.csv", options=options)
    assert importer.short == "answers(suite='7', names_only=True)"
    for wrong, said in (
        ({"names_only": "perhaps"}, "true or false"),
        ({"sweet": "x"}, "no parameter 'sweet'"),
    ):
        with pytest.raises(UsageError, match=said):
            recognise(box / "a.csv", options=wrong)
    with pytest.raises(UsageError, match="answers"):
        recognise(box / "a.csv", "answer")


def test_preview_reads_all_and_writes_nothing(study: Study, box: Path, fill: Fill, png: bytes) -> None:
    fill(box, {"s/a dog.png": png, "s/a cat.png": png, "t/a dog.png": png})
    before = rows(study)
    done = import_(study, box, dry_run=True)
    assert done.number is None
    assert done.counts == {"systems": 2, "prompts": 2, "collections": 1, "images": 3, "answers": 3}
    assert done.image_bytes == 3 * len(png) and done.systems == ["s", "t"]
    assert "is read as folder: 2 systems, 2 prompts, 1 collection, 3 images, 3 answers" in done.sentence
    assert [e.system for e in done.examples if isinstance(e, Answer)] == ["s", "s", "t"]
    assert rows(study) == before


def test_import_twice_is_once_and_undo_leaves_nothing(
    study: Study, box: Path, fill: Fill, png: bytes
) -> None:
    before = rows(study)
    fill(box, {"a.csv": ANSWERS, "a.png": png, "b.png": png, "c.png": png})
    first = import_(study, box / "a.csv")
    assert not first.already and first.counts["answers"] == 3
    assert rows(study) == {**before, "source": 1, "prompt": 2, "system": 2, "image": 3, "answer": 3}
    again = import_(study, box / "a.csv")
    assert again.already and again.number == first.number and rows(study)["answer"] == 3
    assert first.number is not None
    assert undo(study, first.number).counts["answer"] == 3
    assert rows(study) == before


def test_images_that_arrive_later_come_in(study: Study, box: Path, fill: Fill, png: bytes) -> None:
    fill(box, {"a.csv": ANSWERS})
    import_(study, box / "a.csv", options=BY_NAME)
    fill(box, {"a.png": png, "b.png": png, "c.png": png})
    assert not import_(study, box / "a.csv").already
    with database.reading(study.engine) as connection:
        known = connection.execute(select(tables.image.c.sha256)).scalars().all()
    assert len(known) == 3 and None not in known and rows(study)["answer"] == 3


def test_columns_are_mapped_and_a_mapping_that_fits_nothing_is_told(
    study: Study, box: Path, fill: Fill
) -> None:
    fill(box, {"a.csv": "caption,file,model,kind\na dog,a.png,s,animal\n"})
    columns = {"prompt": "caption", "image": "file", "system": "model", "tags.kind": "kind"}
    assert import_(study, box / "a.csv", columns={**columns}, options=BY_NAME).layout.startswith("answers")
    assert rows(study)["prompt_tag"] == 1
    with pytest.raises(UsageError, match=r"tags\.x=nothing was not used"):
        import_(study, box / "a.csv", columns={**columns, "tags.x": "nothing"})
    assert rows(study)["source"] == 1


def test_columns_that_were_not_taken_are_reported(study: Study, box: Path, fill: Fill) -> None:
    fill(box, {"p.csv": "prompt,mood\na dog,glad\n"})
    (skipped,) = import_(study, box / "p.csv", dry_run=True).skipped
    assert (
        skipped.count == 1 and skipped.examples == ["mood"] and "--column tags.NAME=THEIRS" in skipped.reason
    )


BAD: dict[str, tuple[dict[str, str | bytes], str, str]] = {
    "half a row": ({"a.csv": ANSWERS + "a cow,d.png\n"}, "a.csv:5", "2 cells"),
    "a path that leaves": ({"a.csv": ANSWERS + "a cow,../d.png,s\n"}, "a.csv:5", "leaves the folder"),
    "non-UTF-8": ({"a.csv": ANSWERS.encode() + b"caf\xe9,d.png,s\n"}, "a.csv:5", "not UTF-8"),
    "no image": (
        {"a.csv": ANSWERS, "a.png": b"no", "b.png": b"no", "c.png": b"no"},
        "a.csv:2",
        "not a readable",
    ),
    "the same place twice": (
        {"a.csv": "prompt,image,system,position\na dog,a,s,0\na dog,b,s,0\n"},
        "a.csv:3",
        "another answer",
    ),
    "one id, two texts": (
        {"a.csv": "prompt_id,prompt,image,system\n1,a dog,a,s\n1,a cat,b,s\n"},
        "a.csv:3",
        "",
    ),
    "unknown prompt": ({"a.csv": "prompt_id,image,system\n9,a,s\n"}, "a.csv:2", "no prompt '9'"),
    "no image is there": (
        {"a.csv": ANSWERS},
        "a.csv:2",
        "none of the 3 images is there: 'a.png', 'b.png', 'c.png'",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_names_its_line_and_leaves_nothing_behind(
    study: Study, box: Path, fill: Fill, name: str
) -> None:
    files, where, what = BAD[name]
    before = rows(study)
    fill(box, files)
    for dry_run in (True, False):
        with pytest.raises(DataError) as caught:
            import_(study, box / "a.csv", dry_run=dry_run)
        assert caught.value.where.endswith(where) and what in caught.value.what
        assert caught.value.exit_code == 3
        assert rows(study) == before


def bomb() -> bytes:
    from PIL import Image

    out = io.BytesIO()
    Image.new("1", (100_000, 1_000)).save(out, "PNG")
    return out.getvalue()


def _spoil(file: Path, fault: str, png: bytes) -> None:
    """A file that is no image in one way or another."""
    file.unlink()
    match fault:
        case "cut short":
            file.write_bytes(png[:-12])
        case "not an image":
            file.write_bytes(b"<html></html>")
        case "empty":
            file.write_bytes(b"")
        case "too many pixels":
            file.write_bytes(bomb())
        case "too many bytes":
            with file.open("wb") as out:
                out.truncate(MOST_BYTES + 1)
        case "a pipe":
            os.mkfifo(file)
        case "a link that leads nowhere":
            file.symlink_to(file.with_name("nothing.png"))


REFUSED = ("cut short", "not an image", "empty", "too many pixels", "too many bytes")
LEFT_OUT = {
    "a pipe": "Left out: 1 pipes, sockets or devices: s/a dog.png",
    "a link that leads nowhere": "Left out: 1 links to folders or to nothing: s/a dog.png",
}


@pytest.mark.parametrize("fault", [*REFUSED, *LEFT_OUT])
def test_a_dry_run_refuses_what_the_import_refuses(
    study: Study, box: Path, fill: Fill, png: bytes, fault: str
) -> None:
    fill(box, {"s/a dog.png": png, "s/a cat.png": png})
    _spoil(box / "s" / "a dog.png", fault, png)
    before = rows(study)

    def refusal(dry_run: bool) -> tuple[str, ...]:
        try:
            done = import_(study, box, dry_run=dry_run)
        except SightlineError as error:
            return type(error).__name__, error.what, error.where, error.remedy
        return (*map(str, done.skipped), *map(str, sorted(done.counts.items())))

    tried = refusal(True)
    assert rows(study) == before and not (study.home / "images").exists()
    assert tried == refusal(False)
    assert tried[0] == LEFT_OUT.get(fault, "DataError")


def test_a_dry_run_counts_what_the_import_counts(
    study: Study, box: Path, fill: Fill, png: bytes, dump: Callable[[Study], Any]
) -> None:
    fill(box, {"s/a dog.png": png, "s/a cat.png": b"no", "t/a dog.png": png, "t/a fox.png": png[:-12]})
    before = dump(study)
    heard: list[Progress] = []
    tried = import_(study, box, keep_broken=True, dry_run=True, listener=heard.append)
    assert dump(study) == before and not (study.home / "images").exists()
    # 2 systems, 3 prompts, 4 images and 4 answers.
    assert (heard[-1].what, heard[-1].done) == ("records", 13)
    done = import_(study, box, keep_broken=True)
    assert (
        tried.counts
        == done.counts
        == {"systems": 2, "prompts": 3, "collections": 1, "images": 4, "answers": 4}
    )
    again = import_(study, box, keep_broken=True, dry_run=True)
    assert again.already and again.number == done.number and "Nothing was changed" in again.sentence
    # Part of it is there by now: only what is new counts.
    fill(box, {"t/a cow.png": png})
    more = import_(study, box, keep_broken=True, dry_run=True)
    assert (
        more.counts
        == import_(study, box, keep_broken=True).counts
        == {"prompts": 1, "images": 1, "answers": 1}
    )


def test_a_dry_run_says_which_lost_images_would_be_restored(
    study: Study, box: Path, fill: Fill, png: bytes
) -> None:
    import_(study, fill(box, {"s/a dog.png": png}))
    (file,) = (path for path in (study.home / "images").rglob("*") if path.is_file())
    file.unlink()
    tried = import_(study, box, dry_run=True)
    assert tried.restored == 1 and "would restore 1 lost image. Nothing was written." in tried.sentence
    assert not file.exists()
    assert import_(study, box).restored == 1 and file.exists()


def test_a_bomb_is_refused_and_a_broken_image_kept_on_request(
    study: Study, box: Path, fill: Fill, png: bytes
) -> None:
    fill(box, {"s/a dog.png": bomb(), "s/a cat.png": png})
    with pytest.raises(DataError, match="100,000 x 1,000 pixels") as caught:
        import_(study, box)
    assert "s/a dog.png" in caught.value.where
    assert import_(study, box, keep_broken=True).counts["answers"] == 2
    with database.reading(study.engine) as connection:
        defects = (
            connection.execute(select(tables.image.c.defect).order_by(tables.image.c.name)).scalars().all()
        )
    assert defects[0] is None and "100,000 x 1,000" in str(defects[1])


def test_what_contradicts_the_study_is_refused_unless_it_replaces(
    study: Study, box: Path, fill: Fill
) -> None:
    fill(box, {"a.csv": ANSWERS})
    import_(study, box / "a.csv", options=BY_NAME)
    fill(box, {"a.csv": ANSWERS.replace("c.png", "d.png")})
    with pytest.raises(ConflictError, match="another answer") as caught:
        import_(study, box / "a.csv", options=BY_NAME)
    assert caught.value.where == "a.csv:4"
    import_(study, box / "a.csv", options=BY_NAME, replace=True)
    assert rows(study)["answer"] == 3 and rows(study)["source"] == 1


def test_images_that_are_all_missing_are_refused_unless_the_study_has_them_or_they_are_names(
    study: Study, box: Path, fill: Fill
) -> None:
    fill(box, {"a.csv": ANSWERS, "b.csv": ANSWERS.replace(",t", ",u"), "c.csv": ANSWERS.replace(".png", "")})
    for dry_run in (True, False):
        with pytest.raises(
            DataError, match=r"none of the 3 images is there: 'a\.png', 'b\.png', 'c\.png'"
        ) as caught:
            import_(study, box / "a.csv", dry_run=dry_run)
        assert caught.value.where == "a.csv:2" and "--option names_only=true" in caught.value.remedy
    assert rows(study)["source"] == 0
    import_(study, box / "a.csv", options=BY_NAME)
    # What the study knows by name may be named again, and a name without an ending is no file.
    assert import_(study, box / "b.csv").counts["answers"] == 1
    with pytest.raises(ConflictError, match="another answer"):
        import_(study, box / "c.csv")


VOTES = "prompt,system,annotator,question,value\na dog,s,ann,fit,1\na cat,tt,ann,fit,0\n"


@pytest.mark.parametrize("without", ["", "annotator"])
def test_an_unknown_system_in_judgements_is_refused_where_others_have_answers(
    study: Study, box: Path, fill: Fill, without: str
) -> None:
    table = VOTES.replace("annotator,", "").replace("ann,", "") if without else VOTES
    fill(
        box,
        {"a.csv": ANSWERS.replace(".png", "").replace(",t", ",turbo"), "v.csv": table.replace("tt", "trubo")},
    )
    import_(study, box / "a.csv")
    before = rows(study)
    for dry_run in (True, False):
        with pytest.raises(DataError, match="the study has no system 'trubo'") as caught:
            import_(study, box / "v.csv", dry_run=dry_run)
        assert caught.value.where == "v.csv:3" and caught.value.exit_code == 3
        assert "Did you mean turbo?" in caught.value.remedy and "--new-systems" in caught.value.remedy
    assert rows(study) == before
    import_(study, box / "v.csv", new_systems=True)
    assert rows(study)["system"] == 3
    # What the study has by now is not new.
    fill(box, {"w.csv": table.replace("tt", "trubo").replace("fit", "look")})
    import_(study, box / "w.csv")


def test_an_annotator_who_judges_twice_in_conflict_is_counted_and_the_rest_goes_on(
    study: Study, box: Path, fill: Fill
) -> None:
    table = f"{VOTES}a dog,s,ann,fit,0\na dog,s,ann,fit,0\na cat,tt,bob,fit,1\na dog,s,ann,fit,1\n"
    fill(box, {"v.csv": table})
    made = import_(study, box / "v.csv", new_systems=True)
    assert made.counts["judgements"] == 5, "the same answer at once again is the same judgement"
    (noted,) = (each for each in made.skipped if each.reason.startswith("judgements given again"))
    assert noted.count == 2 and list(noted.examples) == ["v.csv:4", "v.csv:7"]
    with database.reading(study.engine) as connection:
        j = tables.judgement.c
        ann = select(j.value, j.revision).where(j.value.is_not(None)).order_by(j.id)
        assert [tuple(row) for row in connection.execute(ann)] == [(1, 0), (0, 0), (0, 1), (1, 0), (1, 2)]
    assert import_(study, box / "v.csv", new_systems=True).already


def test_judgements_of_systems_without_any_answers_and_of_either_side_of_a_pair(
    study: Study, box: Path, fill: Fill
) -> None:
    fill(box, {"p.csv": "prompt\na dog\na cat\n", "v.csv": VOTES, "a.csv": ANSWERS.replace(".png", "")})
    import_(study, box / "p.csv")
    assert import_(study, box / "v.csv").counts["systems"] == 2
    import_(study, box / "a.csv")
    fill(box, {"p.csv": "prompt,system,system_b,annotator,question,value\na dog,s,q,ann,better,1\n"})
    with pytest.raises(DataError, match="the study has no system 'q'"):
        import_(study, box / "p.csv")


def test_too_little_space_is_told_before_the_work(
    study: Study, box: Path, fill: Fill, png: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr("shutil.disk_usage", lambda _: usage(1, 1, SPARE + len(png) - 1))
    fill(box, {"s/a dog.png": png})
    with pytest.raises(StudyError, match="MB are free"):
        import_(study, box)
    fill(box, {"a.csv": "prompt,image,system\na dog,b.png,s\n"})
    assert import_(study, box / "a.csv", options=BY_NAME).counts["answers"] == 1, (
        "without images there is room enough"
    )
    assert not (study.home / "images").exists()


def test_a_study_that_cannot_be_written_to(
    study: Study, box: Path, fill: Fill, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(box, {"a.csv": ANSWERS})

    def refuse(**_: object) -> None:
        raise OSError(30, os.strerror(30))

    monkeypatch.setattr("tempfile.TemporaryFile", refuse)
    with pytest.raises(StudyError, match="cannot be written to") as caught:
        import_(study, box / "a.csv")
    assert caught.value.remedy and rows(study)["source"] == 0


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="not needed here: root may write anywhere"
)
def test_a_folder_without_permission(study: Study, box: Path, fill: Fill) -> None:
    fill(box, {"a.csv": ANSWERS})
    study.home.chmod(0o500)
    try:
        with pytest.raises(StudyError, match="cannot be written to"):
            import_(study, box / "a.csv")
    finally:
        study.home.chmod(0o700)


def test_two_processes_at_once_both_get_in(study: Study, box: Path, fill: Fill) -> None:
    import subprocess

    program = (
        "import sys; from sightline.study.study import open_study\n"
        "from sightline.data.import_ import import_\n"
        "print(import_(open_study(sys.argv[1]), sys.argv[2]).counts['answers'])"
    )
    answers = "prompt,image,system\na dog,a,{0}\na dog,b,{0}\na cat,c,{0}\n"
    fill(box, {f"{name}.csv": answers.format(name) for name in "uv"})
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    running = [
        subprocess.Popen(
            [sys.executable, "-c", program, str(study.home), str(box / f"{name}.csv")],
            stdout=subprocess.PIPE,
            env=environment,
            text=True,
        )
        for name in "uv"
    ]
    assert [process.communicate()[0].strip() for process in running] == ["3", "3"]
    assert rows(study)["answer"] == 6 and rows(study)["source"] == 2


def test_a_listener_hears_of_progress(study: Study, box: Path, fill: Fill) -> None:
    fill(box, {"a.csv": ANSWERS})
    events: list[Progress] = []
    import_(study, box / "a.csv", options=BY_NAME, listener=events.append)
    # 2 systems, 2 prompts, 3 answers; images known by name need no record of their own.
    assert (events[-1].what, events[-1].done, events[-1].seconds_left) == ("records", 7, None)
