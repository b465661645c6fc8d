"""A study as people read it: rows with names instead of ids, as the plain import forms name them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import Connection, text

from sightline.study.reading import ANSWERS as ANSWERS_BY_ID
from sightline.study.reading import (
    LATEST,
    Readable,
    current_scores,
    decoded,
    fetch_rows,
    frame,
    frames,
    images,
)
from sightline.study.schema import database, tables

if TYPE_CHECKING:
    import polars as pl

ITEM = "p.suite, p.ref, y.name, c.name, i.name, cb.name, ib.name, cc.name, ic.name, yb.name"
ITEM_JOINS = (
    "JOIN item s ON s.id = {of}.item_id LEFT JOIN prompt p ON p.id = s.prompt_id "
    "LEFT JOIN system y ON y.id = s.system_id "
    "LEFT JOIN image i ON i.id = s.image_id LEFT JOIN collection c ON c.id = i.collection_id "
    "LEFT JOIN image ib ON ib.id = s.image_b LEFT JOIN collection cb ON cb.id = ib.collection_id "
    "LEFT JOIN image ic ON ic.id = s.image_c LEFT JOIN collection cc ON cc.id = ic.collection_id "
    "LEFT JOIN system yb ON yb.id = s.system_b "
)
ITEM_COLUMNS = "suite prompt_id system collection image collection_b image_b collection_c image_c system_b"
QUESTION = "q.name, q.scale, q.low, q.high, q.step, q.direction"
QUESTION_COLUMNS = "question scale scale_low:float scale_high:float scale_step:float direction"


CAST = (
    "SELECT q.name, a.panel || '/' || a.name, s.prompt_id, s.system_id, s.image_id, j.value, j.n, "
    "j.item_id, j.repetition, j.took_ms, s.system_b, s.image_b, s.image_c "
    "FROM judgement j JOIN question q ON q.id = j.question_id JOIN item s ON s.id = j.item_id "
    "LEFT JOIN annotator a ON a.id = j.annotator_id "
    f"WHERE {LATEST} ORDER BY j.id",
    "question annotator prompt_id:int system_id:int image_id:int value:float n:int item_id:int "
    "repetition:int took_ms:int system_b:int image_b:int image_c:int",
)


def judgements(study: Readable) -> pl.DataFrame:
    """Every judgement with the parts of its item as ids: the latest revisions that have a value."""
    return frame(study, *CAST)


SETTLED = (
    "SELECT q.name, e.rule, s.prompt_id, s.system_id, s.image_id, t.value, t.low, t.high, t.item_id, "
    "t.settlement_id, s.system_b, s.image_b FROM truth t "
    "JOIN settlement e ON e.id = t.settlement_id JOIN question q ON q.id = e.question_id "
    "JOIN item s ON s.id = t.item_id WHERE t.value IS NOT NULL "
    "ORDER BY t.settlement_id, t.item_id",
    "question rule prompt_id:int system_id:int image_id:int value:float low:float high:float "
    "item_id:int settlement_id:int system_b:int image_b:int",
)


def truths(study: Readable) -> pl.DataFrame:
    """The truths of every settlement with the parts of their items as ids."""
    return frame(study, *SETTLED)


def named_links(study: Readable) -> pl.DataFrame:
    """Every link between prompts by their ids in their suites."""
    return frame(
        study,
        "SELECT p.suite, p.ref, l.kind, o.suite, o.ref FROM prompt_link l "
        "JOIN prompt p ON p.id = l.prompt_id JOIN prompt o ON o.id = l.to_prompt_id "
        "ORDER BY l.prompt_id, l.kind, l.to_prompt_id",
        "suite prompt_id kind to_suite to_prompt_id",
    )


def named_prompts(study: Readable) -> pl.DataFrame:
    """Every prompt with its id in its suite, and one column per tag."""
    import polars as pl

    prompts = frame(study, "SELECT suite, ref, text FROM prompt ORDER BY id", "suite prompt_id prompt")
    tags = named_tags(study).with_columns(name="tags." + pl.col("name"))
    if tags.is_empty():
        return prompts
    wide = tags.pivot("name", index=["suite", "prompt_id"], values="value")
    return prompts.join(wide, on=["suite", "prompt_id"], how="left", maintain_order="left")


def named_images(study: Readable) -> pl.DataFrame:
    """Every image with its collection, content hash and size."""
    return images(study).drop("image_id").rename({"name": "image"})


def image_parts(study: Readable) -> Iterator[pl.DataFrame]:
    """The same in parts."""
    query = (
        "SELECT c.name, i.name, i.sha256, i.width, i.height, i.defect FROM image i "
        "JOIN collection c ON c.id = i.collection_id ORDER BY i.id"
    )
    return frames(study, query, "collection image sha256 width:int height:int defect")


class Described(NamedTuple):
    """What is said of an image: its content, its captions, and tags that hold whatever prompt it answers."""

    sha256: str | None
    captions: list[str]
    tags: dict[str, str]


def described_images(study: Readable, keys: Sequence[tuple[str, str]]) -> dict[tuple[str, str], Described]:
    """What is said of these images, given by collection and name."""
    found: dict[tuple[str, str], Described] = {}
    with database.reading(study.engine) as connection:
        homes = dict(database.fetch(connection, "SELECT name, id FROM collection"))
        ids = [(homes[home], name) for home, name in dict.fromkeys(keys)]
        names = {key: home for home, key in homes.items()}
        rows = database.look_up(connection, tables.image, ["collection_id", "name"], ids, ["id", "sha256"])
        of_id = {}
        for home, name, key, sha256 in rows:
            of_id[int(key)] = found[names[home], name] = Described(sha256, [], {})
        wanted = [database.id_list(connection, list(of_id))]
        among = database.among(connection, "image_id")
        query = f"SELECT image_id, text FROM caption WHERE {among} ORDER BY image_id, n"
        for key, caption in database.fetch(connection, query, wanted):
            of_id[int(key)].captions.append(caption)
        query = f"SELECT image_id, name, value FROM image_tag WHERE prompt_id = 0 AND {among} ORDER BY 1, 2"
        for key, name, value in database.fetch(connection, query, wanted):
            of_id[int(key)].tags[name] = value
    return found


def unanswered_images(study: Readable) -> Iterator[pl.DataFrame]:
    """Images that no system answered with, in parts."""
    query = (
        "SELECT c.name, i.name FROM image i JOIN collection c ON c.id = i.collection_id "
        "WHERE NOT EXISTS (SELECT 1 FROM answer a WHERE a.image_id = i.id) ORDER BY i.id"
    )
    return frames(study, query, "collection image")


TAGS = (
    "SELECT p.suite, p.ref, t.name, t.value FROM prompt_tag t JOIN prompt p ON p.id = t.prompt_id "
    "ORDER BY t.prompt_id, t.name",
    "suite prompt_id name value",
)


def named_tags(study: Readable) -> pl.DataFrame:
    """Every tag with the id of its prompt in its suite."""
    return frame(study, *TAGS)


def answer_settings(study: Readable, name: str = "") -> pl.DataFrame:
    """Every setting that answers were made with, or the one of this name; a seed is none."""
    import polars as pl

    rows = fetch_rows(
        study,
        "SELECT a.system_id, a.prompt_id, a.image_id, CAST(o.json AS TEXT) FROM answer a "
        "JOIN settings o ON o.id = a.settings_id WHERE a.image_id IS NOT NULL "
        "ORDER BY a.system_id, a.prompt_id, a.position",
    )
    kept = [
        (system, prompt, image, key, str(value))
        for system, prompt, image, cell in rows
        for key, value in json.loads(cell).items()
        if isinstance(value, str | int | float) and key != "seed" and name in ("", key)
    ]
    names = ["system_id", "prompt_id", "image_id", "name", "value"]
    kinds = dict(zip(names, [pl.Int64] * 3 + [pl.String] * 2, strict=True))
    return pl.DataFrame(kept, schema=kinds, orient="row")


ANSWERS = (
    "SELECT p.suite, p.ref, p.text, y.name, y.kind, a.position, c.name, i.name, a.score, a.seed, "
    "a.failure, CAST(o.json AS TEXT) FROM answer a JOIN prompt p ON p.id = a.prompt_id "
    "JOIN system y ON y.id = a.system_id "
    "LEFT JOIN image i ON i.id = a.image_id LEFT JOIN collection c ON c.id = i.collection_id "
    "LEFT JOIN settings o ON o.id = a.settings_id ORDER BY a.system_id, a.prompt_id, a.position",
    "suite prompt_id prompt system kind position:int collection image score:float seed:int failure settings",
)


def named_answers(study: Readable) -> tuple[pl.DataFrame, list[Mapping[str, Any] | None]]:
    """Every answer by names, and the settings each was made with."""
    found = frame(study, *ANSWERS)
    settings = [None if cell is None else json.loads(cell) for cell in found["settings"]]
    return found.drop("settings"), settings


def answer_parts(study: Readable) -> Iterator[pl.DataFrame]:
    """Every answer by names, in parts, with its settings as JSON."""
    return frames(study, *ANSWERS)


def setting_names(study: Readable) -> list[str]:
    """The settings that answers were made with, in the order in which answers name them."""
    query = (
        "SELECT CAST(o.json AS TEXT) FROM answer a JOIN settings o ON o.id = a.settings_id "
        "ORDER BY a.system_id, a.prompt_id, a.position"
    )
    cells = (
        cell for part in frames(study, query, "cell") for cell in part["cell"].unique(maintain_order=True)
    )
    return list(dict.fromkeys(name for cell in cells for name in json.loads(cell)))


CAPTIONS = (
    "SELECT c.name, i.name, t.text FROM caption t JOIN image i ON i.id = t.image_id "
    "JOIN collection c ON c.id = i.collection_id ORDER BY t.image_id, t.n",
    "collection image caption",
)


def named_captions(study: Readable) -> pl.DataFrame:
    """Every caption with the collection and name of its image."""
    return frame(study, *CAPTIONS)


IMAGE_TAGS = (
    "SELECT c.name, i.name, p.suite, p.ref, t.name, t.value FROM image_tag t "
    "JOIN image i ON i.id = t.image_id JOIN collection c ON c.id = i.collection_id "
    "LEFT JOIN prompt p ON p.id = t.prompt_id ORDER BY t.image_id, t.prompt_id, t.name",
    "collection image suite prompt_id tag value",
)


def named_image_tags(study: Readable) -> pl.DataFrame:
    """Every tag of every image, with the prompt where it holds of the image as the answer to that one."""
    return frame(study, *IMAGE_TAGS)


JUDGEMENTS = (
    f"SELECT {QUESTION}, {ITEM}, a.panel, a.name, j.value, j.skipped, j.n, j.repetition, j.revision, "
    "j.group_name, j.session, j.control, j.took_ms, j.at FROM judgement j "
    f"JOIN question q ON q.id = j.question_id {ITEM_JOINS.format(of='j')} "
    "LEFT JOIN annotator a ON a.id = j.annotator_id "
    "WHERE :r = 0 OR j.task_id IN (SELECT id FROM task WHERE round_id = :r) ORDER BY j.id",
    f"{QUESTION_COLUMNS} {ITEM_COLUMNS} panel annotator value:float skipped n:int repetition:int "
    "revision:int group session control:int took_ms:int time",
)


def named_judgements(study: Readable, round_id: int | None = None) -> pl.DataFrame:
    """Every judgement as it was given, revisions and skipped items included; of one round if named."""
    return frame(study, *JUDGEMENTS, r=round_id or 0)


def judgement_parts(study: Readable) -> Iterator[pl.DataFrame]:
    """Every judgement in parts, without the columns of a second and third collection that none needs."""
    spare = _spare_collections(study, "judgement")
    return (part.drop(spare) for part in frames(study, *JUDGEMENTS, r=0))


def _spare_collections(study: Readable, table: str) -> list[str]:
    """The columns of further collections that a table does not need: images of an item are of the first."""
    query = (
        f"SELECT 1 FROM {table} j JOIN item s ON s.id = j.item_id JOIN image o ON o.id = s.{{part}} "
        "LEFT JOIN image i ON i.id = s.image_id "
        "WHERE s.{part} <> 0 AND o.collection_id <> coalesce(i.collection_id, 0) LIMIT 1"
    )
    parts = {"collection_b": "image_b", "collection_c": "image_c"}
    return [name for name, part in parts.items() if not fetch_rows(study, query.format(part=part))]


def named_annotators(study: Readable) -> pl.DataFrame:
    """Every annotator with their role and the reason why their judgements do not count."""
    return frame(
        study,
        "SELECT panel, name, role, language, excluded FROM annotator ORDER BY id",
        "panel annotator role language excluded",
    )


def named_controls(study: Readable) -> pl.DataFrame:
    """Every answer to a control item that is known beforehand."""
    return frame(
        study,
        f"SELECT q.name, {ITEM}, k.kind, k.expected, k.tolerance FROM control k "
        f"JOIN question q ON q.id = k.question_id {ITEM_JOINS.format(of='k')} ORDER BY k.id",
        f"question {ITEM_COLUMNS} kind expected:float tolerance:float",
    )


def named_rounds(study: Readable) -> pl.DataFrame:
    """Every round as it was opened; its questions and settings as JSON."""
    import polars as pl

    names = dict(fetch_rows(study, "SELECT id, name FROM question"))
    rounds = frame(
        study,
        "SELECT name, mode, CAST(questions AS TEXT), CAST(settings AS TEXT), seed, state, at FROM round "
        "ORDER BY id",
        "round mode questions settings seed:int state opened",
    )
    asked = [[names[key] for key in json.loads(cell)] for cell in rounds["questions"]]
    cells = [json.dumps(each, ensure_ascii=False) for each in asked]
    return rounds.with_columns(pl.Series("questions", cells, dtype=pl.String))


def named_round_items(study: Readable) -> pl.DataFrame:
    """What every place of every round shows: one row per slot."""
    return frame(
        study,
        "SELECT r.name, n.ordinal, l.slot, n.kind, f.ordinal, n.wanted, l.control, "
        f"{ITEM} FROM round_item n JOIN round r ON r.id = n.round_id "
        "LEFT JOIN round_item f ON f.id = n.again_of JOIN round_item_slot l ON l.round_item_id = n.id "
        f"{ITEM_JOINS.format(of='l')} ORDER BY n.round_id, n.ordinal, l.slot",
        f"round place:int slot:int kind again_of:int wanted:int control:int {ITEM_COLUMNS}",
    )


def named_tasks(study: Readable) -> pl.DataFrame:
    """Every task: which place of a round was assigned to whom, and its slots as shown, as JSON."""
    import polars as pl

    slots: dict[int, dict[int, list[int]]] = {}
    query = "SELECT round_item_id, item_id, slot FROM round_item_slot ORDER BY round_item_id, slot"
    for key, item, slot in fetch_rows(study, query):
        slots.setdefault(key, {}).setdefault(item, []).append(slot)
    shown: dict[int, list[tuple[int, bool, int]]] = {}
    query = (
        "SELECT s.task_id, p.round_item_id, s.item_id, s.swapped, s.repetition FROM task_slot s "
        "JOIN task p ON p.id = s.task_id ORDER BY s.task_id, s.slot"
    )
    met: dict[tuple[int, int], int] = {}
    for task, key, item, swapped, repetition in fetch_rows(study, query):
        # An item that stands twice in a place has its slots in turn.
        again = met[task, item] = met.get((task, item), -1) + 1
        shown.setdefault(task, []).append((slots[key][item][again], bool(swapped), int(repetition)))
    tasks = frame(
        study,
        "SELECT p.id, r.name, a.panel, a.name, p.ordinal, n.ordinal, p.session, p.state, p.counted, "
        "p.assigned, p.finished, p.took_ms FROM task p JOIN round r ON r.id = p.round_id "
        "JOIN annotator a ON a.id = p.annotator_id JOIN round_item n ON n.id = p.round_item_id "
        "ORDER BY p.id",
        "id:int round panel annotator number:int place:int session:int state counted:int assigned finished "
        "took_ms:int",
    )
    cells = [json.dumps(shown.get(key, [])) for key in tasks["id"]]
    return tasks.drop("id").with_columns(pl.col("counted") == 1, pl.Series("slots", cells, dtype=pl.String))


def named_remarks(study: Readable) -> pl.DataFrame:
    """Every comment, flag and marked region as it was noted, withdrawn ones included; boxes as JSON."""
    return frame(
        study,
        "SELECT r.name, a.panel, a.name, p.ordinal, m.slot, m.part, m.kind, m.text, "
        "CAST(m.boxes AS TEXT), m.at FROM remark m JOIN task p ON p.id = m.task_id "
        "JOIN round r ON r.id = p.round_id "
        "JOIN annotator a ON a.id = p.annotator_id ORDER BY m.id",
        "round panel annotator number:int slot:int part:int kind text boxes time",
    )


NEWEST = "SELECT max(n.id) FROM settlement n GROUP BY n.question_id, n.rule"
TRUTHS = (
    f"SELECT {QUESTION}, {ITEM}, t.value, t.low, t.high, t.n, e.rule, t.reason FROM truth t "
    "JOIN settlement e ON e.id = t.settlement_id JOIN question q ON q.id = e.question_id "
    f"{ITEM_JOINS.format(of='t')} WHERE e.id IN ({NEWEST}) ORDER BY t.settlement_id, t.item_id",
    f"{QUESTION_COLUMNS} {ITEM_COLUMNS} value:float low:float high:float n:int rule reason",
)


def named_truths(study: Readable) -> pl.DataFrame:
    """The truths of the newest settlement of each question and rule, with the reason where there is none."""
    return frame(study, *TRUTHS)


def truth_parts(study: Readable) -> Iterator[pl.DataFrame]:
    """The same in parts, without the columns of a second and third collection that none needs."""
    newest = f"(SELECT * FROM truth WHERE settlement_id IN ({NEWEST}))"
    spare = _spare_collections(study, newest)
    return (part.drop(spare) for part in frames(study, *TRUTHS))


def unsettled(study: Readable) -> bool:
    """Whether there is an item without consensus in a settlement that `named_truths` reads."""
    query = f"SELECT 1 FROM truth WHERE value IS NULL AND settlement_id IN ({NEWEST}) LIMIT 1"
    return bool(fetch_rows(study, query))


SCORES = (
    "SELECT m.kind, r.inputs, r.prompt_id, r.system_id, r.image_id, m.spec, m.direction, p.suite, p.ref, "
    "y.name, c.name, i.name, r.value, r.reason, m.version, m.identity, CAST(e.json AS TEXT), r.source_id "
    "FROM score r JOIN measure m ON m.id = r.measure_id LEFT JOIN prompt p ON p.id = r.prompt_id "
    "LEFT JOIN system y ON y.id = r.system_id LEFT JOIN image i ON i.id = r.image_id "
    "LEFT JOIN collection c ON c.id = i.collection_id LEFT JOIN evidence e "
    "ON e.measure_id = r.measure_id AND e.prompt_id = r.prompt_id AND e.system_id = r.system_id "
    "AND e.image_id = r.image_id ORDER BY r.measure_id, r.prompt_id, r.system_id, r.image_id",
    "kind inputs:int prompt_id:int system_id:int image_id:int measure direction suite ref system "
    "collection image value:float reason version:int identity evidence imported:int",
)


def named_scores(study: Readable) -> pl.DataFrame:
    """Every score of every measure of what the study holds now, with the reason where there is no value.

    Which measure it is (kind, version, identity), the hash of what was scored (inputs) and the evidence let
    it come back; `imported` is the number of the import that a score from elsewhere came with.
    """
    import polars as pl

    return pl.concat(score_parts(study))


def score_parts(study: Readable) -> Iterator[pl.DataFrame]:
    """The same in parts."""
    names = ("measure", "direction", "suite", "ref", "system", "collection", "image", "value", "reason")
    more = ("kind", "version", "identity", "inputs", "evidence", "imported")
    for stored in frames(study, *SCORES):
        current = current_scores(study, stored.with_row_index("place")).sort("place")
        yield current.select(*names, *more).rename({"ref": "prompt_id"})


def imported_measures(study: Readable) -> dict[str, list[str]]:
    """The files that scores from elsewhere came from, by the identity of their measure."""
    query = (
        "SELECT DISTINCT m.identity, s.path FROM score c JOIN measure m ON m.id = c.measure_id "
        "JOIN source s ON s.id = c.source_id ORDER BY m.identity, s.path"
    )
    found: dict[str, list[str]] = {}
    for identity, path in fetch_rows(study, query):
        found.setdefault(str(identity), []).append(str(path))
    return found


def source_of(study: Readable, importer: str, digest: str) -> int | None:
    """The id of the source that an importer made from this content, if there is one."""
    query = "SELECT id FROM source WHERE importer = :importer AND sha256 = :digest"
    return next((int(row[0]) for row in fetch_rows(study, query, importer=importer, digest=digest)), None)


def system_kind(study: Readable, name: str) -> str | None:
    """Whether a system is a generator or a retriever; None where there is no such system."""
    query = "SELECT kind FROM system WHERE name = :name"
    return next((str(row[0]) for row in fetch_rows(study, query, name=name)), None)


def positions(study: Readable, system: str, source_id: int | None) -> tuple[set[tuple[int, int]], int]:
    """Where a system has answered, as (prompt, position), and how many answers other sources gave."""
    import polars as pl

    given = frame(
        study,
        "SELECT a.prompt_id, a.position, a.source_id FROM answer a JOIN system y ON y.id = a.system_id "
        "WHERE y.name = :name",
        "prompt_id:int position:int source_id:int",
        name=system,
    )
    others = given.filter(pl.col("source_id").ne_missing(pl.lit(source_id, dtype=pl.Int64))).height
    return set(given.select("prompt_id", "position").iter_rows()), others


def events(study: Readable, actor: str) -> list[tuple[str, Mapping[str, Any]]]:
    """What an actor noted in the study's log, oldest first."""
    query = "SELECT what, json FROM event WHERE actor = :actor ORDER BY id"
    return [(what, decoded(noted)) for what, noted in fetch_rows(study, query, actor=actor)]


