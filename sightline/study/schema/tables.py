"""The tables of a study, the same on SQLite and PostgreSQL.

Keys are integers (text keys cost five times the space) and are never given out twice; 0 stands for "not
part of it" in items and scores, so that a key is never null. Numbers are finite: SQLite would turn NaN into
NULL and PostgreSQL keep it, so a CHECK refuses it on both.
"""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    BigInteger,
    CheckConstraint,
    Column,
    Double,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    MetaData,
    SmallInteger,
    String,
    Table,
    Text,
    UniqueConstraint,
    text,
)

VERSION = 3
"""The schema version this program writes; `migrations/` leads older studies here."""

metadata = MetaData()
# SQLite autoincrements only a column declared INTEGER.
Key = BigInteger().with_variant(Integer, "sqlite")
BIGGEST = "1.7e308"


def _finite(column: str) -> CheckConstraint:
    return CheckConstraint(f"{column} BETWEEN -{BIGGEST} AND {BIGGEST}", name=f"{column}_finite")


def _id() -> Column[int]:
    return Column("id", Key, primary_key=True, autoincrement=True)


def _source() -> Column[int]:
    # No index: only undoing asks for it, and reads whole tables anyway.
    return _ref("source_id", "source", nullable=True)


def _of_bulk(name: str, target: str) -> ForeignKeyConstraint:
    """A foreign key of a table that is loaded in bulk, on SQLite only.

    PostgreSQL would check it row by row, which takes as long as the rest of a load; there a trigger checks
    each statement as a whole (see `guards`).
    """
    return ForeignKeyConstraint([name], [f"{target}.id"]).ddl_if(dialect="sqlite")


def _where_given(name: str, column: str, how: str = "<> 0") -> Index:
    """An index that leaves out the 0 of "not part of it"."""
    given = text(f"{column} {how}")
    return Index(name, column, sqlite_where=given, postgresql_where=given)


def _ref(name: str, target: str, **more: object) -> Column[int]:
    return Column(name, Key, ForeignKey(f"{target}.id"), **more)  # type: ignore[arg-type]


setting = Table(
    "setting", metadata, Column("name", String(64), primary_key=True), Column("value", Text, nullable=False)
)

source = Table(
    "source",
    metadata,
    _id(),
    Column("importer", Text, nullable=False),
    Column("path", Text, nullable=False),
    Column("sha256", String(64), nullable=False),
    Column("at", String(32), nullable=False),
    Column("counts", JSON),
    UniqueConstraint("importer", "sha256"),
)

mention = Table(
    "mention",
    metadata,
    Column("kind", String(16), primary_key=True),
    Column("entity_id", Key, primary_key=True, autoincrement=False),
    _ref("source_id", "source", primary_key=True, index=True),
    sqlite_with_rowid=False,
)
"""Sources that contain a prompt, image or system that another source had imported before: undoing the
first must leave it to the second."""

prompt = Table(
    "prompt",
    metadata,
    _id(),
    Column("suite", Text, nullable=False),
    Column("ref", Text, nullable=False),
    Column("text", Text, nullable=False),
    Column("text_sha", BigInteger, nullable=False, index=True),
    Column("expects", JSON(none_as_null=True)),
    _source(),
    UniqueConstraint("suite", "ref"),
)

prompt_tag = Table(
    "prompt_tag",
    metadata,
    _ref("prompt_id", "prompt", primary_key=True),
    Column("name", Text, primary_key=True),
    Column("value", Text, nullable=False),
    _source(),
    Index("prompt_tag_by_value", "name", "value", "prompt_id"),
    sqlite_with_rowid=False,
)

prompt_link = Table(
    "prompt_link",
    metadata,
    _ref("prompt_id", "prompt", primary_key=True),
    Column("kind", String(32), primary_key=True),
    _ref("to_prompt_id", "prompt", primary_key=True, index=True),
    _source(),
    sqlite_with_rowid=False,
)

translation = Table(
    "translation",
    metadata,
    _ref("prompt_id", "prompt", primary_key=True),
    Column("language", String(16), primary_key=True),
    Column("text", Text, nullable=False),
    _source(),
    sqlite_with_rowid=False,
)
"""A prompt in other languages, for annotators who read those better."""

