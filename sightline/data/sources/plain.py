"""What the plain table forms share: whom a row speaks of, and whether the images it names are here."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeVar

from sightline.data.sources import Once, Row, Source, prompt_ref
from sightline.data.sources.rows import Required
from sightline.data.sources.strict_json import parse_json
from sightline.errors import DataError
from sightline.estimate import DIRECTIONS
from sightline.records import ImageKey, Item, Prompt, PromptKey, PromptText, Question

T = TypeVar("T", bound=str)
SYNONYMS: Mapping[str, tuple[str, ...]] = {
    "prompt": ("caption", "text", "prompt_text", "query"),
    "image": ("file", "path", "filename", "file_name", "image_path", "image_file", "image_a"),
    "image_b": ("image_path_b", "file_b", "path_b"),
    "system": ("model", "generator", "engine", "model_name", "system_a", "model_a"),
    "system_b": ("model_b",),
    "annotator": (
        "rater",
        "worker",
        "user",
        *(f"{who}_id" for who in ("annotator", "rater", "worker", "user")),
    ),
    "value": ("score", "rating", "label"),
}
"""What other tables call our columns. The first that a table has is read, where it lacks ours."""
HOMES = ("suite", "collection")
"""Columns that say row by row what an option says for the whole table."""
SUBJECT_COLUMNS = (
    *("prompt", "prompt_id", "system", "system_b", "image", "image_b", "image_c"),
    *(*HOMES, "collection_b", "collection_c"),
)
SCALE_COLUMNS = ("scale", "scale_low", "scale_high", "scale_step", "direction")
QUESTION_COLUMNS = ("question", *SCALE_COLUMNS)
SCALES = ("nominal", "ordinal", "interval")
TRANSLATION = "prompt."
"""What the columns of a prompt's translations begin with: `prompt.de`, `prompt.pt-BR`."""
EXPORT_NOTE = "sightline-export.json"
"""What an export leaves next to its tables: which they are, how many rows each has, which are guarded."""
EXPORT_VERSION = 1
LEFT_BEHIND = "left_behind"
"""What the note says of decisions that the exported tables lack."""
_GUARDED = re.compile(r"'('*[=+\-@\t\r])")


def synonyms(source: Source, columns: Iterable[str] = SYNONYMS) -> dict[str, str]:
    """Those of our columns that the source's one table has under another name, and that name."""
    header = source.header(source.the_file())
    lower = {name.strip().lower(): name for name in reversed(header)}
    # A table of ranks has no values, whatever its scores are.
    absent = [ours for ours in columns if ours not in header and not (ours == "value" and "rank" in header)]
    named = {ours: [lower[each] for each in (ours, *SYNONYMS[ours]) if each in lower] for ours in absent}
    return {ours: theirs[0] for ours, theirs in named.items() if theirs}


def fits(
    source: Source,
    *wanted: str | tuple[str, ...],
    without: tuple[str, ...] = (),
    renamed: Iterable[str] = (),
) -> bool:
    """Whether the source is one table with these columns (a tuple: any of them) and none of those.

    The columns of `renamed` may have other names in it.
    """
    if not source.is_table():
        return False
    header = {*source.header(source.the_file()), *synonyms(source, renamed)}
    for each in wanted:
        if not header & ({each} if isinstance(each, str) else set(each)):
            return False
    return not header & set(without)


def rows_of(
    source: Source, required: Required, known: tuple[str, ...], renamed: Iterable[str] = ()
) -> Iterator[Row]:
    """The rows of the source's one table; the apostrophes that our own CSV puts before formulas are gone.

    The columns of `renamed` may have other names in it; which do is noted.
    """
    file = source.the_file()
    theirs = synonyms(source, renamed)
    for ours, name in theirs.items():
        source.note(f"{name} as {ours}", "columns read under our names")
    rows = source.rows(file, required=required, known=known, renamed=theirs)
    if export_note(source).get(file, {}).get("guard") is not True:
        return rows
    return (row.mapped(unguarded) for row in rows)


def translated(source: Source) -> tuple[str, ...]:
    """The columns of the source's one table that hold translations of its prompts."""
    header = source.header(source.the_file())
    return tuple(name for name in header if name.startswith(TRANSLATION) and name != TRANSLATION)


def export_note(source: Source) -> dict[str, dict[str, Any]]:
    """What an export said of each of its files; nothing where the folder is no export."""
    content = _note(source)
    if content is None:
        return {}
    version, files = (
        (content.get("sightline_export"), content.get("files")) if isinstance(content, dict) else (None, None)
    )
    if version != EXPORT_VERSION or not isinstance(files, dict) or not all(map(_is_file, files.values())):
        raise DataError(
            f"not the note of an export that this version reads ({version!r} instead of {EXPORT_VERSION})",
            where=EXPORT_NOTE,
            remedy="Export again, or take the note away if the tables are not an export.",
        )
    return files


def left_behind(source: Source) -> str:
    """The decisions that an export says it lacks."""
    content = _note(source)
    said = content.get(LEFT_BEHIND) if isinstance(content, dict) else None
    return said if isinstance(said, str) else ""


