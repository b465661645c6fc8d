"""GIMBRR: tasks for cognitive skills, and people's yes or no on the answers of four systems."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator, Mapping
from typing import Any

from sightline.data.importers import _gimbrr
from sightline.data.sources import Row, Source
from sightline.errors import DataError
from sightline.extension import importer
from sightline.records import (
    Answer,
    Image,
    Item,
    Judgement,
    Prompt,
    PromptKey,
    Question,
    Record,
    System,
)

DIRECTORY = "Prompt_dir_*.csv"
EXTRA = "Prompt_dir_*_extraVars.csv"
VERDICTS = "annotations_df_*.csv"
COLUMNS = ("ID", "Prompt", "Representations", "Auto_assessment", "Task", "Task_specific_label")
LINKS = ("img2img_instructions", "Linked_prompts")
COUNTED = {"Object_num": "object_num", "Num_features": "num_features", "Num_objects": "num_objects"}
WORDED = {"Extra_characteristic": "extra_characteristic", "Common": "common"}
KNOWN = (*COLUMNS, *LINKS, *COUNTED, *WORDED)
VERDICT = ("File_name", "annotation", "Algorithm", "ID", "Prompt")
REPEATED = ("Prompt_no", "Task_backup", "Dashboard_version", *COLUMNS, *LINKS)
"""Columns of the verdicts that say again what the directory or the file's name says."""
ROWS = {
    "Prompt_dir_230228.csv": 2_302,
    "Prompt_dir_230228_extraVars.csv": 2_302,
    "annotations_df_230311.csv": 8_408,
}
MATCH = Question(
    "match", "nominal", 0.0, 1.0, 1.0, {"1": "yes", "0": "no"}, "Does this image match the text?"
)


def claims(source: Source) -> float:
    """Prompt_dir_*.csv or annotations_df_*.csv."""
    return 0.95 * (source.has(DIRECTORY) or source.has(VERDICTS))


@importer(
    claims=claims,
    source="Achterberg et al. 2023, GIMBRR (IntelLabs/generative-ai)",
    licence="not stated",
    files={
        "gimbrr/Prompt_dir_1.csv": ",ID,Prompt,Representations,Auto_assessment,Task,Task_specific_label,"
        "img2img_instructions,Linked_prompts\n"
        "0,1,a park without dogs,park,True,Negation,dog,,4\n"
        '1,2,three cats and six dogs,"cat, dog",True,Controlled arithmetic,"3,6",,"4,5"\n'
        '2,3,a cat on top of a dog,"cat, dog",False,Spatial relationships,on top of,,"4,5"\n'
        "3,4,cat,cat,True,Single object,,,\n"
        '4,5,"a sign that says ""dog""",sign,False,Text rendering,dog,,\n',
        "gimbrr/Prompt_dir_1_extraVars.csv": ",ID,Unnamed: 0,Prompt,Object_num,Extra_characteristic,"
        "Num_features,Common,Num_objects\n"
        "0,1,254.0,a park without dogs,1.0,False,,,\n"
        "1,2,,three cats and six dogs,,,,True,2.0\n"
        "2,3,,a cat on top of a dog,,,3.0,,\n"
        "3,4,,cat,,,,,\n"
        '4,5,,"a sign that says ""dog""",,,,,\n',
        "gimbrr/annotations_df_1.csv": "File_name,annotation,Algorithm,ID,Prompt\n"
        "p1_1_v0.png,True,Dalle,1,a park without dogs\n"
        "p2_1_v0.png,False,Dalle,2,two cats and four dogs\n"
        "p2_1_v0.png,False,MJ,2,two cats and four dogs\n"
        "p1_1_v0.png,False,MJ,1,a park without dogs\n"
        "p1_1_v0.png,True,MJ,1,a park without dogs\n",
    },
)
def gimbrr(
    source: Source,
    *,
    suite: str = "gimbrr",
    collection: str = "gimbrr",
    system: str = "",
    partial: bool = False,
) -> Iterator[Record]:
    """GIMBRR: the prompt directory, its extra variables, the verdicts on four systems, images p<ID>_<n>.

    Verdicts carry no names, so that they are anonymous; a file judged again is a repetition. Where the
    verdicts give another text than the directory, the prompt has the tags `judged_text` and
    `judged_text_rows` (how many verdicts). Images in folders, one a system, come in if they are there.
    `partial` admits fewer rows than were published.
    """
    directory, extra, verdicts = _files(source)
    others = _other_texts(source, verdicts) if verdicts else {}
    variables = _variables(source, extra, partial) if extra and extra != directory else {}
    prompts: set[str] = set()
    row = None
    for row in source.rows(directory, required=(*COLUMNS, "Linked_prompts"), known=KNOWN):
        prompt = _prompt(row, suite, variables, others, extra)
        ref = prompt.key.ref
        if ref in prompts:
            raise row.error(f"prompt {ref} is there twice", "Keep one.")
        prompts.add(ref)
        yield prompt
    _whole(directory, len(prompts), row, partial)
    if variables.keys() - prompts:
        raise _torn(f"prompt {min(variables.keys() - prompts)} is not in {directory}", extra)
    names: dict[tuple[str, str, int], str] = {}
    for record in _gimbrr.images(source, suite, collection, system or source.name, prompts):
        if isinstance(record, Answer) and isinstance(record.prompt, PromptKey) and record.image is not None:
            names[record.system, record.prompt.ref, record.position] = record.image.name
        yield record
    if verdicts:
        yield MATCH._replace(at=f"{verdicts}:1")
        yield from _verdicts(source, verdicts, suite, collection, prompts, names, partial)


