"""One suite over all importers: a new one is tested as soon as its file is on the shelf.

Each runs on a source of its own: the published data where a folder of it is recognised as this importer's,
else a small one made below. An importer with neither fails: add its source to MADE.
"""

from __future__ import annotations

import io
import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from sightline import registry
from sightline.data.import_ import import_, preview, recognise
from sightline.data.imports import undo
from sightline.errors import DataError, SightlineError
from sightline.extension import Extension
from sightline.study.schema import database, tables
from sightline.study.study import Study, create_study

IMPORTERS = [
    each.spec.name
    for each in registry.everything("importer")
    if isinstance(each, Extension) and each.spec.origin == "sightline"
]
TEXTS = (".csv", ".tsv", ".jsonl", ".json", ".txt", ".run", ".qrels")
BINARY = (".npz", ".pickle")
Dump = dict[str, list[tuple[Any, ...]]]
every_importer = pytest.mark.parametrize("name", IMPORTERS)


def png(colour: str) -> bytes:
    from PIL import Image

    out = io.BytesIO()
    Image.new("RGB", (4, 4), colour).save(out, "PNG")
    return out.getvalue()


def lines(*told: Mapping[str, Any]) -> str:
    return "".join(json.dumps(each) + "\n" for each in told)


PQPP = "id,image_id,best_caption,avg_generative_score,retrieval_avg_pk,retrieval_avg_rr\n"
MTURK = "WorkerId,AssignmentStatus,WorkTimeInSeconds,Input.image_url,Answer.category.label,Approve,Reject\n"
AT = "https://pictures.example.org/sdxl/0/comparison"
# What to import, and the files that make it up; an image is given by its colour.
MADE: dict[str, tuple[str, dict[str, str]]] = {
    "answers": (
        "answers.csv",
        {
            "answers.csv": "prompt,image,system,seed\na dog,a.png,sd,1\na cat,b.png,sd,2\n",
            "a.png": "red",
            "b.png": "blue",
        },
    ),
    "captions": (
        "captions.csv",
        {"captions.csv": "image,caption\na.png,a dog\nb.png,a cat\nb.png,two cats\n"},
    ),
    "export": (
        "left",
        {
            "left/prompts.csv": "suite,prompt_id,prompt\nmine,1,a dog\nmine,2,'=a cat\n",
            "left/judgements.csv": "suite,prompt_id,annotator,panel,question,value\n"
            "mine,1,ann,people,q,4\nmine,2,ann,people,q,3\nmine,2,ben,people,q,1\n",
            "left/sightline-export.json": '{"sightline_export": 1, "files": {"prompts.csv": {"rows": 2, '
            '"guard": true}, "judgements.csv": {"rows": 3, "guard": true}}}',
        },
    ),
    "folder": (
        "runs",
        {"runs/sd/a dog.png": "red", "runs/sd/a cat/0.png": "blue", "runs/dalle/a dog.png": "green"},
    ),
    "geneval": (
        "out",
        {
            "out/sd/00000/metadata.jsonl": '{"include": [{"class": "dog"}], "prompt": "a dog"}\n',
            "out/sd/00000/samples/0000.png": "red",
            "out/sd/00001/metadata.jsonl": '{"include": [{"class": "cat"}], "prompt": "a cat"}\n',
            "out/sd/00001/samples/0000.png": "blue",
        },
    ),
    "gimbrr_images": ("made", {"made/Dalle/p1701_1.png": "red", "made/Dalle/p1701_2.png": "blue"}),
    "itu_table": (
        "votes.csv",
        {"votes.csv": "stimulus,subject 1,subject 2\na.png,5,4\nb.png,,2\na.png,4,4\n"},
    ),
    "judgements": (
        "votes.csv",
        {"votes.csv": "annotator,image,question,value\nann,a.png,q,4\nben,a.png,q,2\nann,b.png,q,3\n"},
    ),
    "pqpp": (
        "pqpp",
        {
            "pqpp/dataset/dataset.csv": PQPP + "1,7,a dog,1.5,0.2,0.5\n2,8,a cat,-0.5,0.1,0.25\n",
            "pqpp/dataset/train.csv": "id\n1\n",
            "pqpp/dataset/validation.csv": "id\n2\n",
        },
    ),
    "prompts": (
        "prompts.csv",
        {"prompts.csv": "prompt_id,prompt,tags.kind\n1,a dog,animal\n2,two dogs,number\n"},
    ),
    "trec_qrels": (
        "q.qrels",
        {"topics.tsv": "q1\ta dog\nq2\ta cat\n", "q.qrels": "q1 0 a.png 1\nq1 0 b.png 0\nq2 0 b.png 1\n"},
    ),
    "trec_run": (
        "clip.run",
        {"topics.tsv": "q1\ta dog\n", "clip.run": "q1 Q0 a.png 1 0.9 clip\nq1 Q0 b.png 2 0.8 clip\n"},
    ),
    "truths": (
        "truths.csv",
        {"truths.csv": "question,image,value,low,high\nquality,a.png,4,3,5\nquality,b.png,2,1,3\n"},
    ),
    "w1kp": (
        "w1kp",
        {
            **{f"w1kp/sdxl/0/{seed}/prompt.txt": "a dog" for seed in (1, 2, 3)},
            **{f"w1kp/sdxl/0/{seed}/metadata.json": '{"guidance": 7.5}' for seed in (1, 2, 3)},
            **{
                f"w1kp/sdxl/0/{seed}/image.png": colour
                for seed, colour in ((1, "red"), (2, "tan"), (3, "blue"))
            },
            "w1kp/2afc.jsonl": lines(
                {
                    "ref_seed": "3",
                    "seed1": "1",
                    "seed2": "2",
                    "id": "0",
                    "model_name": "sdxl",
                    "judgement": 0.4,
                }
            ),
        },
    ),
    "w1kp_2afc": (
        "2afc.jsonl",
        {
            "2afc.jsonl": lines(
                {
                    "ref_seed": "3",
                    "seed1": "1",
                    "seed2": "2",
                    "id": "0",
                    "model_name": "sdxl",
                    "judgement": 0.4,
                },
                {
                    "ref_seed": "1",
                    "seed1": "1",
                    "seed2": "2",
                    "id": "0",
                    "model_name": "sdxl",
                    "ground_truth": "1",
                },
            )
        },
    ),
    "w1kp_crowd": (
        "batch.csv",
        {
            "batch.csv": MTURK
            + f"A2,Approved,12,{AT}-1-2-3.jpg,Image A,x,\n"
            + f"A7,Approved,9,{AT}-1-2-3.jpg,Image B is closer,x,\n"
            + f"A7,Approved,5,{AT}-1-2-1.jpg,Image A,x,\n"
        },
    ),
}
# What a study must hold before: prompts of a suite.
BEFORE = {"gimbrr_images": ("gimbrr", "prompt_id,prompt\n1701,a dog\n")}
# Nothing in these layouts says what else there should be: images without some are images.
NEVER_HALF = ("folder", "gimbrr_images")
# A list of prompts, a line each, is whole wherever it ends; what shows is that a list is missing.
MISSING = {"t2i_compbench": "color_val.txt"}


