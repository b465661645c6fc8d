"""A study as people read it: rows with names instead of ids, as the plain import forms name them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sightline.study.reading import Readable, frame, images

if TYPE_CHECKING:
    import polars as pl

ITEM = "p.suite, p.ref, y.name, c.name, i.name, cb.name, ib.name, cc.name, ic.name"
ITEM_JOINS = (
    "JOIN item s ON s.id = {of}.item_id LEFT JOIN prompt p ON p.id = s.prompt_id "
    "LEFT JOIN system y ON y.id = s.system_id "
    "LEFT JOIN image i ON i.id = s.image_id LEFT JOIN collection c ON c.id = i.collection_id "
    "LEFT JOIN image ib ON ib.id = s.image_b LEFT JOIN collection cb ON cb.id = ib.collection_id "
    "LEFT JOIN image ic ON ic.id = s.image_c LEFT JOIN collection cc ON cc.id = ic.collection_id "
)
QUESTION = "q.name, q.scale, q.low, q.high, q.step, q.direction"


def judgements(study: Readable) -> pl.DataFrame:
    """Every judgement with the parts of its item as ids: the latest revisions that have a value."""
    import polars as pl

    schema = {
        "question": pl.String,
        "annotator": pl.String,
        "prompt_id": pl.Int64,
        "system_id": pl.Int64,
        "image_id": pl.Int64,
        "value": pl.Float64,
        "n": pl.Int64,
        "item_id": pl.Int64,
        "repetition": pl.Int64,
        "took_ms": pl.Int64,
        "image_b": pl.Int64,
    }
    return frame(
        study,
        "SELECT q.name, a.panel || '/' || a.name, s.prompt_id, s.system_id, s.image_id, j.value, j.n, "
        "j.item_id, j.repetition, j.took_ms, s.image_b "
        "FROM judgement j JOIN question q ON q.id = j.question_id JOIN item s ON s.id = j.item_id "
        "LEFT JOIN annotator a ON a.id = j.annotator_id "
        "WHERE j.value IS NOT NULL AND (j.annotator_id IS NULL OR NOT EXISTS "
        "(SELECT 1 FROM judgement k WHERE k.annotator_id = j.annotator_id AND k.question_id = j.question_id "
        "AND k.item_id = j.item_id AND k.repetition = j.repetition AND k.revision > j.revision)) "
        "ORDER BY j.id",
        schema,
    )


def truths(study: Readable) -> pl.DataFrame:
    """The truths of every settlement with the parts of their items as ids."""
    import polars as pl

    schema = {
        "question": pl.String,
        "rule": pl.String,
        "prompt_id": pl.Int64,
        "system_id": pl.Int64,
        "image_id": pl.Int64,
        "value": pl.Float64,
        "low": pl.Float64,
        "high": pl.Float64,
        "item_id": pl.Int64,
        "settlement_id": pl.Int64,
    }
    return frame(
        study,
        "SELECT q.name, e.rule, s.prompt_id, s.system_id, s.image_id, t.value, t.low, t.high, t.item_id, "
        "t.settlement_id FROM truth t "
        "JOIN settlement e ON e.id = t.settlement_id JOIN question q ON q.id = e.question_id "
        "JOIN item s ON s.id = t.item_id WHERE t.value IS NOT NULL "
        "ORDER BY t.settlement_id, t.item_id",
        schema,
    )


def named_links(study: Readable) -> pl.DataFrame:
    """Every link between prompts by their ids in their suites."""
    names = ("suite", "prompt_id", "kind", "to_suite", "to_prompt_id")
    return frame(
        study,
        "SELECT p.suite, p.ref, l.kind, o.suite, o.ref FROM prompt_link l "
        "JOIN prompt p ON p.id = l.prompt_id JOIN prompt o ON o.id = l.to_prompt_id "
        "ORDER BY l.prompt_id, l.kind, l.to_prompt_id",
        _texts(*names),
    )


def named_prompts(study: Readable) -> pl.DataFrame:
    """Every prompt with its id in its suite, and one column per tag."""
    import polars as pl

    prompts = frame(
        study, "SELECT suite, ref, text FROM prompt ORDER BY id", _texts("suite", "prompt_id", "prompt")
    )
    tags = named_tags(study).with_columns(name="tags." + pl.col("name"))
    if tags.is_empty():
        return prompts
    wide = tags.pivot("name", index=["suite", "prompt_id"], values="value")
    return prompts.join(wide, on=["suite", "prompt_id"], how="left", maintain_order="left")


def named_images(study: Readable) -> pl.DataFrame:
    """Every image with its collection, content hash and size."""
    return images(study).drop("image_id").rename({"name": "image"})


def named_tags(study: Readable) -> pl.DataFrame:
    """Every tag with the id of its prompt in its suite."""
    return frame(
        study,
        "SELECT p.suite, p.ref, t.name, t.value FROM prompt_tag t JOIN prompt p ON p.id = t.prompt_id "
        "ORDER BY t.prompt_id, t.name",
        _texts("suite", "prompt_id", "name", "value"),
    )


def named_answers(study: Readable) -> tuple[pl.DataFrame, list[Mapping[str, Any] | None]]:
    """Every answer by names, and the settings each was made with."""
    import polars as pl

    schema = {
        **_texts("suite", "prompt_id", "prompt", "system", "kind"),
        "position": pl.Int64,
        **_texts("collection", "image"),
        "score": pl.Float64,
        "seed": pl.Int64,
        **_texts("failure", "settings"),
    }
    found = frame(
        study,
        "SELECT p.suite, p.ref, p.text, y.name, y.kind, a.position, c.name, i.name, a.score, a.seed, "
        "a.failure, CAST(o.json AS TEXT) FROM answer a JOIN prompt p ON p.id = a.prompt_id "
        "JOIN system y ON y.id = a.system_id "
        "LEFT JOIN image i ON i.id = a.image_id LEFT JOIN collection c ON c.id = i.collection_id "
        "LEFT JOIN settings o ON o.id = a.settings_id ORDER BY a.system_id, a.prompt_id, a.position",
        schema,
    )
    settings = [None if cell is None else json.loads(cell) for cell in found["settings"]]
    return found.drop("settings"), settings


def named_captions(study: Readable) -> pl.DataFrame:
    """Every caption with the collection and name of its image."""
    return frame(
        study,
        "SELECT c.name, i.name, t.text FROM caption t JOIN image i ON i.id = t.image_id "
        "JOIN collection c ON c.id = i.collection_id ORDER BY t.image_id, t.n",
        _texts("collection", "image", "caption"),
    )


def named_judgements(study: Readable, round_id: int | None = None) -> pl.DataFrame:
    """Every judgement as it was given, revisions and skipped items included; of one round if named."""
    import polars as pl

    schema = {
        **question_schema(),
        **item_schema(),
        **_texts("panel", "annotator"),
        "value": pl.Float64,
        "skipped": pl.String,
        **{name: pl.Int64 for name in ("n", "repetition", "revision")},
        "session": pl.String,
        "control": pl.Int64,
        "took_ms": pl.Int64,
        "time": pl.String,
    }
    return frame(
        study,
        f"SELECT {QUESTION}, {ITEM}, a.panel, a.name, j.value, j.skipped, j.n, j.repetition, j.revision, "
        "j.session, j.control, j.took_ms, j.at FROM judgement j JOIN question q ON q.id = j.question_id "
        f"{ITEM_JOINS.format(of='j')} LEFT JOIN annotator a ON a.id = j.annotator_id "
        "WHERE :r = 0 OR j.task_id IN (SELECT id FROM task WHERE round_id = :r) ORDER BY j.id",
        schema,
        r=round_id or 0,
    )


def named_truths(study: Readable) -> pl.DataFrame:
    """The truths of the newest settlement of each question and rule, with the reason where there is none."""
    import polars as pl

    numbers = {name: pl.Float64 for name in ("value", "low", "high")}
    schema = {**question_schema(), **item_schema(), **numbers, "n": pl.Int64, **_texts("rule", "reason")}
    return frame(
        study,
        f"SELECT {QUESTION}, {ITEM}, t.value, t.low, t.high, t.n, e.rule, t.reason FROM truth t "
        "JOIN settlement e ON e.id = t.settlement_id JOIN question q ON q.id = e.question_id "
        f"{ITEM_JOINS.format(of='t')} WHERE e.id IN (SELECT max(n.id) FROM settlement n "
        "GROUP BY n.question_id, n.rule) ORDER BY t.settlement_id, t.item_id",
        schema,
    )


def named_scores(study: Readable) -> pl.DataFrame:
    """Every score of every measure, with the reason where there is none."""
    import polars as pl

    names = ("measure", "direction", "suite", "prompt_id", "system", "collection", "image")
    schema = {**_texts(*names), "value": pl.Float64, "reason": pl.String}
    return frame(
        study,
        "SELECT m.spec, m.direction, p.suite, p.ref, y.name, c.name, i.name, r.value, r.reason FROM score r "
        "JOIN measure m ON m.id = r.measure_id LEFT JOIN prompt p ON p.id = r.prompt_id "
        "LEFT JOIN system y ON y.id = r.system_id LEFT JOIN image i ON i.id = r.image_id "
        "LEFT JOIN collection c ON c.id = i.collection_id "
        "ORDER BY r.measure_id, r.prompt_id, r.system_id, r.image_id",
        schema,
    )


def _texts(*names: str) -> dict[str, Any]:
    import polars as pl

    return {name: pl.String for name in names}


def question_schema() -> dict[str, Any]:
    import polars as pl

    numbers = {name: pl.Float64 for name in ("scale_low", "scale_high", "scale_step")}
    return {**_texts("question", "scale"), **numbers, "direction": pl.String}


def item_schema() -> dict[str, Any]:
    shown = ("collection", "image", "collection_b", "image_b", "collection_c", "image_c")
    return _texts("suite", "prompt_id", "system", *shown)


def source_of(study: Readable, importer: str, digest: str) -> int | None:
    """The id of the source that an importer made from this content, if there is one."""
    import polars as pl

    found = frame(
        study,
        "SELECT id FROM source WHERE importer = :importer AND sha256 = :digest",
        {"id": pl.Int64},
        importer=importer,
        digest=digest,
    )
    return None if found.is_empty() else int(found["id"][0])


def system_kind(study: Readable, name: str) -> str | None:
    """Whether a system is a generator or a retriever; None where there is no such system."""
    import polars as pl

    found = frame(study, "SELECT kind FROM system WHERE name = :name", {"kind": pl.String}, name=name)
    return None if found.is_empty() else str(found["kind"][0])


def positions(study: Readable, system: str, source_id: int | None) -> tuple[set[tuple[int, int]], int]:
    """Where a system has answered, as (prompt, position), and how many answers other sources gave."""
    import polars as pl

    schema = {"prompt_id": pl.Int64, "position": pl.Int64, "source_id": pl.Int64}
    given = frame(
        study,
        "SELECT a.prompt_id, a.position, a.source_id FROM answer a JOIN system y ON y.id = a.system_id "
        "WHERE y.name = :name",
        schema,
        name=system,
    )
    others = given.filter(pl.col("source_id").ne_missing(pl.lit(source_id, dtype=pl.Int64))).height
    return set(given.select("prompt_id", "position").iter_rows()), others


def events(study: Readable, actor: str) -> list[tuple[str, Mapping[str, Any]]]:
    """What an actor noted in the study's log, oldest first."""
    rows = frame(
        study,
        "SELECT what, CAST(json AS TEXT) FROM event WHERE actor = :actor ORDER BY id",
        _texts("what", "json"),
        actor=actor,
    )
    return [(what, json.loads(noted)) for what, noted in rows.iter_rows()]