def events_after(
    connection: Connection, actor: str, after: int
) -> Iterator[tuple[int, str, Mapping[str, Any]]]:
    """What an actor noted since the event with this id, each with its own."""
    query = text("SELECT id, what, json FROM event WHERE actor = :actor AND id > :after ORDER BY id")
    for key, what, noted in connection.execute(query, {"actor": actor, "after": after}):
        yield key, what, decoded(noted)


def failed_answers(study: Readable) -> dict[str, int]:
    """How many answers of each system failed, of those that have any."""
    query = (
        "SELECT y.name, count(*) FROM answer a JOIN system y ON y.id = a.system_id "
        "WHERE a.failure IS NOT NULL GROUP BY y.id, y.name ORDER BY y.id"
    )
    return {str(name): int(n) for name, n in fetch_rows(study, query)}


def scored_measures(study: Readable) -> set[str]:
    """The identities of the measures that have scores at this moment."""
    query = "SELECT m.identity FROM measure m WHERE EXISTS (SELECT 1 FROM score c WHERE c.measure_id = m.id)"
    return {str(identity) for (identity,) in fetch_rows(study, query)}


def computed_for_checks(study: Readable) -> set[str]:
    """The measures, by identity, whose scores `check` computed for itself and nobody asked for since."""
    noted = {str(note["measure"]) for what, note in events(study, "check") if what == "measured"}
    return noted - {str(note["measure"]) for what, note in events(study, "score") if what == "asked"}