def _files(source: Source) -> tuple[str, str, str]:
    extras = list(source.files(EXTRA))
    extra = _one(source, extras)
    directory = _one(source, [file for file in source.files(DIRECTORY) if file not in extras])
    verdicts = _one(source, list(source.files(VERDICTS)))
    if not directory and not extra:
        raise DataError(
            "the prompt directory is missing, so this is only a part of GIMBRR",
            where=verdicts,
            remedy=f"Put {DIRECTORY} next to it and import the folder.",
        )
    if not verdicts:
        source.skip(VERDICTS, "files of GIMBRR that are not here")
    return directory or extra, extra, verdicts


def _one(source: Source, found: list[str]) -> str:
    if len(found) > 1:
        raise DataError(
            f"{found[0]} and {found[1]} are versions of one file",
            where=str(source.path),
            remedy="Keep the one that is to be imported in the folder.",
        )
    return found[0] if found else ""


def _other_texts(source: Source, verdicts: str) -> dict[str, Counter[str]]:
    """How often the verdicts give each text for a prompt."""
    found: dict[str, Counter[str]] = {}
    for row in source.rows(verdicts, required=VERDICT):
        found.setdefault(_ref(row), Counter())[row.text("Prompt")] += 1
    return found


def _variables(source: Source, extra: str, partial: bool) -> dict[str, tuple[str, dict[str, str]]]:
    """The text of a prompt and its extra variables as tags."""
    found: dict[str, tuple[str, dict[str, str]]] = {}
    row = None
    for row in source.rows(extra, required=("ID", "Prompt", *COUNTED, *WORDED), known=KNOWN):
        found[_ref(row)] = row.text("Prompt"), _control_variables(row)
    _whole(extra, len(found), row, partial)
    return found


def _control_variables(row: Row) -> dict[str, str]:
    # Whole numbers stand in the file as 2.0, as they do where a column has gaps.
    tags = {
        tag: str(number) for name, tag in COUNTED.items() if (number := row.whole(name, None)) is not None
    }
    return tags | {tag: word for name, tag in WORDED.items() if (word := row.text(name, None)) is not None}