def searched(study: Readable) -> pl.DataFrame:
    """Every system with its kind, how many answers it gave, and the collection it searches, if any."""
    import polars as pl

    schema = {
        "system_id": pl.Int64,
        "system": pl.String,
        "kind": pl.String,
        "answers": pl.Int64,
        "collection": pl.String,
    }
    return frame(
        study,
        "SELECT y.id, y.name, y.kind, count(a.position), c.name FROM system y "
        "LEFT JOIN answer a ON a.system_id = y.id LEFT JOIN collection c ON c.id = y.collection_id "
        "GROUP BY y.id, y.name, y.kind, c.name ORDER BY y.id",
        schema,
    )


def captioned(study: Readable) -> pl.DataFrame:
    """How many captions each image with captions has."""
    import polars as pl

    return frame(
        study,
        "SELECT image_id, count(*) FROM caption GROUP BY image_id ORDER BY image_id",
        {"image_id": pl.Int64, "captions": pl.Int64},
    )


def evidence(study: Readable, identity: str) -> pl.DataFrame:
    """What the scores of one measure of images rest on, as JSON."""
    import polars as pl

    return frame(
        study,
        "SELECT e.image_id, CAST(e.json AS TEXT) FROM evidence e JOIN measure m ON m.id = e.measure_id "
        "WHERE m.identity = :identity ORDER BY e.image_id",
        {"image_id": pl.Int64, "evidence": pl.String},
        identity=identity,
    )