def scanned(study: Readable, table: str) -> Iterator[pl.DataFrame]:
    """The answers, images, judgements or truths of a study in parts, with ids, as rules look at them."""
    if table == "images":
        query = (
            "SELECT i.id, c.name, i.name, i.sha256, i.width, i.height, i.defect, "
            "(SELECT count(*) FROM caption t WHERE t.image_id = i.id) FROM image i "
            "JOIN collection c ON c.id = i.collection_id ORDER BY i.id"
        )
        columns = "image_id:int collection name sha256 width:int height:int defect captions:int"
        return frames(study, query, columns)
    if table == "answers":
        return frames(study, *ANSWERS_BY_ID, kind="")
    return frames(study, *{"judgements": CAST, "truths": SETTLED}[table])


def current_parts(study: Readable, identity: str) -> Iterator[pl.DataFrame]:
    """The scores of a measure in parts, of what the study holds now, with their evidence as JSON."""
    query = (
        "SELECT m.kind, r.inputs, r.prompt_id, r.system_id, r.image_id, r.value, r.reason, "
        "CAST(e.json AS TEXT) FROM score r JOIN measure m ON m.id = r.measure_id LEFT JOIN evidence e "
        "ON e.measure_id = r.measure_id AND e.prompt_id = r.prompt_id AND e.system_id = r.system_id "
        "AND e.image_id = r.image_id WHERE m.identity = :identity "
        "ORDER BY r.prompt_id, r.system_id, r.image_id"
    )
    columns = "kind inputs:int prompt_id:int system_id:int image_id:int value:float reason evidence"
    stored = frames(study, query, columns, identity=identity)
    return (current_scores(study, part).drop("kind", "inputs") for part in stored)


