"""Folder layouts and TREC files, made small by hand."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sightline import registry
from sightline.data.import_ import recognise
from sightline.data.sources import Source, prompt_ref
from sightline.errors import DataError
from sightline.records import Answer, Image, ImageKey, Item, Prompt, PromptKey, Question, System, Truth

Run = Callable[..., list[Any]]
Fill = Callable[..., Path]


def test_folder(tmp_path: Path, fill: Fill, run: Run, png: bytes) -> None:
    files = [
        "one/a dog.png",
        "one/two cats/0.png",
        "one/two cats/10.png",
        "one/two cats/2.png",
        "two/a dog.jpg",
    ]
    root = fill(tmp_path, {**dict.fromkeys(files, png), "two/notes.md": "x", "one/.DS_Store": "x"})
    dog, cats = (PromptKey("prompts", prompt_ref(text)) for text in ("a dog", "two cats"))
    assert [record._replace(at="") for record in run("folder", root, Answer)] == [
        Answer(dog, "one", 0, ImageKey("images", "one/a dog.png")),
        Answer(cats, "one", 0, ImageKey("images", "one/two cats/0.png")),
        Answer(cats, "one", 1, ImageKey("images", "one/two cats/2.png")),
        Answer(cats, "one", 2, ImageKey("images", "one/two cats/10.png")),
        Answer(dog, "two", 0, ImageKey("images", "two/a dog.jpg")),
    ]
    assert {(p.key, p.text) for p in run("folder", root, Prompt)} == {(dog, "a dog"), (cats, "two cats")}
    assert {image.path for image in run("folder", root, Image)} == {str(root / name) for name in files}


def test_a_folder_of_images_alone_is_a_collection(tmp_path: Path, fill: Fill, run: Run, png: bytes) -> None:
    root = fill(tmp_path / "photos", {"2.png": png, "10.jpg": png, "notes.md": "x"})
    assert recognise(root)[0].name == "images"
    # Next to folders of images they are rather left over; a table says more than names of files do.
    fill(root, {"animals/big/0.png": png})
    assert recognise(root)[0].name == "folder"
    assert [(image.key, dict(image.tags)) for image in run("images(collection=photos)", root)] == [
        (ImageKey("photos", "2.png"), {}),
        (ImageKey("photos", "10.jpg"), {}),
        (ImageKey("photos", "animals/big/0.png"), {"folder": "animals/big"}),
    ]
    fill(root, {"captions.csv": "image,caption\n2.png,a dog\n"})
    with pytest.raises(DataError, match="layout"):
        recognise(root)


def test_folder_takes_accents_apart_or_together_alike(
    tmp_path: Path, fill: Fill, run: Run, png: bytes
) -> None:
    root = fill(tmp_path, {"one/cafe\u0301.png": png, "two/caf\u00e9.png": png})
    assert {prompt.text for prompt in run("folder", root, Prompt)} == {"caf\u00e9"}


def test_folder_reports_what_it_left_out(
    tmp_path: Path, fill: Fill, left_out: Callable[..., Any], png: bytes
) -> None:
    root = fill(
        tmp_path, {"one/a dog.png": png, "loose.png": png, "empty/readme.md": "x", "one/a cat/x.md": "x"}
    )
    assert left_out("folder", root) == {
        "images outside any system's folder": ["loose.png"],
        "folders without images": ["empty", "one/a cat"],
    }


METADATA = {
    "tag": "position",
    "include": [
        {"class": "dog", "count": 1},
        {"class": "cat", "count": 2, "color": "red", "position": ["above", 0]},
    ],
    "exclude": [{"class": "cat", "count": 3}, {"class": "bus", "count": 1}],
    "prompt": "two red cats above a dog",
}


@pytest.mark.parametrize("under", ["sdxl/", ""])
def test_geneval(tmp_path: Path, fill: Fill, run: Run, png: bytes, under: str) -> None:
    root = tmp_path / "sdxl" if not under else tmp_path
    fill(
        root,
        {
            f"{under}00000/metadata.jsonl": json.dumps(METADATA) + "\n",
            f"{under}00000/grid.png": png,
            f"{under}00000/samples/0000.png": png,
            f"{under}00000/samples/0003.png": png,
        },
    )
    assert [(a.system, a.position, a.prompt, a.image) for a in run("geneval", root, Answer)] == [
        ("sdxl", 0, PromptKey("geneval", "00000"), ImageKey("geneval", f"{under}00000/samples/0000.png")),
        ("sdxl", 3, PromptKey("geneval", "00000"), ImageKey("geneval", f"{under}00000/samples/0003.png")),
    ]
    (prompt,) = run("geneval", root, Prompt)
    assert prompt.text == METADATA["prompt"] and prompt.tags == {"tag": "position", "skill": "spatial"}
    cats = {"kind": "cat", "count": 2, "at_least": False, "colour": "red", "size": None}
    assert prompt.expects["objects"][1] == cats and prompt.expects["objects"][0]["at_least"] is True
    assert prompt.expects["relation"] == {"first": "cat", "where": "above", "second": "dog"}
    assert prompt.expects["absent"] == ["bus"]


def test_geneval_without_a_prompt(tmp_path: Path, fill: Fill, run: Run, png: bytes) -> None:
    fill(tmp_path, {"s/00000/metadata.jsonl": '{"tag": "x"}', "s/00000/samples/0.png": png})
    with pytest.raises(DataError, match="names no prompt") as caught:
        run("geneval", tmp_path)
    assert caught.value.where == "s/00000/metadata.jsonl:1"


def test_w1kp(tmp_path: Path, fill: Fill, run: Run, png: bytes) -> None:
    for seed in (10, 9):
        folder = f"sdxl/4/{seed}"
        fill(tmp_path, {f"{folder}/image.png": png, f"{folder}/prompt.txt": "a dog\n"})
    fill(tmp_path, {"sdxl/4/9/metadata.json": '{"steps": 30}', "sdxl/4/11/prompt.txt": "a dog"})
    found = run("w1kp", tmp_path)
    key = PromptKey("w1kp", "4")
    assert [record._replace(at="") for record in found if not isinstance(record, Image)] == [
        System("sdxl"),
        Prompt(key, "a dog"),
        Answer(key, "sdxl", 0, ImageKey("w1kp", "sdxl/4/9/image.png"), None, 9, {"steps": 30}),
        Answer(key, "sdxl", 1, ImageKey("w1kp", "sdxl/4/10/image.png"), None, 10),
    ]


def test_imagenhub_in_its_original_folders(tmp_path: Path, fill: Fill, run: Run, png: bytes) -> None:
    lookup = {"sample_0.jpg": {"prompt": "a dog", "category": "Colors", "source": "DrawBench"}}
    fill(
        tmp_path, {"dataset_lookup.json": json.dumps(lookup), "SD/sample_0.jpg": png, "SD/sample_9.jpg": png}
    )
    assert recognise(tmp_path)[0].name == "imagenhub"
    (prompt,) = run("imagenhub", tmp_path, Prompt)
    assert prompt.tags == {"category": "Colors", "source": "DrawBench", "skill": "compositional"}
    assert [(a.system, a.image) for a in run("imagenhub", tmp_path, Answer)] == [
        ("SD", ImageKey("imagenhub", "SD/sample_0.jpg"))
    ]


RUN = "q1 Q0 b 2 0.5 clip\nq1 Q0 a 1 0.9 clip\n\nq2 Q0 a 1 0.1 clip\n"


def test_trec_run(tmp_path: Path, fill: Fill, run: Run) -> None:
    fill(tmp_path, {"clip.run": RUN, "topics.tsv": "q1\ta dog\nq2\ta cat, asleep\n"})
    found = run("trec_run(suite='t', collection='c')", tmp_path / "clip.run")
    assert found == [
        Prompt(PromptKey("t", "q1"), "a dog", at="topics.tsv:1"),
        Prompt(PromptKey("t", "q2"), "a cat, asleep", at="topics.tsv:2"),
        System("clip", "retriever", "c", "clip.run:2"),
        Answer(PromptKey("t", "q1"), "clip", 0, ImageKey("c", "a"), 0.9, at="clip.run:2"),
        Answer(PromptKey("t", "q1"), "clip", 1, ImageKey("c", "b"), 0.5, at="clip.run:1"),
        Answer(PromptKey("t", "q2"), "clip", 0, ImageKey("c", "a"), 0.1, at="clip.run:4"),
    ]


def test_trec_run_reports_when_scores_and_ranks_disagree(tmp_path: Path, fill: Fill) -> None:
    source = Source(fill(tmp_path, {"x.run": "q Q0 a 1 0.1 s\nq Q0 b 2 0.2 s\n"}) / "x.run")
    list(registry.get("importer", "trec_run")(source))
    reason = "scores that rise with the rank (ranks decide, unlike in trec_eval)"
    assert source.skipped == {reason: ["x.run:2"]} and source.noted == {reason}


@pytest.mark.parametrize(
    ("importer", "content", "where", "what"),
    [
        ("trec_run", "q Q0 a 1 0.1 s\nq Q0 a 1\n", "x.run:2", "4 cells instead of 6"),
        ("trec_run", "q Q0 a first 0.1 s\n", "x.run:1", "must be numbers"),
        ("trec_run", "q Q0 a 1 nan s\n", "x.run:1", "must be numbers"),
        ("trec_run", "q Q0 a 1 0.1 s\nq Q0 b 1 0.1 s\n", "x.run:2", "rank 1 is there twice"),
        ("trec_run", "q Q0 a 1 0.9 s\nq Q0 b 2 0.5 s\nq Q0 a 3 0.4 s\n", "x.run:3", "ranked twice"),
        ("trec_run", "q Q0 a 1 inf s\n", "x.run:1", "must be numbers"),
        ("trec_run", "q Q0 a 1 1 s\np Q0 a 1 1 s\nq Q0 b 2 0 s\n", "x.run:3", "not together"),
        ("trec_qrels", "q 0 a 1\nq 0 b\n", "x.run:2", "3 cells instead of 4"),
        ("trec_qrels", "q 0 a high\n", "x.run:1", "not a whole number"),
    ],
)
def test_bad_trec_files(
    tmp_path: Path, fill: Fill, run: Run, importer: str, content: str, where: str, what: str
) -> None:
    with pytest.raises(DataError) as caught:
        run(importer, fill(tmp_path, {"x.run": content}) / "x.run")
    assert caught.value.where == where and what in caught.value.what and caught.value.remedy


def test_trec_qrels(tmp_path: Path, fill: Fill, run: Run) -> None:
    fill(tmp_path, {"x.qrels": "q1 0 a 2\nq1 0 b -1\n"})
    assert run("trec_qrels(suite='t', collection='c')", tmp_path / "x.qrels") == [
        Question("relevance", "ordinal", at="x.qrels"),
        Truth("relevance", Item(PromptKey("t", "q1"), image=ImageKey("c", "a")), 2.0, at="x.qrels:1"),
        Truth("relevance", Item(PromptKey("t", "q1"), image=ImageKey("c", "b")), -1.0, at="x.qrels:2"),
    ]


def test_a_run_and_its_judgements_agree_with_trec_eval(tmp_path: Path, fill: Fill, run: Run) -> None:
    import pytrec_eval

    fill(tmp_path, {"clip.run": RUN, "x.qrels": "q1 0 b 1\nq1 0 a 0\nq2 0 a 1\n"})
    ranked = {(a.prompt, a.position): a.image for a in run("trec_run", tmp_path / "clip.run", Answer)}
    relevant = {
        (t.item.prompt, t.item.image): t.value for t in run("trec_qrels", tmp_path / "x.qrels", Truth)
    }
    with (tmp_path / "clip.run").open() as lines, (tmp_path / "x.qrels").open() as truth:
        evaluator = pytrec_eval.RelevanceEvaluator(pytrec_eval.parse_qrel(truth), {"recip_rank"})
        reference = evaluator.evaluate(pytrec_eval.parse_run(line for line in lines if line.strip()))
    for qid, scores in reference.items():
        key = PromptKey("prompts", qid)
        first = min(
            position for (prompt, position), image in ranked.items() if prompt == key and relevant[key, image]
        )
        assert scores["recip_rank"] == pytest.approx(1 / (first + 1))