collection = Table(
    "collection", metadata, _id(), Column("name", Text, nullable=False, unique=True), _source()
)

image = Table(
    "image",
    metadata,
    _id(),
    Column("collection_id", Key, nullable=False),
    Column("name", Text, nullable=False),
    Column("sha256", String(64), index=True),
    Column("width", Integer),
    Column("height", Integer),
    Column("defect", Text),
    Column("source_id", Key, nullable=True),
    Column("bytes_source_id", Key, nullable=True),
    UniqueConstraint("collection_id", "name"),
    _of_bulk("collection_id", "collection"),
    _of_bulk("source_id", "source"),
    _of_bulk("bytes_source_id", "source"),
)

image_tag = Table(
    "image_tag",
    metadata,
    Column("image_id", Key, primary_key=True, autoincrement=False),
    Column("prompt_id", Key, primary_key=True, autoincrement=False),
    Column("name", Text, primary_key=True),
    Column("value", Text, nullable=False),
    _source(),
    Index("image_tag_by_value", "name", "value", "image_id"),
    _where_given("image_tag_by_prompt", "prompt_id"),
    sqlite_with_rowid=False,
)
"""Tags of an image, or of an image as the answer to a prompt (0: whatever it answers); it goes with either.
`source_id` is empty where the study's owner set it."""

caption = Table(
    "caption",
    metadata,
    _ref("image_id", "image", primary_key=True),
    Column("n", SmallInteger, primary_key=True, autoincrement=False),
    Column("text", Text, nullable=False),
    _source(),
    sqlite_with_rowid=False,
)

scene = Table(
    "scene",
    metadata,
    _ref("image_id", "image", primary_key=True),
    Column("json", JSON, nullable=False),
    _source(),
    sqlite_with_rowid=False,
)
"""What is known to be in an image: a fact that a source tells, as a caption is."""

detection = Table(
    "detection",
    metadata,
    Column("detector", String(64), primary_key=True),
    Column("content", String(64), primary_key=True),
    Column("json", JSON, nullable=False),
    sqlite_with_rowid=False,
)
"""What a detector sees in an image, in the shape of a scene, once per detector's identity and content."""

reference = Table(
    "reference",
    metadata,
    Column("name", Text, primary_key=True),
    Column("distance", Text, nullable=False),
    Column("squared", SmallInteger, nullable=False),
    Column("n", Integer, nullable=False),
    Column("json", JSON, nullable=False),
    _source(),
)
"""Reference samples of distances, rising, each read as a whole or not at all."""

system = Table(
    "system",
    metadata,
    _id(),
    Column("name", Text, nullable=False, unique=True),
    Column("kind", String(16), nullable=False),
    _ref("collection_id", "collection", nullable=True),
    _source(),
    CheckConstraint("kind IN ('generator', 'retriever')", name="kind_known"),
)

settings = Table(
    "settings",
    metadata,
    _id(),
    Column("sha256", String(64), nullable=False, unique=True),
    Column("json", JSON, nullable=False),
)

answer = Table(
    "answer",
    metadata,
    Column("system_id", Key, primary_key=True, autoincrement=False),
    Column("prompt_id", Key, primary_key=True, autoincrement=False, index=True),
    Column("position", Integer, primary_key=True, autoincrement=False),
    Column("image_id", Key, nullable=True, index=True),
    Column("score", Double),
    Column("seed", BigInteger),
    _ref("settings_id", "settings", nullable=True),
    Column("failure", Text),
    Column("source_id", Key, nullable=True),
    _of_bulk("system_id", "system"),
    _of_bulk("prompt_id", "prompt"),
    _of_bulk("image_id", "image"),
    _of_bulk("source_id", "source"),
    CheckConstraint("(image_id IS NULL) = (failure IS NOT NULL)", name="image_or_failure"),
    _finite("score"),
    # Undoing deletes settings, and each deletion asks whether an answer still has them.
    _where_given("answer_by_settings", "settings_id", "IS NOT NULL"),
    sqlite_with_rowid=False,
)

