"""Judgements as a plain table: one row per vote, or per place of an order."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from datetime import datetime

from sightline.data.sources import Once, Row, Source
from sightline.data.sources.plain import (
    QUESTION_COLUMNS,
    SCALE_COLUMNS,
    SUBJECT_COLUMNS,
    SYNONYMS,
    fits,
    prompts_of,
    questions_of,
    rows_of,
    subject_of,
    synonyms,
)
from sightline.extension import importer
from sightline.records import (
    BOTH_BAD,
    AnnotatorKey,
    Item,
    Judgement,
    Question,
    Record,
    order_question,
    preference_question,
)

VOTE = ("annotator", "panel", "value", "skipped", "n", "repetition", "revision", "session", "control")
KNOWN = (*SUBJECT_COLUMNS, *QUESTION_COLUMNS, *VOTE, "group", "rank", "took_ms", "time")
PAIRED = ("image_b", "system_b")
CHOICES = (0.0, 0.5, 1.0)
"""For the first side, for neither, for the second."""
ANSWERS = {"yes": 1.0, "no": 0.0}
TIE = "tie"
WORDS = f"yes or no; of pairs also {TIE} or {BOTH_BAD}"
"""Values in words."""
AGAIN = "judgements given again by the same annotator (all are kept; the last row counts)"
REMEMBERED = 200_000
"""Judgements of which it is known who gave them: what is given again later than that is refused."""


def claims(source: Source) -> float:
    """A table with `question`, `annotator` and `value` or `rank`; or with choices between pairs, or orders.

    Also with `rater`, `score` and the like for `annotator` and `value`.
    """
    if fits(source, "question", "annotator", ("value", "rank"), renamed=SYNONYMS):
        return 0.9
    if fits(source, "question", "group", "rank", ("system", "image"), renamed=SYNONYMS):
        return 0.9
    # Votes on pairs need name nobody; a truth of pairs is no choice, or has an interval or a rule.
    published = ("low", "high", "rule")
    paired = fits(source, "question", "value", PAIRED, without=published, renamed=SYNONYMS)
    return 0.9 * (paired and bool(_preferences(source)))


@importer(
    claims=claims,
    source="Sightline's plain form",
    licence="Apache-2.0",
    files={
        "votes.csv": "annotator,image,question,value\nann,a.png,alignment,4\nben,a.png,alignment,2\n"
        "ann,b.png,alignment,3\n"
    },
)
def judgements(
    source: Source, *, suite: str = "prompts", collection: str = "images", panel: str = "people"
) -> Iterator[Record]:
    """A table of votes: annotator, question, value and what was judged (prompt or prompt_id, system, image).

    Optional: panel, session, control, time, took_ms, repetition, revision, skipped, n (of anonymous votes),
    and scale, scale_low, scale_high, scale_step, direction. Pairs are system and system_b, or image and
    image_b: value 0 prefers the first, 1 the second, 0.5 neither, and both_bad says that neither is good.
    Triplets have image_c as well. Orders have a rank instead of a value, 1 for the best, one row per image
    or system; a group tells the orders of one annotator and prompt apart. Also read: rater, worker, user or
    annotator_id as annotator; score, rating or label as value; model as system, file as image and so on.
    Values may be yes or no, and of pairs tie or "both bad". An annotator who judges a thing again, where
    the table has neither revision nor repetition, has changed their mind: that is counted.
    """
    once = Once()
    again = _Again(source)
    prompts = _Prompts()
    preferences = _preferences(source)
    orders = _Orders(source)
    for row in rows_of(source, ("question", ("value", "skipped", "rank")), KNOWN, SYNONYMS):
        rank = _rank(row)
        question = row.text("question")
        if not row.columns.isdisjoint(SCALE_COLUMNS):
            yield from questions_of(row, once)
        elif once.new(question):
            yield _assumed(question, row, rank, preferences)
        who = row.text("annotator", None)
        n = row.whole("n", 1)
        if n < 1 or (n > 1 and who is not None):
            raise row.wrong(
                "n", "1 or more, and 1 for a named annotator", "Only anonymous votes can be counted."
            )
        yield from prompts_of(row, once, suite)
        item = subject_of(row, suite, collection)
        prompts.look(row, question, item)
        value, skipped = (rank, None) if rank is not None else _verdict(row, item)
        annotator = None if who is None else AnnotatorKey(row.text("panel", panel), who)
        group = row.text("group", "")
        revision = row.count("revision")
        if rank is not None:
            group = orders.group(row, question, item, annotator, group)
        elif annotator is not None and row.columns.isdisjoint(("revision", "repetition")):
            answer = (value, skipped, row.text("session", ""), row.whole("took_ms", None), _time(row))
            revision = again.revision(row, (annotator, question, item, group), answer)
        yield Judgement(
            question,
            item,
            value,
            annotator,
            n,
            skipped,
            row.count("repetition"),
            revision,
            row.text("session", ""),
            row.flag("control"),
            row.whole("took_ms", None),
            _time(row),
            row.at,
            group,
        )
    orders.finish()


def _assumed(question: str, row: Row, rank: int | None, preferences: set[str]) -> Question:
    """A question of which the table says no scale."""
    if rank is not None:
        return order_question(question, row.at)
    if question in preferences:
        return preference_question(question, row.at)
    if _word(row) in ANSWERS:
        return Question(question, "nominal", 0, 1, at=row.at)
    return Question(question, at=row.at)


class _Again:
    """The last answer that each annotator gave about a thing: another one is a revision of it."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._last: dict[Hashable, tuple[int, Hashable]] = {}

    def revision(self, row: Row, what: Hashable, answer: Hashable) -> int:
        number, last = self._last.get(what, (0, answer))
        if last != answer:
            number += 1
            self._source.note(row.at, AGAIN)
        if len(self._last) >= REMEMBERED:
            self._last.clear()
        self._last[what] = number, answer
        return number


