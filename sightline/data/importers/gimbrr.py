"""GIMBRR: tasks for cognitive skills, and people's yes or no on the answers of four systems."""

from __future__ import annotations

import re
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
SKILLS = {
    "Single object": "single_object",
    "Multiple objects": "multiple_objects",
    "Counting": "counting",
    "Simple arithmetic": "arithmetic",
    "Directed actions": "directed_actions",
    "Spatial relationships": "spatial",
    "Unusual arrangements": "unusual_arrangements",
    "Conditional generation": "conditional",
    "Compositional characteristics": "compositional",
    "Negation": "negation",
    "Chimeras": "chimeras",
    "Text rendering": "text_rendering",
    "Controlled single object": "single_object",
    "Controlled multiple objects": "multiple_objects",
    "Controlled single object counting": "counting",
    "Controlled multiple object counting": "counting",
    "Controlled arithmetic": "arithmetic",
}
NO_ID = "rows without an ID"
NO_PROMPT = "mentions of prompts that are not there (some rows of the directory have no ID)"
WRITTEN = frozenset(
    (
        *(
            "a",
            "an",
            "the",
            "it",
            "its",
            "that",
            "has",
            "with",
            "and",
            "of",
            "on",
            "written",
            "says",
            "listed",
        ),
        *("word", "words", "title", "name", "headline", "slogan", "message", "legend", "dish"),
        *("destination", "advertising", "label", "cover", "front"),
    )
)
"""Words of a prompt for text that ask for nothing besides the object and the text."""
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
    suite={
        "prompts": 2_302,
        "home": "https://github.com/IntelLabs/generative-ai",
        "files": "Prompt_dir_230228.csv; its extraVars and annotations_df_230311.csv where they are wanted",
        "skills": SKILLS,
    },
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
    `partial` admits fewer rows than were published. The tag `skill` follows from the task. Expects exact
    numbers where the label counts, otherwise at least one of each object; an action, an arrangement, a part
    of another animal and the like have no place in what is expected, so that it is not complete. Rows
    without an ID, labels that should be numbers and are none, and verdicts in conflict are counted.
    """
    directory, extra, verdicts = _files(source)
    others = _other_texts(source, verdicts) if verdicts else {}
    variables = _variables(source, extra, partial) if extra and extra != directory else {}
    remaining = _remaining(source, directory, extra)
    prompts: set[str] = set()
    row, rows = None, 0
    for row in source.rows(directory, (*COLUMNS, "Linked_prompts"), KNOWN):
        rows += 1
        ref = _ref(row)
        if ref is None:
            source.skip(row.at, NO_ID)
            continue
        if ref in prompts:
            raise row.error(f"prompt {ref} is there twice", "Keep one.")
        prompts.add(ref)
        yield _prompt(source, row, PromptKey(suite, ref), variables, others, extra, remaining)
    _whole(directory, rows, row, partial)
    for ref in sorted(variables.keys() - prompts):
        if remaining is None:
            raise _torn(f"prompt {ref} is not in {directory}", extra)
        source.skip(f"{extra} ({ref})", NO_PROMPT)
    names: dict[tuple[str, str, int], str] = {}
    for record in _gimbrr.images(source, suite, collection, system or source.name, prompts):
        if isinstance(record, Answer) and isinstance(record.prompt, PromptKey) and record.image is not None:
            names[record.system, record.prompt.ref, record.position] = record.image.name
        yield record
    if verdicts:
        yield MATCH._replace(at=f"{verdicts}:1")
        yield from _verdicts(source, verdicts, suite, collection, prompts, names, partial, remaining)


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


def _remaining(source: Source, directory: str, extra: str) -> Container[str] | None:
    """The directory's ids, where a row of it or of its extra variables has lost its own; otherwise None.

    What mentions a prompt that is not there is then left and counted. Where no id is lost, the files do not
    belong together, which no import can mend.
    """
    refs = [{_ref(row) for row in source.rows(file, ("ID",))} for file in (directory, extra) if file]
    return {ref for ref in refs[0] if ref is not None} if any(None in each for each in refs) else None


def _other_texts(source: Source, verdicts: str) -> dict[str, Counter[str]]:
    """How often the verdicts give each text for a prompt."""
    found: dict[str, Counter[str]] = {}
    for row in source.rows(verdicts, required=VERDICT):
        ref = _ref(row)
        if ref is not None:
            found.setdefault(ref, Counter())[row.text("Prompt")] += 1
    return found


def _variables(source: Source, extra: str, partial: bool) -> dict[str, tuple[str, dict[str, str]]]:
    """The text of a prompt and its extra variables as tags."""
    found: dict[str, tuple[str, dict[str, str]]] = {}
    row, rows = None, 0
    for row in source.rows(extra, ("ID", "Prompt", *COUNTED, *WORDED), KNOWN):
        rows += 1
        ref = _ref(row)
        if ref is None:
            source.skip(row.at, NO_ID)
        else:
            found[ref] = row.text("Prompt"), _control_variables(row)
    _whole(extra, rows, row, partial)
    return found


def _control_variables(row: Row) -> dict[str, str]:
    # Whole numbers stand in the file as 2.0, as they do where a column has gaps.
    tags = {
        tag: str(number) for name, tag in COUNTED.items() if (number := row.whole(name, None)) is not None
    }
    return tags | {tag: word for name, tag in WORDED.items() if (word := row.text(name, None)) is not None}


def _prompt(
    source: Source,
    row: Row,
    key: PromptKey,
    variables: Mapping[str, tuple[str, dict[str, str]]],
    others: Mapping[str, Counter[str]],
    extra: str,
    remaining: Container[str] | None,
) -> Prompt:
    ref, text = key.ref, row.text("Prompt")
    known = variables.get(ref)
    if known is None and variables and remaining is None:
        raise _torn(f"prompt {ref} is not in {extra}", row.at)
    if known is not None and known[0] != text:
        raise _torn(f"prompt {ref} reads otherwise in {extra}", row.at)
    tags = {"task": row.text("Task"), "auto_assessment": row.text("Auto_assessment")}
    if tags["task"] in SKILLS:
        tags["skill"] = SKILLS[tags["task"]]
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
    links = []
    for each in (str(int(each)) for each in linked):
        if remaining is not None and each not in remaining:
            source.skip(f"{row.at} ({each})", NO_PROMPT)
            continue
        links.append(("builds_on", PromptKey(key.suite, each)))
    return Prompt(key, text, tags, links, _expects(source, row, text, tags), row.at)


def _expects(source: Source, row: Row, text: str, tags: Mapping[str, str]) -> dict[str, Any] | None:
    """What the directory says must be seen: objects, how many, where, what must be absent, which text."""
    kinds = [each.strip() for each in tags.get("representations", "").split(",") if each.strip()]
    if not kinds:
        return None
    skill, label = tags.get("skill", ""), tags.get("label", "")
    numbers = [each.strip() for each in label.split(",")]
    counted = len(numbers) == len(kinds) and all(number.isdecimal() for number in numbers)
    if skill in ("counting", "arithmetic") and not counted:
        reason = "counts that are no number, one for each object (their objects are expected, not how many)"
        source.note(f"{row.at} ({label!r})", reason)
    relation = None
    if skill == "spatial" and len(kinds) == 2 and label:
        relation = {"first": kinds[0], "where": label.removeprefix("to the "), "second": kinds[1]}
    expects = {
        "objects": [
            {
                "kind": kind,
                "count": int(number) if counted else 1,
                "at_least": not counted,
                "colour": None,
                "size": None,
                **({"attributes": [label]} if label and skill == "compositional" else {}),
            }
            for kind, number in zip(kinds, numbers if counted else kinds, strict=True)
        ],
        "relation": relation,
        "absent": [label] if label and skill in ("negation", "conditional") else [],
        "text": label if label and skill == "text_rendering" else None,
    }
    return {**expects, "complete": _is_complete(skill, counted, text, tags, expects)}


def _is_complete(
    skill: str, counted: bool, text: str, tags: Mapping[str, str], expects: Mapping[str, Any]
) -> bool:
    """Whether a prompt asks for nothing but what is expected, by its skill and its words."""
    if skill in ("counting", "arithmetic"):
        return counted
    if skill == "text_rendering":
        named = f"{tags.get('label', '')} {tags['representations']}".lower()
        words = re.findall(r"[a-z']+", text.lower())
        return bool(expects["text"]) and all(word in WRITTEN or word in named for word in words)
    # Which conditions can be seen to be met, the directory says itself.
    decided = skill != "conditional" or tags["auto_assessment"] == "True"
    return {
        "single_object": True,
        "multiple_objects": True,
        "spatial": expects["relation"] is not None,
        "negation": bool(expects["absent"]),
        "conditional": bool(expects["absent"]) and decided,
    }.get(skill, False)


def _verdicts(
    source: Source,
    file: str,
    suite: str,
    collection: str,
    prompts: Container[str],
    names: dict[tuple[str, str, int], str],
    partial: bool,
    remaining: Container[str] | None,
) -> Iterator[Record]:
    systems: set[str] = set()
    judged: dict[Item, list[float]] = {}
    row, rows = None, 0
    for row in source.rows(file, VERDICT, (*VERDICT, *REPEATED)):
        rows += 1
        name, ref, system = row.text("File_name"), _ref(row), row.text("Algorithm")
        if ref is None:
            source.skip(row.at, NO_ID)
            continue
        parsed = _gimbrr.parse_name(name)
        if parsed is None or parsed[0] != ref:
            raise row.wrong("File_name", f"p{ref}_<n>... as ID says", "Correct the row.")
        if ref not in prompts and remaining is not None:
            source.skip(f"{row.at} ({ref})", NO_PROMPT)
            continue
        if ref not in prompts:
            raise _torn(f"prompt {ref} is not in the prompt directory", row.at)
        if system not in systems:
            systems.add(system)
            yield System(system, at=row.at)
        key, place = PromptKey(suite, ref), (system, ref, parsed[1])
        image = _gimbrr.image_key(collection, system, name)
        if names.setdefault(place, image.name) != image.name:
            source.skip(f"{row.at} ({name})", "verdicts on a second image of one ID and number")
            continue
        subject, value = Item(key, system, image), _verdict(row)
        before = judged.setdefault(subject, [])
        if not before:
            yield Image(image, at=row.at)
            yield Answer(key, system, parsed[1], image, at=row.at)
        elif before[-1] != value:
            reason = "images judged again with another verdict (both are kept; the latest counts)"
            source.note(f"{row.at} ({name})", reason)
        yield Judgement(MATCH.name, subject, value, repetition=len(before), at=row.at)
        before.append(value)
    _whole(file, rows, row, partial)


def _verdict(row: Row) -> float:
    # An empty cell would read as no.
    return float(bool(row.text("annotation")) and row.flag("annotation"))


def _ref(row: Row) -> str | None:
    number = row.whole("ID", None)
    return None if number is None else str(number)


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