def _prompt(
    row: Row,
    suite: str,
    variables: Mapping[str, tuple[str, dict[str, str]]],
    others: Mapping[str, Counter[str]],
    extra: str,
) -> Prompt:
    ref, text = _ref(row), row.text("Prompt")
    known = variables.get(ref)
    if known is None and variables:
        raise _torn(f"prompt {ref} is not in {extra}", row.at)
    if known is not None and known[0] != text:
        raise _torn(f"prompt {ref} reads otherwise in {extra}", row.at)
    tags = {"task": row.text("Task"), "auto_assessment": row.text("Auto_assessment")}
    for name, tag in (
        ("Representations", "representations"),
        ("Task_specific_label", "label"),
        ("img2img_instructions", "img2img"),
    ):
        cell = row.text(name, None)
        if cell is not None:
            tags[tag] = cell
    tags |= known[1] if known is not None else _control_variables(row)
    otherwise = {said: n for said, n in others.get(ref, Counter()).items() if said != text}
    if otherwise:
        tags["judged_text"] = "\n".join(sorted(otherwise))
        tags["judged_text_rows"] = str(sum(otherwise.values()))
    linked = [each.strip() for each in row.text("Linked_prompts", "").split(",") if each.strip()]
    if not all(each.isdecimal() for each in linked):
        raise row.wrong("Linked_prompts", "ids with commas between them", "Correct the cell.")
    links = [("builds_on", PromptKey(suite, str(int(each)))) for each in linked]
    return Prompt(PromptKey(suite, ref), text, tags, links, _expects(tags), row.at)


def _expects(tags: Mapping[str, str]) -> dict[str, Any] | None:
    """What the directory says must be seen: objects, how many, where, what must be absent, which text."""
    kinds = [each.strip() for each in tags.get("representations", "").split(",") if each.strip()]
    if not kinds:
        return None
    task, label = tags["task"], tags.get("label", "")
    numbers = [each.strip() for each in label.split(",")]
    counted = len(numbers) == len(kinds) and all(number.isdecimal() for number in numbers)
    relation = None
    if task == "Spatial relationships" and len(kinds) == 2 and label:
        relation = {"first": kinds[0], "where": label, "second": kinds[1]}
    return {
        "objects": [
            {"kind": kind, "count": int(number) if counted else None, "colour": None, "size": None}
            for kind, number in zip(kinds, numbers if counted else kinds, strict=True)
        ],
        "relation": relation,
        "absent": [label] if label and task in ("Negation", "Conditional generation") else [],
        "text": label if label and task == "Text rendering" else None,
    }


def _verdicts(
    source: Source,
    file: str,
    suite: str,
    collection: str,
    prompts: Container[str],
    names: dict[tuple[str, str, int], str],
    partial: bool,
) -> Iterator[Record]:
    systems: set[str] = set()
    judged: Counter[Item] = Counter()
    row = None
    for row in source.rows(file, required=VERDICT, known=(*VERDICT, *REPEATED)):
        name, ref, system = row.text("File_name"), _ref(row), row.text("Algorithm")
        parsed = _gimbrr.parse_name(name)
        if parsed is None or parsed[0] != ref:
            raise row.wrong("File_name", f"p{ref}_<n>... as ID says", "Correct the row.")
        if ref not in prompts:
            raise _torn(f"prompt {ref} is not in the prompt directory", row.at)
        if system not in systems:
            systems.add(system)
            yield System(system, at=row.at)
        key, place = PromptKey(suite, ref), (system, ref, parsed[1])
        image = _gimbrr.image_key(collection, system, name)
        if names.setdefault(place, image.name) != image.name:
            raise row.error(
                f"{system} answered prompt {ref} with {names[place]!r} and with {image.name!r} at once",
                "Give one of the two another number: p<ID>_<n>.",
            )
        subject = Item(key, system, image)
        if subject not in judged:
            yield Image(image, at=row.at)
            yield Answer(key, system, parsed[1], image, at=row.at)
        yield Judgement(MATCH.name, subject, _verdict(row), repetition=judged[subject], at=row.at)
        judged[subject] += 1
    _whole(file, sum(judged.values()), row, partial)


def _verdict(row: Row) -> float:
    # An empty cell would read as no.
    return float(bool(row.text("annotation")) and row.flag("annotation"))


def _ref(row: Row) -> str:
    return str(row.whole("ID"))


def _whole(file: str, rows: int, last: Row | None, partial: bool) -> None:
    published = ROWS.get(file, rows)
    if rows != published and not partial:
        raise DataError(
            f"{rows:,} rows, where the published file has {published:,}",
            where=file if last is None else last.at,
            remedy="Obtain the file again; to import a part of it: --option partial=true",
        )


def _torn(what: str, where: str) -> DataError:
    return DataError(
        what, where=where, remedy="Obtain the files again: they must belong together and be whole."
    )