class _Prompts:
    """Whether all judgements of a question name a prompt, or none does."""

    def __init__(self) -> None:
        self._named: set[str] = set()
        self._blank: dict[str, Row] = {}

    def look(self, row: Row, question: str, item: Item) -> None:
        """An error where one row has a prompt and another has none; images may be judged without any."""
        if item.prompt is not None:
            self._named.add(question)
        elif item.image is None:
            self._blank.setdefault(question, row)
        if question in self._named and question in self._blank:
            raise self._blank[question].error(
                f"the prompt is empty, though other judgements of {question} have one",
                "Fill it in, or leave the row out.",
            )


def _verdict(row: Row, item: Item) -> tuple[float | None, str | None]:
    """The value of a row, or the reason why it has none."""
    skipped = row.text("skipped", None)
    paired = item.image_b is not None or item.system_b is not None
    if _is_both_bad(row):
        if not paired or skipped not in (None, BOTH_BAD):
            raise row.error(
                f"the value is {BOTH_BAD} and there {'is another reason' if paired else 'are no two sides'}",
                "It is a verdict about pairs: image and image_b, or system and system_b.",
            )
        return None, BOTH_BAD
    value = _value(row, paired) if row.get("value") is not None or not skipped else None
    if skipped and value is not None:
        raise row.error("it has both a value and a reason why it was skipped", "Empty one.")
    ends = (row.number("scale_low", 0.0), row.number("scale_high", 1.0))
    if item.system_b is not None and value is not None and ends == (0, 1) and value not in CHOICES:
        raise row.wrong(
            "value", "0, 0.5 or 1", f"0 prefers system, 1 system_b, 0.5 neither; or write {BOTH_BAD}."
        )
    return value, skipped


def _value(row: Row, paired: bool) -> float:
    """A value as a number, or in words."""
    word = _word(row)
    if paired and word == TIE:
        return 0.5
    if not paired and word in ANSWERS:
        return ANSWERS[word]
    if word and not any(sign.isdigit() for sign in word) and word not in ("nan", "inf", "-inf"):
        raise row.wrong("value", "a finite number", f"Or a word: {WORDS}.")
    return row.number("value")


def _word(row: Row) -> str:
    value = row.get("value")
    return value.strip().lower() if isinstance(value, str) else ""


def _is_both_bad(row: Row) -> bool:
    return _word(row).replace(" ", "_") == BOTH_BAD


def _preferences(source: Source) -> set[str]:
    """The questions of a table without scales whose values about pairs are all choices between the sides."""
    file = source.the_file()
    theirs = synonyms(source)
    header = {*source.header(file), *theirs}
    # The lines of a JSONL file need not all have the same columns.
    if not header.isdisjoint(SCALE_COLUMNS) or (header.isdisjoint(PAIRED) and not file.endswith(".jsonl")):
        return set()
    seen: dict[str, bool] = {}
    for row in source.rows(file, required=("question",), renamed=theirs):
        if row.get("value") is None:
            continue
        paired = any(row.get(name) is not None for name in PAIRED) and row.get("image_c") is None
        choice = paired and (_is_both_bad(row) or _value(row, paired) in CHOICES)
        name = row.text("question")
        seen[name] = choice and seen.get(name, True)
    return {name for name, choice in seen.items() if choice}


def _rank(row: Row) -> int | None:
    if row.get("rank") is None:
        return None
    rank = row.whole("rank")
    if rank < 1:
        raise row.wrong("rank", "1 or more", "1 is the best; equal ranks are a tie.")
    if row.get("value") is not None or row.get("skipped") is not None:
        raise row.error("it has a rank and a value", "Leave value and skipped empty where there is a rank.")
    return rank


class _Orders:
    """The orders of a table: who put what into which place."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._places: dict[tuple[object, ...], tuple[str, set[Item]]] = {}

    def group(self, row: Row, question: str, item: Item, annotator: AnnotatorKey | None, group: str) -> str:
        """The group of a row, 1 where there is none; a row that can be no place of an order is an error."""
        sides = (item.system, item.image)
        if item.prompt is None or sides == (None, None) or (item.image_b or item.system_b) is not None:
            raise row.error(
                "an order is of one prompt's systems or images",
                "Name the prompt and either a system or an image in each row.",
            )
        if annotator is None and not group:
            raise row.error(
                "it names neither an annotator nor a group", "Say in `group` which rows are one order."
            )
        key = (question, item.prompt, annotator, group, row.count("repetition"), row.count("revision"))
        at, places = self._places.setdefault(key, (row.at, set()))
        if item in places:
            raise row.error(
                f"the order that begins at {at} has this already",
                "Number the orders of an annotator and prompt in a `group` column.",
            )
        places.add(item)
        return group or "1"

    def finish(self) -> None:
        """Note orders that say nothing."""
        for at, places in self._places.values():
            if len(places) == 1:
                self._source.note(at, "orders of a single image or system")


def _time(row: Row) -> str | None:
    said = row.text("time", None)
    if said is not None:
        try:
            datetime.fromisoformat(said)
        except ValueError:
            raise row.wrong("time", "a time", "Write it as 2024-05-01T12:30:00Z.") from None
    return said