question = Table(
    "question",
    metadata,
    _id(),
    Column("name", Text, nullable=False),
    Column("version", Integer, nullable=False),
    Column("scale", String(16), nullable=False),
    Column("low", Double),
    Column("high", Double),
    Column("step", Double),
    Column("labels", JSON),
    Column("wording", Text, nullable=False),
    Column("direction", String(8), nullable=False),
    _source(),
    UniqueConstraint("name", "version"),
)

item = Table(
    "item",
    metadata,
    _id(),
    Column("prompt_id", Key, nullable=False),
    Column("system_id", Key, nullable=False),
    Column("image_id", Key, nullable=False),
    Column("image_b", Key, nullable=False),
    Column("image_c", Key, nullable=False),
    Column("system_b", Key, nullable=False),
    UniqueConstraint("prompt_id", "system_id", "image_id", "image_b", "image_c", "system_b"),
    Index("item_by_image", "image_id"),
    _where_given("item_by_image_b", "image_b"),
    _where_given("item_by_image_c", "image_c"),
)

annotator = Table(
    "annotator",
    metadata,
    _id(),
    Column("panel", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("role", String(16), nullable=False),
    _source(),
    Column("language", String(16)),
    Column("excluded", Text),
    UniqueConstraint("panel", "name"),
)
"""`role` is annotator, control (judges control items beforehand) or adjudicator; `excluded` is the owner's
reason to count none of the votes, empty where they count."""

round = Table(
    "round",
    metadata,
    _id(),
    Column("name", Text, nullable=False, unique=True),
    Column("mode", Text, nullable=False),
    Column("questions", JSON, nullable=False),
    Column("settings", JSON, nullable=False),
    Column("seed", BigInteger, nullable=False),
    Column("state", String(16), nullable=False),
    Column("at", String(32), nullable=False),
)
"""One task that is given to people: a mode, its questions, and the items below it; open or paused."""

token = Table(
    "token",
    metadata,
    Column("hash", String(64), primary_key=True),
    _ref("annotator_id", "annotator", nullable=True),
    _ref("round_id", "round", nullable=True),
    Column("role", String(16), nullable=False),
    Column("made", String(32), nullable=False),
    Column("expires", String(32), nullable=False),
    Column("revoked", String(32)),
)

control = Table(
    "control",
    metadata,
    _id(),
    _ref("item_id", "item", nullable=False),
    _ref("question_id", "question", nullable=False),
    Column("kind", String(16), nullable=False),
    Column("expected", Double, nullable=False),
    Column("tolerance", Double, nullable=False),
    UniqueConstraint("item_id", "question_id", "kind"),
)

round_item = Table(
    "round_item",
    metadata,
    _id(),
    _ref("round_id", "round", nullable=False),
    Column("ordinal", Integer, nullable=False),
    Column("kind", String(16), nullable=False),
    _ref("again_of", "round_item", nullable=True),
    Column("wanted", Integer, nullable=False),
    Column("given", Integer, nullable=False),
    Column("done", Integer, nullable=False),
    UniqueConstraint("round_id", "ordinal"),
    Index("round_item_by_need", "round_id", "kind", "given", "ordinal"),
    # Each deletion asks whether another item repeats this one.
    _where_given("round_item_by_again", "again_of", "IS NOT NULL"),
)
"""What one task of a round shows. `kind` is work, control, again (somebody else judges it again) or repeat
(the same annotator does). `given` counts the tasks that are assigned or done, `done` those that are done."""

round_item_slot = Table(
    "round_item_slot",
    metadata,
    _ref("round_item_id", "round_item", primary_key=True),
    Column("slot", SmallInteger, primary_key=True, autoincrement=False),
    _ref("item_id", "item", nullable=False, index=True),
    Column("control", SmallInteger, nullable=False),
    sqlite_with_rowid=False,
)

task = Table(
    "task",
    metadata,
    _id(),
    Column("key", String(32), nullable=False, unique=True),
    _ref("round_id", "round", nullable=False),
    _ref("annotator_id", "annotator", nullable=False),
    _ref("round_item_id", "round_item", nullable=False, index=True),
    Column("session", Integer, nullable=False),
    Column("ordinal", Integer, nullable=False),
    Column("state", String(16), nullable=False),
    Column("counted", SmallInteger, nullable=False),
    Column("assigned", String(32), nullable=False),
    Column("finished", String(32)),
    Column("took_ms", Integer),
    UniqueConstraint("annotator_id", "round_id", "ordinal"),
    Index("task_by_state", "round_id", "state", "assigned"),
)
"""A round's item as assigned to one annotator. `state` is open, done, skipped, or lapsed: open for too long,
so that the item was assigned to somebody else. `counted` is 1 where it counts towards the judgements
wanted: not if the annotator has had the item before, nor if the owner excluded them."""

task_slot = Table(
    "task_slot",
    metadata,
    _ref("task_id", "task", primary_key=True),
    Column("slot", SmallInteger, primary_key=True, autoincrement=False),
    _ref("item_id", "item", nullable=False, index=True),
    Column("control", SmallInteger, nullable=False),
    Column("swapped", SmallInteger, nullable=False),
    Column("repetition", Integer, nullable=False),
    sqlite_with_rowid=False,
)

judgement = Table(
    "judgement",
    metadata,
    _id(),
    Column("key", String(32), nullable=False, unique=True),
    _ref("question_id", "question", nullable=False),
    _ref("item_id", "item", nullable=False, index=True),
    _ref("annotator_id", "annotator", nullable=True),
    _ref("task_id", "task", nullable=True, index=True),
    Column("slot", SmallInteger),
    Column("repetition", Integer, nullable=False),
    Column("revision", Integer, nullable=False),
    Column("group_name", Text, nullable=False, server_default=""),
    Column("value", Double),
    Column("skipped", Text),
    Column("n", Integer, nullable=False),
    Column("session", Text, nullable=False),
    Column("control", SmallInteger, nullable=False),
    Column("took_ms", Integer),
    Column("at", String(40)),
    _source(),
    UniqueConstraint("annotator_id", "question_id", "item_id", "group_name", "repetition", "revision"),
    Index("judgement_by_item", "question_id", "item_id"),
    CheckConstraint("(value IS NULL) = (skipped IS NOT NULL)", name="value_or_skipped"),
    CheckConstraint("n = 1 OR annotator_id IS NULL", name="counted_votes_are_anonymous"),
    CheckConstraint("n >= 1", name="n_positive"),
    _finite("value"),
)

remark = Table(
    "remark",
    metadata,
    _id(),
    Column("key", String(32), nullable=False, unique=True),
    _ref("task_id", "task", nullable=False, index=True),
    Column("slot", SmallInteger, nullable=False),
    Column("part", SmallInteger, nullable=False),
    Column("kind", String(16), nullable=False),
    Column("text", Text, nullable=False),
    Column("boxes", JSON, nullable=False),
    Column("at", String(40), nullable=False),
    _source(),
)
"""What an annotator noted about a task next to their answers; the latest of its kind and place counts.

`kind` is comment, flag (something is wrong with the task) or regions. Regions are `boxes` [left, top, right,
bottom], as fractions of the width and height of image `part` of the item at `slot`; the others are texts
about the whole task. What was withdrawn is a later row without text and boxes."""

event = Table(
    "event",
    metadata,
    _id(),
    Column("at", String(32), nullable=False),
    Column("actor", Text, nullable=False),
    Column("what", String(32), nullable=False),
    Column("json", JSON),
)

settlement = Table(
    "settlement",
    metadata,
    _id(),
    _ref("question_id", "question", nullable=False, index=True),
    Column("rule", Text, nullable=False),
    Column("screening", Text, nullable=False),
    Column("up_to", Key, nullable=False),
    Column("identity", String(64), nullable=False, unique=True),
    Column("at", String(32), nullable=False),
    Column("notes", JSON(none_as_null=True)),
    _source(),
)

truth = Table(
    "truth",
    metadata,
    _ref("settlement_id", "settlement", primary_key=True),
    _ref("item_id", "item", primary_key=True, index=True),
    Column("value", Double),
    Column("low", Double),
    Column("high", Double),
    Column("n", Integer),
    Column("reason", Text),
    _source(),
    _finite("value"),
    CheckConstraint("(value IS NULL) = (reason IS NOT NULL)", name="value_or_reason"),
    sqlite_with_rowid=False,
)

measure = Table(
    "measure",
    metadata,
    _id(),
    Column("kind", String(16), nullable=False),
    Column("spec", Text, nullable=False),
    Column("version", Integer, nullable=False),
    Column("direction", String(8), nullable=False),
    Column("identity", String(64), nullable=False, unique=True),
)

score = Table(
    "score",
    metadata,
    Column("measure_id", Key, primary_key=True, autoincrement=False),
    Column("prompt_id", Key, primary_key=True, autoincrement=False),
    Column("system_id", Key, primary_key=True, autoincrement=False),
    Column("image_id", Key, primary_key=True, autoincrement=False),
    Column("inputs", BigInteger, nullable=False),
    Column("value", Double),
    Column("reason", Text),
    _source(),
    _of_bulk("measure_id", "measure"),
    Index("score_by_inputs", "measure_id", "inputs"),
    _finite("value"),
    CheckConstraint("(value IS NULL) = (reason IS NOT NULL)", name="value_or_reason"),
    _where_given("score_by_prompt", "prompt_id"),
    _where_given("score_by_image", "image_id"),
    sqlite_with_rowid=False,
)
"""`source_id` is empty where it was computed here; `inputs` is 0 where its image is known by name alone."""

evidence = Table(
    "evidence",
    metadata,
    Column("measure_id", Key, primary_key=True, autoincrement=False),
    Column("prompt_id", Key, primary_key=True, autoincrement=False),
    Column("system_id", Key, primary_key=True, autoincrement=False),
    Column("image_id", Key, primary_key=True, autoincrement=False),
    Column("json", JSON, nullable=False),
    _of_bulk("measure_id", "measure"),
    _where_given("evidence_by_prompt", "prompt_id"),
    _where_given("evidence_by_image", "image_id"),
    sqlite_with_rowid=False,
)

fit = Table(
    "fit",
    metadata,
    _id(),
    Column("spec", Text, nullable=False),
    _ref("settlement_id", "settlement", nullable=False),
    Column("split", Text, nullable=False),
    Column("train_sha", String(64), nullable=False),
    Column("seed", BigInteger, nullable=False),
    Column("state", Text),
    Column("identity", String(64), nullable=False, unique=True),
)

prediction = Table(
    "prediction",
    metadata,
    Column("fit_id", Key, primary_key=True, autoincrement=False),
    Column("prompt_id", Key, primary_key=True, autoincrement=False),
    Column("system_id", Key, primary_key=True, autoincrement=False),
    Column("image_id", Key, primary_key=True, autoincrement=False),
    Column("fold", Integer),
    Column("value", Double),
    Column("low", Double),
    Column("high", Double),
    Column("reason", Text),
    _of_bulk("fit_id", "fit"),
    _finite("value"),
    _where_given("prediction_by_prompt", "prompt_id"),
    _where_given("prediction_by_image", "image_id"),
    sqlite_with_rowid=False,
)

vector = Table(
    "vector",
    metadata,
    Column("encoder", String(64), primary_key=True),
    Column("content", String(64), primary_key=True),
    Column("shard", Integer, nullable=False),
    Column("row", Integer, nullable=False),
    sqlite_with_rowid=False,
)

PARTS = {"prompt_id": prompt, "system_id": system, "image_id": image}
PARTS |= {"image_b": image, "image_c": image, "system_b": system}
"""What the columns of items, scores and predictions refer to that are 0 where there is nothing."""
PARTIAL = (item, image_tag, score, evidence, prediction)

for _table in metadata.tables.values():
    # A process that remembers the key of a row that was undone must not meet another row under it.
    _table.dialect_options["sqlite"]["autoincrement"] = "id" in _table.columns
for _table in PARTIAL:
    for _name, _target in PARTS.items():
        if _name in _table.columns:
            _table.add_is_dependent_on(_target)
