"""What the plain table forms share: whom a row speaks of, and whether the images it names are here."""

from __future__ import annotations

from collections.abc import Iterator

from sightline.errors import DataError
from sightline.records import ImageKey, PromptKey, PromptText, Question, Subject
from sightline.sources import Once, Row, Source

HOMES = ("suite", "collection")
"""Columns that say row by row what an option says for the whole table."""
SUBJECT_COLUMNS = ("prompt", "prompt_id", "system", "image", "image_b", "image_c", *HOMES)
SCALE_COLUMNS = ("scale", "scale_low", "scale_high", "scale_step", "direction")
QUESTION_COLUMNS = ("question", *SCALE_COLUMNS)
SCALES = ("nominal", "ordinal", "interval")
DIRECTIONS = ("higher", "lower", "none")


def fits(source: Source, *wanted: str | tuple[str, ...], without: tuple[str, ...] = ()) -> bool:
    """Whether the source is one table with these columns (a tuple: any of them) and none of those."""
    if not source.is_table():
        return False
    header = set(source.header(source.the_file()))
    for each in wanted:
        if not header & ({each} if isinstance(each, str) else set(each)):
            return False
    return not header & set(without)


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


def subject_of(row: Row, suite: str, collection: str) -> Subject:
    """What a row judges."""
    prompt = prompt_of(row, suite)
    collection = row.text("collection", collection)
    system = row.text("system", None)
    image = _image(row, "image", collection)
    if prompt is None and system is None and image is None:
        raise DataError(
            "it names neither a prompt, a system nor an image",
            where=row.at,
            remedy="Fill in at least one of them.",
        )
    if "image_b" not in row:
        return Subject(prompt, system, image)
    return Subject(
        prompt, system, image, _image(row, "image_b", collection), _image(row, "image_c", collection)
    )


def _image(row: Row, column: str, collection: str) -> ImageKey | None:
    name = row.text(column, None)
    return None if name is None else ImageKey(collection, name)


def questions_of(row: Row, once: Once) -> Iterator[Question]:
    """The question of a row, where it has not been told yet."""
    if row.columns.isdisjoint(SCALE_COLUMNS):
        if once.new(row.text("question")):
            yield Question(row.text("question"), at=row.at)
        return
    scale = _one_of(row, "scale", SCALES, "interval")
    direction = _one_of(row, "direction", DIRECTIONS, "higher")
    question = Question(
        row.text("question"),
        scale,
        row.number("scale_low", None),
        row.number("scale_high", None),
        row.number("scale_step", None),
        direction=direction,
    )
    if once.new(
        (question.name, question.scale, question.low, question.high, question.step, question.direction)
    ):
        yield question._replace(at=row.at)


def _one_of(row: Row, column: str, allowed: tuple[str, ...], default: str) -> str:
    found = row.text(column, default)
    if found not in allowed:
        raise row.wrong(column, "one of " + ", ".join(allowed), f"Without the column it is {default}.")
    return found