def _note(source: Source) -> Any:
    path = source.root / EXPORT_NOTE
    return Source(path).json(EXPORT_NOTE) if path.is_file() else None


def _is_file(entry: Any) -> bool:
    return isinstance(entry, dict) and type(entry.get("rows")) is int


def unguarded(cell: Any) -> Any:
    """A cell of our own CSV as it was before the guard against formulas."""
    return _GUARDED.sub(r"\1", cell, count=1) if isinstance(cell, str) and _GUARDED.match(cell) else cell


def setting_of(cell: str) -> Any:
    """A setting as what it means, since a table holds text: a number, true, false, null, JSON, or text."""
    if cell in ("true", "false"):
        return cell == "true"
    if cell == "null":
        return None
    for kind in (int, float):
        try:
            number = kind(cell)
        except ValueError:
            continue
        if number - number == 0:
            return number
    if cell[:1] in ("[", "{", '"'):
        try:
            return parse_json(cell)
        except ValueError:
            return cell
    return cell


def setting_cell(value: Any) -> str:
    """A setting as the text that `setting_of` reads back."""
    if isinstance(value, str) and setting_of(value) == value and isinstance(setting_of(value), str):
        return value
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


class Pictures:
    """Finds the images a file names: all of them are here, or none is and they are known by name."""

    def __init__(self, source: Source, names_only: bool) -> None:
        self._source = source
        self._names_only = names_only
        self._present = ""
        self._absent: tuple[str, str] | None = None

    def path(self, name: str, at: str) -> str | None:
        """The file of this image, or None; some here and some not is an error."""
        if self._names_only:
            return None
        found = self._source.picture(name, at)
        if found is not None:
            self._present = self._present or name
        elif self._absent is None:
            self._absent = (name, at)
        if self._absent is not None and self._present:
            missing, where = self._absent
            raise DataError(
                f"there is no image {missing!r}, though {self._present!r} is there",
                where=where,
                remedy="Add the file, take out the row, or know all images by name: --option names_only=true",
            )
        return found


def prompt_of(row: Row, suite: str) -> PromptKey | PromptText | None:
    """The prompt a row speaks of, by id if it gives one, else by its wording."""
    ref = row.text("prompt_id", None)
    if ref is not None:
        return PromptKey(row.text("suite", suite), ref)
    text = row.text("prompt", None)
    return None if text is None else PromptText(text, row.text("suite", None))


def prompts_of(row: Row, once: Once, suite: str) -> Iterator[Prompt]:
    """The prompt of a row that has its text, for studies that have no prompts yet."""
    text = row.text("prompt", None)
    if text is not None:
        key = PromptKey(row.text("suite", suite), row.text("prompt_id", prompt_ref(text)))
        if once.new((key, text)):
            yield Prompt(key, text, at=row.at)


def subject_of(row: Row, suite: str, collection: str) -> Item:
    """What a row judges."""
    prompt = prompt_of(row, suite)
    collection = row.text("collection", collection)
    system = row.text("system", None)
    image = _image(row, "image", collection)
    if prompt is None and system is None and image is None:
        raise row.error("it names neither a prompt, a system nor an image", "Fill in at least one of them.")
    if "image_b" not in row and "system_b" not in row:
        return Item(prompt, system, image)
    image_b = _image(row, "image_b", row.text("collection_b", collection))
    system_b = row.text("system_b", None)
    for first, second, name in ((image, image_b, "image"), (system, system_b, "system")):
        if first is None and second is not None:
            raise row.error(f"it has {name}_b and no {name}", f"Name both sides: {name} and {name}_b.")
    if system is not None and system == system_b:
        raise row.error(f"system {system!r} is compared with itself", "Name two systems.")
    return Item(
        prompt,
        system,
        image,
        image_b,
        _image(row, "image_c", row.text("collection_c", collection)),
        system_b,
    )


def _image(row: Row, column: str, collection: str) -> ImageKey | None:
    name = row.text(column, None)
    return None if name is None else ImageKey(collection, name)


def questions_of(row: Row, once: Once) -> Iterator[Question]:
    """The question of a row, where it has not been given yet."""
    if row.columns.isdisjoint(SCALE_COLUMNS):
        if once.new(row.text("question")):
            yield Question(row.text("question"), at=row.at)
        return
    scale = _one_of(row, "scale", SCALES, "interval")
    direction = _one_of(row, "direction", DIRECTIONS, "higher")
    low, high, step = (row.number(f"scale_{each}", None) for each in ("low", "high", "step"))
    asked = (row.text("question"), scale, low, high, step)
    if once.new((*asked, direction)):
        yield Question(*asked, direction=direction, at=row.at)


def _one_of(row: Row, column: str, allowed: tuple[T, ...], default: T) -> T:
    for each in allowed:
        if each == row.text(column, str(default)):
            return each
    raise row.wrong(column, "one of " + ", ".join(allowed), f"Without the column it is {default}.")