@pytest.fixture(scope="session")
def published(request: pytest.FixtureRequest) -> dict[str, Path]:
    """The folder of published data that each importer recognises as its own."""
    data: Path = request.getfixturevalue("data")
    found: dict[str, Path] = {}
    for folder in [*sorted(data.iterdir()), *sorted((data / "prompt_suites").iterdir())]:
        if folder.is_dir():
            try:
                found.setdefault(recognise(folder)[0].name, folder)
            except SightlineError:
                continue  # a folder of a kind that no importer reads, or several data sets side by side
    return found


@pytest.fixture
def given(name: str, tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """The importer's source, which a test leaves as it is."""
    home = tmp_path / "given"
    if name in MADE:
        path, files = MADE[name]
        for file, content in files.items():
            (home / file).parent.mkdir(parents=True, exist_ok=True)
            (home / file).write_bytes(png(content) if file.endswith(".png") else content.encode())
        return home / path
    published: dict[str, Path] = request.getfixturevalue("published")
    assert name in published, f"no source to try {name} on: add a small one to MADE"
    return published[name]


@pytest.fixture
def source(given: Path, tmp_path: Path) -> Path:
    """A copy of the importer's source that a test may spoil."""
    home = tmp_path / "copy" / given.parent.name
    shutil.copytree(given.parent if given.is_file() else given, home, copy_function=shutil.copy)
    for place in [home, *home.rglob("*")]:
        place.chmod(0o755 if place.is_dir() else 0o644)
    return home / given.name if given.is_file() else home


@pytest.fixture
def study(name: str, tmp_path: Path) -> Iterator[Study]:
    """An empty study, or one with the prompts that the importer's source speaks of."""
    with create_study(tmp_path / "study") as made:
        if name in BEFORE:
            suite, table = BEFORE[name]
            (tmp_path / "before.csv").write_text(table)
            import_(made, tmp_path / "before.csv", options={"suite": suite})
        yield made


def dump(study: Study, without: tuple[str, ...] = ()) -> Dump:
    with database.reading(study.engine) as connection:
        found = {
            table.name: sorted((tuple(row) for row in connection.execute(table.select())), key=repr)
            for table in tables.metadata.sorted_tables
            if table.name not in without
        }
    # The number of an import stays taken after it is undone.
    found["setting"] = [row for row in found["setting"] if row[0] != "last_import"]
    return found


def texts(source: Path, suffixes: tuple[str, ...] = TEXTS) -> list[Path]:
    """The files of a source that can be spoilt, tables first and the largest first."""
    inside = [source] if source.is_file() else [path for path in source.rglob("*") if path.is_file()]
    found = [path for path in inside if path.suffix in suffixes and "readme" not in path.name.lower()]
    return sorted(found, key=lambda path: (path.suffix == ".txt", -path.stat().st_size))


def refusal(source: Path, name: str) -> SightlineError | None:
    """Why the source is refused, if it is; recognising it may be what refuses it."""
    try:
        preview(source, format=name)
    except SightlineError as error:
        return error
    return None


@every_importer
def test_is_recognised_without_a_word(name: str, given: Path) -> None:
    importer, said = recognise(given)
    assert importer.name == name
    best, second, *_ = [claim.confidence for claim in said]
    assert best > second, "a tie would ask the user for --format"


@every_importer
def test_twice_is_as_once_and_undoing_leaves_nothing(name: str, given: Path, study: Study) -> None:
    empty = dump(study)
    first = import_(study, given)
    assert not first.already and first.number is not None and sum(first.counts.values()) > 0
    full = dump(study)
    again = import_(study, given)
    assert again.already and dump(study) == full
    assert undo(study, first.number).counts
    assert dump(study) == empty


@every_importer
def test_a_copy_elsewhere_adds_nothing(name: str, given: Path, source: Path, study: Study) -> None:
    import_(study, given)
    notes = ("source", "mention")
    full = dump(study, notes)
    # Folders of images are told apart by their times: a touched copy is another source with the same rows.
    for path in source.rglob("*.*g"):
        os.utime(path, (1, 1))
    import_(study, source)
    assert dump(study, notes) == full


@every_importer
def test_nobody_is_invented(name: str, given: Path, study: Study) -> None:
    import_(study, given)
    held = "\n".join(path.read_text("utf-8", "replace") for path in texts(given))
    for _, _, who, *_ in dump(study)["annotator"]:
        assert who in held, f"{who} is named nowhere in the source"
    with database.reading(study.engine) as connection:
        idle = connection.exec_driver_sql(
            "SELECT name FROM annotator WHERE id NOT IN "
            "(SELECT annotator_id FROM judgement WHERE annotator_id IS NOT NULL)"
        ).fetchall()
    assert idle == [], "an annotator without a vote"


@every_importer
def test_errors_name_file_and_line(name: str, source: Path, study: Study) -> None:
    empty = dump(study)
    told = []
    for path in texts(source)[:4]:
        whole = path.read_bytes()
        path.write_bytes(whole.rstrip(b"\n") + b"\n\xff\xfe\n")
        last = whole.rstrip(b"\n").count(b"\n") + 2
        error = refusal(source, name)
        if error is not None:
            told.append(path)
            assert isinstance(error, DataError) and error.remedy
            assert re.search(rf"{re.escape(path.name)}:{last}$", error.where), error.where
            with pytest.raises(DataError):
                import_(study, source, format=name)
            assert dump(study) == empty, "something was half-written"
        path.write_bytes(whole)
    assert told or not texts(source), "none of its files seems to be read"


@every_importer
def test_half_a_source_is_refused(name: str, source: Path, study: Study) -> None:
    if name in NEVER_HALF:
        assert not texts(source), f"{name} reads a file that could be cut short"
        return
    empty = dump(study)
    spoilt = source / MISSING[name] if name in MISSING else texts(source, (*TEXTS, *BINARY))[0]
    if name in MISSING:
        spoilt.unlink()
    else:
        spoilt.write_bytes(half(spoilt))
    error = refusal(source, name)
    assert error is not None, f"{spoilt.name} ends in the middle and nobody noticed"
    assert spoilt.name in error.where and error.remedy
    with pytest.raises(SightlineError):
        import_(study, source)
    assert dump(study) == empty


def half(path: Path) -> bytes:
    """The first half of a file, cut in the middle of a row."""
    whole = path.read_bytes()
    if path.suffix in BINARY or path.suffix == ".json" or whole.count(b"\n") < 2:
        return whole[: len(whole) // 2]
    separator = {".csv": b",", ".tsv": b"\t", ".jsonl": b":"}.get(path.suffix, b" ")
    row = whole.rindex(b"\n", 0, max(len(whole) // 2, whole.index(b"\n") + 2)) + 1
    return whole[: whole.index(separator, row)]


def test_two_data_sets_in_one_folder_are_not_guessed_at(tmp_path: Path, data: Path) -> None:
    shutil.copy(data / "prompt_suites" / "drawbench" / "DrawBench.csv", tmp_path)
    shutil.copy(data / "prompt_suites" / "partiprompts" / "PartiPrompts.tsv", tmp_path)
    with pytest.raises(SightlineError, match="drawbench or partiprompts") as caught:
        recognise(tmp_path)
    assert "--format" in caught.value.remedy


def test_the_suite_would_notice(tmp_path: Path) -> None:
    """A cut file is shorter, ends inside a row, and is still not empty."""
    file = tmp_path / "x.csv"
    file.write_bytes(b"a,b,c\n" + b"1,2,3\n" * 10)
    assert half(file) == b"a,b,c\n" + b"1,2,3\n" * 4 + b"1"
