"""Prompts, answers, judgements, truths and captions from CSV, JSONL and Parquet alike."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sightline import registry
from sightline.data.import_ import recognise
from sightline.data.sources import Source, prompt_ref
from sightline.errors import DataError
from sightline.records import (
    AnnotatorKey,
    Answer,
    Image,
    ImageKey,
    Item,
    Judgement,
    Prompt,
    PromptKey,
    PromptText,
    Question,
    Record,
    System,
    Truth,
)

Run = Callable[..., list[Record]]
BALL = PromptKey("prompts", "1")

TABLES: dict[str, tuple[list[dict[str, Any]], list[Record]]] = {
    "prompts": (
        [
            {"prompt_id": "1", "prompt": "a red ball", "tags.skill": "colour", "expects": '{"objects": []}'},
            {"prompt": 'two\n"red" balls', "builds_on": "1"},
            {"prompt_id": "3", "prompt": "ein Bär 🐻", "rephrases": "1 2"},
        ],
        [
            Prompt(BALL, "a red ball", {"skill": "colour"}, [], {"objects": []}),
            Prompt(
                PromptKey("prompts", prompt_ref('two\n"red" balls')),
                'two\n"red" balls',
                {},
                [("builds_on", BALL)],
            ),
            Prompt(
                PromptKey("prompts", "3"),
                "ein Bär 🐻",
                {},
                [("rephrases", BALL), ("rephrases", PromptKey("prompts", "2"))],
            ),
        ],
    ),
    "answers": (
        [
            {
                "prompt": "a red ball",
                "prompt_id": "1",
                "image": "a.png",
                "system": "s",
                "score": 0.5,
                "seed": 7,
                "tags.skill": "colour",
                "settings.steps": 30,
                "settings.sampler": "euler",
            },
            {
                "prompt": "a red ball",
                "prompt_id": "1",
                "image": "b.png",
                "system": "s",
                "tags.skill": "colour",
            },
            {"prompt": "a dog", "image": "c.png", "system": "t", "kind": "retriever", "position": 4},
            {"prompt": "a dog", "system": "s", "failure": "refused"},
        ],
        [
            System("s"),
            Prompt(BALL, "a red ball", {"skill": "colour"}),
            Answer(BALL, "s", 0, ImageKey("images", "a.png"), 0.5, 7, {"steps": 30, "sampler": "euler"}),
            Answer(BALL, "s", 1, ImageKey("images", "b.png")),
            System("t", "retriever", "images"),
            Prompt(PromptKey("prompts", prompt_ref("a dog")), "a dog"),
            Answer(PromptKey("prompts", prompt_ref("a dog")), "t", 4, ImageKey("images", "c.png")),
            Answer(PromptKey("prompts", prompt_ref("a dog")), "s", 0, None, failure="refused"),
        ],
    ),
    "judgements": (
        [
            {
                "annotator": "ann",
                "prompt_id": "1",
                "system": "s",
                "image": "a.png",
                "question": "fit",
                "value": 4,
                "session": "2",
                "control": True,
                "time": "2024-05-01T12:30:00Z",
                "took_ms": 900,
                "repetition": 1,
                "revision": 2,
            },
            {
                "annotator": "bob",
                "panel": "lab",
                "prompt": "a red ball",
                "question": "fit",
                "skipped": "unclear",
            },
            {"image": "a.png", "image_b": "b.png", "question": "better", "value": 1, "n": 5},
        ],
        [
            Question("fit"),
            Judgement(
                "fit",
                Item(BALL, "s", ImageKey("images", "a.png")),
                4.0,
                AnnotatorKey("people", "ann"),
                1,
                None,
                1,
                2,
                "2",
                True,
                900,
                "2024-05-01T12:30:00Z",
            ),
            Judgement(
                "fit", Item(PromptText("a red ball")), None, AnnotatorKey("lab", "bob"), skipped="unclear"
            ),
            Question("better"),
            Judgement(
                "better",
                Item(None, None, ImageKey("images", "a.png"), ImageKey("images", "b.png")),
                1.0,
                n=5,
            ),
        ],
    ),
    "truths": (
        [
            {
                "question": "fit",
                "prompt_id": "1",
                "system": "s",
                "value": 0.8,
                "low": 0.7,
                "high": 0.9,
                "n": 12,
            },
            {"question": "fit", "prompt": "a dog", "value": -1, "rule": "expert"},
        ],
        [
            Question("fit"),
            Truth("fit", Item(BALL, "s"), 0.8, 0.7, 0.9, 12),
            Truth("fit", Item(PromptText("a dog")), -1.0, rule="expert"),
        ],
    ),
    "captions": (
        [
            {"image": "a.png", "caption": "A dog."},
            {"image": "a.png", "caption": "Ein Hund."},
            {"image": "b.png", "caption": 'A "cat", asleep.'},
        ],
        [
            Image(ImageKey("images", "a.png"), None, ("A dog.", "Ein Hund.")),
            Image(ImageKey("images", "b.png"), None, ('A "cat", asleep.',)),
        ],
    ),
}


def write(file: Path, rows: list[dict[str, Any]]) -> Path:
    names = list(dict.fromkeys(name for row in rows for name in row))
    if file.suffix == ".parquet":
        polars.DataFrame([{name: row.get(name) for name in names} for row in rows]).write_parquet(file)
    elif file.suffix == ".jsonl":
        file.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    else:
        with file.open("w", newline="", encoding="utf-8") as stream:
            writer = csv.DictWriter(stream, names)
            writer.writeheader()
            writer.writerows(rows)
    return file


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize("form", TABLES)
def test_each_form_from_each_kind_of_file(tmp_path: Path, run: Run, form: str, suffix: str) -> None:
    rows, expected = TABLES[form]
    found = run(form, write(tmp_path / f"data.{suffix}", rows))
    assert [record._replace(at="") for record in found] == expected
    assert all(record.at.startswith(f"data.{suffix}:") for record in found)


@pytest.mark.parametrize("form", TABLES)
def test_each_form_claims_its_own_table_and_no_other(tmp_path: Path, form: str) -> None:
    source = Source(write(tmp_path / "data.csv", TABLES[form][0]))
    claims = {name: registry.get("importer", name).spec.details["claims"](source) for name in TABLES}
    claimed = [name for name, claim in claims.items() if claim > 0]

    assert claimed == [form]


def test_a_text_file_is_a_prompt_a_line(tmp_path: Path, run: Run) -> None:
    (tmp_path / "p.txt").write_text("a dog\n\n  a cat \n")
    found = run("prompts(suite='mine')", tmp_path / "p.txt")
    assert found == [
        Prompt(PromptKey("mine", prompt_ref("a dog")), "a dog", at="p.txt:1"),
        Prompt(PromptKey("mine", prompt_ref("a cat")), "a cat", at="p.txt:3"),
    ]


def test_images_beside_the_table_come_in(tmp_path: Path, run: Run, png: bytes) -> None:
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "a.png").write_bytes(png)
    file = tmp_path / "answers.csv"
    file.write_text("prompt,image,system\na dog,s/a.png,s\n")
    assert [r.path for r in run("answers", file) if isinstance(r, Image)] == [str(tmp_path / "s" / "a.png")]
    assert not [r for r in run("answers(names_only=True)", file) if isinstance(r, Image)]


@pytest.mark.parametrize("order", [("a.png", "gone.png"), ("gone.png", "a.png")])
def test_some_images_here_and_some_not_is_an_error(
    tmp_path: Path, run: Run, png: bytes, order: tuple[str, str]
) -> None:
    (tmp_path / "a.png").write_bytes(png)
    file = tmp_path / "answers.csv"
    file.write_text("prompt,image,system\n" + "".join(f"a dog,{name},s\n" for name in order))
    with pytest.raises(DataError, match=r"no image 'gone\.png'") as caught:
        run("answers", file)
    assert caught.value.where == f"answers.csv:{order.index('gone.png') + 2}"
    assert "names_only" in caught.value.remedy
    assert len([r for r in run("answers(names_only=True)", file) if isinstance(r, Answer)]) == 2


def test_known_prompts_are_named_by_their_wording(tmp_path: Path, run: Run) -> None:
    file = tmp_path / "answers.csv"
    file.write_text("prompt,image,system\na dog,a.png,s\n")
    found = run("answers(known_prompts=True)", file)
    assert found == [
        System("s", at="answers.csv:2"),
        Answer(PromptText("a dog"), "s", 0, ImageKey("images", "a.png"), at="answers.csv:2"),
    ]


def test_a_scale_told_in_the_table(tmp_path: Path, run: Run) -> None:
    file = tmp_path / "j.csv"
    file.write_text(
        "annotator,image,question,value,scale,scale_low,scale_high,scale_step,direction\n"
        "a,x.png,fit,1,ordinal,1,5,1,lower\na,y.png,fit,2,ordinal,1,5,1,lower\n"
    )
    assert [r for r in run("judgements", file) if isinstance(r, Question)] == [
        Question("fit", "ordinal", 1.0, 5.0, 1.0, direction="lower", at="j.csv:2")
    ]


@pytest.mark.parametrize(
    ("form", "table", "where", "what"),
    [
        ("prompts", "prompt_id,prompt\n1,x\n2,\n", "t.csv:3", "prompt is empty"),
        ("prompts", "prompt,expects\nx,nonsense\n", "t.csv:2", "not JSON"),
        ("prompts", "prompt,expects\nx,[1]\n", "t.csv:2", "a JSON object"),
        ("answers", "prompt,image,system\nx,a.png,\n", "t.csv:2", "system is empty"),
        ("answers", "prompt,image,system\nx,,s\n", "t.csv:2", "image is empty"),
        ("answers", "prompt,image,system\nx,../a.png,s\n", "t.csv:2", "leaves the folder"),
        ("answers", "prompt,image,system\nx,/etc/a.png,s\n", "t.csv:2", "leaves the folder"),
        ("answers", "prompt,image,system,failure\nx,a.png,s,why\n", "t.csv:2", "both an image and a failure"),
        ("answers", "prompt,image,system,kind\nx,a.png,s,painter\n", "t.csv:2", "generator or retriever"),
        (
            "answers",
            "prompt,image,system,position\nx,a.png,s,first\n",
            "t.csv:2",
            "position must be a whole number",
        ),
        ("answers", "prompt,image,system,score\nx,a.png,s,NaN\n", "t.csv:2", "score must be a finite number"),
        ("answers", "prompt,picture,system\nx,a.png,s\n", "t.csv:1", "no column image or failure"),
        (
            "judgements",
            "annotator,prompt,question,value\na,x,q,good\n",
            "t.csv:2",
            "value must be a finite number",
        ),
        ("judgements", "annotator,prompt,question,value\na,x,q,\n", "t.csv:2", "value is empty"),
        ("judgements", "annotator,prompt,question,value\na,,q,1\n", "t.csv:2", "neither a prompt"),
        ("judgements", "annotator,prompt,question,value,n\na,x,q,1,3\n", "t.csv:2", "n must be"),
        ("judgements", "annotator,prompt,question,value,skipped\na,x,q,1,why\n", "t.csv:2", "both a value"),
        ("judgements", "annotator,prompt,question,value,time\na,x,q,1,noon\n", "t.csv:2", "time must be"),
        ("judgements", "annotator,prompt,question,value,scale\na,x,q,1,loud\n", "t.csv:2", "scale must be"),
        ("truths", "prompt,question,value,low,high\nx,q,5,1,2\n", "t.csv:2", "between its low"),
        ("captions", "image,caption\n,A dog.\n", "t.csv:2", "image is empty"),
    ],
)
def test_bad_rows_are_told_with_place_and_remedy(
    tmp_path: Path, run: Run, form: str, table: str, where: str, what: str
) -> None:
    (tmp_path / "t.csv").write_text(table)
    with pytest.raises(DataError) as caught:
        run(form, tmp_path / "t.csv")
    assert caught.value.where == where and what in caught.value.what and caught.value.remedy


TEXT = st.text(st.characters(exclude_characters="\0\r", exclude_categories=["Cs"])).filter(
    lambda text: text.strip()
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(TEXT, min_size=1, max_size=5))
def test_odd_prompts_come_through_every_kind_of_file(run: Run, tmp_path: Path, texts: list[str]) -> None:
    rows = [{"prompt": text} for text in texts]
    for suffix in ("csv", "jsonl", "parquet"):
        found = run("prompts", write(tmp_path / f"p.{suffix}", rows))
        assert [(p.text, p.key.ref) for p in found if isinstance(p, Prompt)] == [
            (t, prompt_ref(t)) for t in texts
        ]


def test_a_slip_in_a_column_is_no_table_of_prompts(tmp_path: Path) -> None:
    file = tmp_path / "answers.csv"
    file.write_text("prompt,image,sytem\na ball,1.png,careful\n")
    with pytest.raises(DataError, match="--column system=sytem"):
        recognise(file)
    file.write_text("prompt,origin\na ball,a book\n")
    assert recognise(file)[0].name == "prompts"


@pytest.mark.parametrize(
    ("slip", "meant"),
    [("positon", "position"), ("Position", "position"), ("seeed", "seed"), ("tag.skill", "tags.skill")],
)
def test_a_slip_in_an_optional_column_is_refused(tmp_path: Path, slip: str, meant: str) -> None:
    file = tmp_path / "answers.csv"
    file.write_text(f"prompt,image,system,{slip}\na ball,1.png,careful,1\n")
    with pytest.raises(DataError, match=f"is it '{meant}'") as caught:
        list(registry.configure("importer", "answers").load()(Source(file)))
    assert caught.value.where == "answers.csv:1"
    assert f"--column {meant}={slip}" in caught.value.remedy


def test_a_slip_in_annotator_is_no_table_of_truths(tmp_path: Path) -> None:
    file = tmp_path / "votes.csv"
    file.write_text("prompt,annotater,question,value\na ball,ann,fit,1\n")
    with pytest.raises(DataError, match="annotator=annotater"):
        recognise(file)