def evidence(study: Readable, identity: str) -> pl.DataFrame:
    """What the scores of one measure of images, or of answers, rest on, as JSON."""
    return frame(
        study,
        "SELECT e.prompt_id, e.image_id, CAST(e.json AS TEXT) FROM evidence e "
        "JOIN measure m ON m.id = e.measure_id WHERE m.identity = :identity ORDER BY e.image_id, e.prompt_id",
        "prompt_id:int image_id:int evidence",
        identity=identity,
    )


def unscored_images(study: Readable, identity: str) -> int:
    """How many images with a file have no score of this measure of an image, or that of another content."""
    ((held,),) = fetch_rows(study, "SELECT count(*) FROM image WHERE sha256 IS NOT NULL")
    return int(held) - sum(part.height for part in current_parts(study, identity))


def sets_of_images(study: Readable) -> pl.DataFrame:
    """How many answers each generator gave each prompt, and of how many the image's file is here."""
    return frame(
        study,
        "SELECT a.prompt_id, a.system_id, count(*), count(i.sha256) FROM answer a "
        "JOIN system s ON s.id = a.system_id AND s.kind = 'generator' LEFT JOIN image i ON i.id = a.image_id "
        "GROUP BY a.prompt_id, a.system_id ORDER BY a.prompt_id, a.system_id",
        "prompt_id:int system_id:int answers:int there:int",
    )


def reasons(study: Readable, identity: str) -> dict[str, int]:
    """Why scores of a measure are missing, of what the study holds now, and how many each."""
    counts: Counter[str] = Counter()
    for part in current_parts(study, identity):
        counts.update(part["reason"].drop_nulls().to_list())
    return dict(counts.most_common())


def votes_by_question(study: Readable) -> dict[str, int]:
    """How many votes count on each question that has any."""
    rows = fetch_rows(
        study,
        "SELECT q.name, sum(j.n) FROM judgement j JOIN question q ON q.id = j.question_id "
        f"WHERE j.control = 0 AND {LATEST} GROUP BY q.name",
    )
    return {str(name): int(n) for name, n in rows}
