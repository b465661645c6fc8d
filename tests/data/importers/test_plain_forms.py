"""Prompts, answers, judgements, truths and captions from CSV, JSONL and Parquet alike."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

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

Run = Callable[..., list[Any]]
Table = Callable[..., Path]
Refuses = Callable[..., None]
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
                "image_tags.blur": "strong",
            },
            {"prompt": "a dog", "image": "c.png", "system": "t", "kind": "retriever", "position": 4},
            {"prompt": "a dog", "system": "s", "failure": "refused"},
        ],
        [
            System("s"),
            Prompt(BALL, "a red ball", {"skill": "colour"}),
            Answer(BALL, "s", 0, ImageKey("images", "a.png"), 0.5, 7, {"steps": 30, "sampler": "euler"}),
            Image(ImageKey("images", "b.png"), tags={"blur": "strong"}),
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
            Prompt(PromptKey("prompts", prompt_ref("a red ball")), "a red ball"),
            Judgement(
                "fit", Item(PromptText("a red ball")), None, AnnotatorKey("lab", "bob"), skipped="unclear"
            ),
            Question("better", "ordinal", 0, 1, direction="none"),
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
            Prompt(PromptKey("prompts", prompt_ref("a dog")), "a dog"),
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


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize("form", TABLES)
def test_each_form_from_each_kind_of_file(
    tmp_path: Path, run: Run, table: Table, form: str, suffix: str
) -> None:
    rows, expected = TABLES[form]
    found = run(form, table(tmp_path / f"data.{suffix}", rows))
    assert [record._replace(at="") for record in found] == expected
    assert all(record.at.startswith(f"data.{suffix}:") for record in found)


@pytest.mark.parametrize("form", TABLES)
def test_each_form_claims_its_own_table_and_no_other(tmp_path: Path, table: Table, form: str) -> None:
    source = Source(table(tmp_path / "data.csv", TABLES[form][0]))
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


def test_images_next_to_the_table_are_imported(example: Callable[..., Path], run: Run) -> None:
    file = example("answers")
    assert [image.path for image in run("answers", file, Image)] == [
        str(file.with_name(name)) for name in ("a.png", "b.png")
    ]
    assert run("answers(names_only=True)", file, Image) == []


@pytest.mark.parametrize("order", [("a.png", "gone.png"), ("gone.png", "a.png")])
def test_some_images_here_and_some_not_is_an_error(
    example: Callable[..., Path], refuses: Refuses, run: Run, order: tuple[str, str]
) -> None:
    rows = {"answers.csv": "prompt,image,system\n" + "".join(f"a dog,{name},s\n" for name in order)}
    where = f"answers.csv:{order.index('gone.png') + 2}"
    refuses("answers", rows, where, r"no image 'gone\.png'")
    assert len(run("answers(names_only=True)", example("answers", rows), Answer)) == 2


def test_known_prompts_are_named_by_their_wording(example: Callable[..., Path], run: Run) -> None:
    file = example("answers", {"answers.csv": "prompt,image,system\na dog,c.png,s\n"})
    assert run("answers(known_prompts=True)", file) == [
        System("s", at="answers.csv:2"),
        Answer(PromptText("a dog"), "s", 0, ImageKey("images", "c.png"), at="answers.csv:2"),
    ]


def test_a_scale_stated_in_the_table(example: Callable[..., Path], run: Run) -> None:
    rows = (
        "annotator,image,question,value,scale,scale_low,scale_high,scale_step,direction\n"
        "a,x.png,fit,1,ordinal,1,5,1,lower\na,y.png,fit,2,ordinal,1,5,1,lower\n"
    )
    assert run("judgements", example("judgements", {"votes.csv": rows}), Question) == [
        Question("fit", "ordinal", 1.0, 5.0, 1.0, direction="lower", at="votes.csv:2")
    ]


ANSWER, VOTE = "prompt,image,system", "annotator,prompt,question,value"


@pytest.mark.parametrize(
    ("form", "header", "row", "what"),
    [
        ("prompts", "prompt_id,prompt", "2,", "prompt is empty"),
        ("prompts", "prompt,expects", "x,nonsense", "not JSON"),
        ("prompts", "prompt,expects", "x,[1]", "a JSON object"),
        ("answers", ANSWER, "x,a.png,", "system is empty"),
        ("answers", ANSWER, "x,,s", "image is empty"),
        ("answers", ANSWER, "x,../a.png,s", "leaves the folder"),
        ("answers", ANSWER, "x,/etc/a.png,s", "leaves the folder"),
        ("answers", f"{ANSWER},failure", "x,a.png,s,why", "both an image and a failure"),
        ("answers", f"{ANSWER},kind", "x,a.png,s,painter", "generator or retriever"),
        ("answers", f"{ANSWER},position", "x,a.png,s,first", "position must be a whole number"),
        ("answers", f"{ANSWER},score", "x,a.png,s,NaN", "score must be a finite number"),
        ("judgements", VOTE, "a,x,q,good", "value must be a finite number"),
        ("judgements", VOTE, "a,x,q,", "value is empty"),
        ("judgements", VOTE, "a,,q,1", "neither a prompt"),
        ("judgements", f"{VOTE},n", "a,x,q,1,3", "n must be"),
        ("judgements", f"{VOTE},skipped", "a,x,q,1,why", "both a value"),
        ("judgements", f"{VOTE},time", "a,x,q,1,noon", "time must be"),
        ("judgements", f"{VOTE},scale", "a,x,q,1,loud", "scale must be"),
        ("truths", "prompt,question,value,low,high", "x,q,5,1,2", "between its low"),
        ("captions", "image,caption", ",A dog.", "image is empty"),
    ],
)
def test_bad_rows(refuses: Refuses, form: str, header: str, row: str, what: str) -> None:
    file = {"judgements": "votes.csv"}.get(form, f"{form}.csv")
    refuses(form, {file: f"{header}\n{row}\n"}, f"{file}:2", what)


@pytest.mark.parametrize(
    ("form", "ours", "theirs"),
    [
        ("answers", "prompt,image,system", "prompt,file,model"),
        ("answers", "prompt,image,system", "caption,image_path,generator"),
        ("answers", "prompt,image,system", "text,filename,engine"),
        ("answers", "prompt,image,system", "Prompt,Path,Model"),
        ("judgements", "prompt,system,annotator,question,value", "text,model,rater,question,score"),
        ("judgements", "prompt,image,annotator,question,value", "caption,path,worker,question,rating"),
        ("judgements", "prompt,image,annotator,question,value", "prompt,file,user,question,label"),
        ("judgements", "prompt,image,annotator,question,value", "prompt,image,annotator_id,question,value"),
        (
            "judgements",
            "prompt,system,system_b,annotator,question,value",
            "prompt,model_a,model_b,user_id,question,label",
        ),
        ("judgements", "prompt,image,image_b,question,value", "prompt,image_a,image_b,question,score"),
    ],
)
def test_common_names_of_columns(tmp_path: Path, run: Run, form: str, ours: str, theirs: str) -> None:
    cells = {"prompt": "a dog", "image": "a.png", "image_b": "b.png", "system": "s", "system_b": "t"}
    cells |= {"annotator": "ann", "question": "fit", "value": "1"}
    row = ",".join(cells[name] for name in ours.split(","))
    (tmp_path / "t.csv").write_text(f"{ours}\n{row}\n")
    expected = run(form, tmp_path / "t.csv")
    (tmp_path / "t.csv").write_text(f"{theirs}\n{row}\n")
    importer, _ = recognise(tmp_path / "t.csv")
    assert importer.name == form
    source = Source(tmp_path / "t.csv")
    assert list(importer.load()(source)) == expected
    (reason,) = source.noted
    pairs = [f"{b} as {a}" for a, b in zip(ours.split(","), theirs.split(","), strict=True) if a != b]
    assert set(source.skipped[reason]) == set(pairs) and not source.skipped.keys() - source.noted


def test_our_own_columns_and_column_options_come_first(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("prompt,image,file,model,system,maker\na dog,a.png,b.png,x,y,z\n")
    importer, _ = recognise(tmp_path / "t.csv")
    (answer,) = (each for each in importer.load()(Source(tmp_path / "t.csv")) if isinstance(each, Answer))
    assert (answer.image, answer.system) == (ImageKey("images", "a.png"), "y")
    mapped = Source(tmp_path / "t.csv", columns={"system": "maker", "image": "file"})
    (answer,) = (each for each in importer.load()(mapped) if isinstance(each, Answer))
    assert (answer.image, answer.system) == (ImageKey("images", "b.png"), "z")


def test_a_missing_column(refuses: Refuses) -> None:
    rows = {"answers.csv": "prompt,picture,system\nx,a.png,s\n"}
    refuses("answers", rows, "answers.csv:1", "no column image or failure")


TEXT = st.text(st.characters(exclude_characters="\0\r", exclude_categories=["Cs"])).filter(
    lambda text: text.strip()
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(TEXT, min_size=1, max_size=5))
def test_odd_prompts_come_through_every_kind_of_file(
    run: Run, table: Table, tmp_path: Path, texts: list[str]
) -> None:
    rows = [{"prompt": text} for text in texts]
    for suffix in ("csv", "jsonl", "parquet"):
        found = run("prompts", table(tmp_path / f"p.{suffix}", rows))
        assert [(p.text, p.key.ref) for p in found if isinstance(p, Prompt)] == [
            (t, prompt_ref(t)) for t in texts
        ]


@pytest.mark.parametrize(
    ("rows", "slip"),
    [
        ("prompt,image,sytem\na ball,1.png,careful\n", "system=sytem"),
        ("prompt,annotater,question,value\na ball,ann,fit,1\n", "annotator=annotater"),
    ],
)
def test_a_table_with_a_slip_is_not_taken_for_another(tmp_path: Path, rows: str, slip: str) -> None:
    (tmp_path / "t.csv").write_text(rows)
    with pytest.raises(DataError, match=f"--column {slip}"):
        recognise(tmp_path / "t.csv")


def test_another_column_is_no_slip(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("prompt,origin\na ball,a book\n")
    assert recognise(tmp_path / "t.csv")[0].name == "prompts"


@pytest.mark.parametrize(
    ("slip", "meant"),
    [("positon", "position"), ("Position", "position"), ("seeed", "seed"), ("tag.skill", "tags.skill")],
)
def test_a_slip_in_an_optional_column_is_refused(refuses: Refuses, slip: str, meant: str) -> None:
    rows = {"answers.csv": f"prompt,image,system,{slip}\na ball,a.png,careful,1\n"}
    refuses("answers", rows, "answers.csv:1", rf"is it '{meant}'(.|\n)*--column {meant}={slip}")
