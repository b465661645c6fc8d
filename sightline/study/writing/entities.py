"""Prompts, images, systems, collections, questions and annotators: found by their natural keys or made."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from sqlalchemy import Connection, Table, select

from sightline.errors import ConflictError, DataError
from sightline.pictures import MOST_BYTES, image_size
from sightline.records import (
    AnnotatorKey,
    Image,
    ImageKey,
    ImageTag,
    Prompt,
    PromptKey,
    PromptText,
    Question,
    System,
)
from sightline.regular import read_regular
from sightline.study.schema import database, tables
from sightline.study.schema.naming import CONTENT, find_contents
from sightline.study.schema.storable import refuse_bad_text, refuse_long_text, sound_question
from sightline.study.study import Study
from sightline.study.writing.image_tags import keep_image_tags
from sightline.study.writing.keeping import Keeper
from sightline.study.writing.scenes import keep_scenes
from sightline.study.writing.translations import keep_translations

LOST_FILE = "its file was damaged or lost: import the image again"
"""The defect of an image whose bytes the study knows by their hash, but no longer has."""
REMEMBERED = 200_000
"""Keys kept between batches; beyond that the database is asked again, so that memory stays bounded."""


class Entities(Keeper):
    """The natural keys of one import, turned into ids."""

    def __init__(
        self,
        study: Study,
        connection: Connection,
        source_id: int | None,
        keep_broken: bool = False,
        keep_files: bool = True,
    ) -> None:
        super().__init__(connection, source_id)
        self.study = study
        self.keep_broken = keep_broken
        self.keep_files = keep_files
        """Whether image files are written; without it they are read and looked at all the same."""
        self.counts: Counter[str] = Counter()
        self._late_links: list[tuple[PromptKey, str, PromptKey, str]] = []
        self._prompts: dict[PromptKey, int] = {}
        self._images: dict[ImageKey, int] = {}
        self._annotators: dict[AnnotatorKey, int] = {}
        self._collections = self._all(tables.collection)
        self._systems = self._all(tables.system)
        self._questions: dict[str, int] = self._latest_questions()

    def _all(self, table: Table) -> dict[str, int]:
        rows = database.fetch(self.connection, f'SELECT name, id FROM "{table.name}"')
        return dict(rows)

    def _latest_questions(self) -> dict[str, int]:
        question = tables.question
        rows = self.connection.execute(
            select(question.c.name, question.c.id, question.c.source_id).order_by(question.c.version)
        ).fetchall()
        self._question_owners: dict[int, int | None] = {int(key): owner for _, key, owner in rows}
        return {str(name): int(key) for name, key, _ in rows}

    # -- systems, collections, questions: few, so all are remembered ------------------------------------

    def systems(self, records: Sequence[System]) -> None:
        """Make the systems these records tell of; a system cannot be of two kinds."""
        for record in records:
            if record.kind not in ("generator", "retriever"):
                raise DataError(
                    f"a system is a generator or a retriever, not {record.kind!r}", where=record.at
                )
            known = self._systems.get(record.name)
            if known is None:
                self.system(record.name, record.kind, record.collection, record.at)
                continue
            row = self.connection.execute(select(tables.system).where(tables.system.c.id == known)).one()
            if row.kind != record.kind:
                raise ConflictError(
                    f"system {record.name!r} is a {row.kind} in this study, not a {record.kind}",
                    where=record.at,
                    remedy="Give it another name: one system cannot be both.",
                )
            self._mention("system", [known], {known: row.source_id})

    def system(self, name: str, kind: str = "generator", collection: str | None = None, at: str = "") -> int:
        """The id of a system, made if need be."""
        known = self._systems.get(name)
        if known is not None:
            return known
        if not name:
            raise DataError("a system needs a name", where=at)
        refuse_bad_text([(name, at), (collection, at)])
        home = None if collection is None else self.collection(collection)
        (key,) = self.add(tables.system, ["name", "kind", "collection_id"], [(name, kind, home)])
        self._systems[name] = key
        self.counts["systems"] += 1
        return key

    def collection(self, name: str) -> int:
        """The id of a collection, made if need be."""
        known = self._collections.get(name)
        if known is None:
            (known,) = self.add(tables.collection, ["name"], [(name,)])
            self._collections[name] = known
            self.counts["collections"] += 1
        return known

    def questions(self, records: Sequence[Question]) -> None:
        """Make questions; what study.toml says of one wins, and a second definition must agree."""
        for record in records:
            known = self.question(record.name, record)
            self._mention("question", [known], {known: self._question_owners.get(known, self.source_id)})

    def question(self, name: str, question: Question | None = None) -> int:
        """The id of a question, made if need be; a bare mention of a known one claims nothing."""
        known = self._questions.get(name)
        if known is not None and question is None:
            return known
        question = self._declared(question or Question(name))
        if known is not None:
            self._agrees(known, question)
            return known
        row = {
            "name": name,
            "version": 1,
            **{field: getattr(question, field) for field in ("scale", "low", "high", "step")},
            "labels": database.as_json(dict(question.labels), question.at),
            "wording": question.wording,
            "direction": question.direction,
        }
        (known,) = self.add(tables.question, list(row), [tuple(row.values())])
        self._questions[name] = known
        self.counts["questions"] += 1
        return known

    def _declared(self, question: Question) -> Question:
        """The question as study.toml has it, where it does."""
        if question.name not in self.study.settings.get("question", {}):
            return sound_question(question)
        from sightline.study.settings import declared_question

        return declared_question(self.study, question)

    def _agrees(self, known: int, question: Question) -> None:
        if question._replace(at="") == Question(question.name):
            return
        row = self.connection.execute(select(tables.question).where(tables.question.c.id == known)).one()
        # What is only assumed of pairs and orders must fit the ends of the scale, and claims no more.
        fields = ("low", "high") if question.assumed else ("scale", "low", "high", "step", "direction")
        for field in fields:
            before, after = getattr(row, field), getattr(question, field)
            if after is not None and before is not None and before != after:
                raise ConflictError(
                    f"question {question.name!r} has {field} {before} in this study, but {after} here",
                    where=question.at,
                    remedy="Give the question another name, or declare it in study.toml.",
                )

    # -- prompts ----------------------------------------------------------------------------------------

    def prompts(self, records: Sequence[Prompt]) -> None:
        """Make prompts with their tags and links."""
        if not records:
            return
        first: dict[PromptKey, Prompt] = {}
        refuse_bad_text((text, p.at) for p in records for text in (p.text, *p.key))
        for record in records:
            if not record.text.strip():
                raise DataError(
                    "the prompt is empty", where=record.at, remedy="Give it a text, or leave the row out."
                )
            same = first.setdefault(record.key, record)
            if same is not record:
                _same_text(record, same.text)
                _same_expects(record, database.as_json(same.expects, same.at))
        found = self._find_prompts(first)
        fresh = [record for key, record in first.items() if key not in found]
        owners = {}
        for key, (known, text, expects, owner) in found.items():
            _same_text(first[key], text)
            _same_expects(first[key], expects)
            owners[known] = owner
            self._prompts[key] = known
        columns = ["suite", "ref", "text", "text_sha", "expects"]
        rows = [(*p.key, p.text, text_sha(p.text), database.as_json(p.expects, p.at)) for p in fresh]
        ids = self.add(tables.prompt, columns, rows)
        self._prompts.update({p.key: i for i, p in zip(ids, fresh, strict=True)})
        self.counts["prompts"] += len(fresh)
        self._mention("prompt", list(owners), owners)
        self._tags(records)
        self._links(records)
        translated = [(self._prompts[p.key], p.translations, p.at) for p in records if p.translations]
        self.counts["translations"] += keep_translations(self, translated)

    def _find_prompts(
        self, keys: Iterable[PromptKey]
    ) -> dict[PromptKey, tuple[int, str, str | None, int | None]]:
        columns = ["id", "text", "expects", "source_id"]
        rows = database.look_up(self.connection, tables.prompt, PromptKey._fields, list(keys), columns)
        return {PromptKey(suite, ref): tuple(rest) for suite, ref, *rest in rows}

    def _tags(self, records: Sequence[Prompt]) -> None:
        wanted: dict[tuple[int, str], tuple[str]] = {}
        places: dict[tuple[int, str], str] = {}
        refuse_bad_text((str(text), p.at) for p in records for pair in p.tags.items() for text in pair)
        for record in records:
            for name, value in record.tags.items():
                key = (self._prompts[record.key], name)
                places.setdefault(key, record.at)
                (earlier,) = wanted.setdefault(key, (str(value),))
                if earlier != str(value):
                    raise ConflictError(
                        f"tag {name} of prompt {record.key.ref!r} is both {earlier!r} and {value!r}",
                        where=record.at,
                        remedy="Correct one of the two rows.",
                    )
        self.keep(
            tables.prompt_tag,
            ["prompt_id", "name"],
            ["value"],
            wanted,
            lambda key, held: ConflictError(
                f"tag {key[1]} of this prompt is {held[0]!r} in the study, {wanted[key][0]!r} here",
                where=places[key],
                remedy="Correct the tag, or use --replace if this is a newer version of the file.",
            ),
        )

    def _links(self, records: Sequence[Prompt]) -> None:
        links = [(record.key, kind, to, record.at) for record in records for kind, to in record.links]
        if not links:
            return
        refuse_bad_text((text, at) for _, kind, to, at in links for text in (kind, *to))
        for _, kind, _, at in links:
            refuse_long_text(kind, 32, "kind of link", at)
        unknown = {to for _, _, to, _ in links if to not in self._prompts}
        self._prompts.update({key: row[0] for key, row in self._find_prompts(unknown).items()})
        # A file may link to a prompt that stands further down, perhaps in a later batch.
        self._late_links += [link for link in links if link[2] not in self._prompts]
        self._link([link for link in links if link[2] in self._prompts])

    def _link(self, links: Sequence[tuple[PromptKey, str, PromptKey, str]]) -> None:
        ends = sorted({(self._prompts[key], kind, self._prompts[to]) for key, kind, to, _ in links})
        by = ["prompt_id", "kind", "to_prompt_id"]
        self.counts["links"] += self.keep(tables.prompt_link, by, [], dict.fromkeys(ends, ()))

    def find_prompts(self, named: Iterable[tuple[PromptKey | PromptText, str]]) -> None:
        """Make sure these prompts are known to `prompt_id`; one that does not exist is an error."""
        keys: dict[PromptKey, str] = {}
        texts: dict[PromptText, str] = {}
        for prompt, at in named:
            if isinstance(prompt, PromptText):
                texts.setdefault(prompt, at)
            elif prompt not in self._prompts:
                keys.setdefault(prompt, at)
        if keys:
            refuse_bad_text((text, at) for key, at in keys.items() for text in key)
            found = self._find_prompts(keys)
            for key, at in keys.items():
                if key not in found:
                    raise DataError(
                        f"there is no prompt {key.ref!r} in suite {key.suite!r}",
                        where=at,
                        remedy="Import the prompts first, or name the suite: --option suite=NAME.",
                    )
            self._prompts.update({key: row[0] for key, row in found.items()})
        self._by_text = self._find_texts(texts) if texts else {}

    def _find_texts(self, texts: dict[PromptText, str]) -> dict[PromptText, int]:
        found = {}
        for wanted, fits in self._read_so(texts).items():
            if len(fits) != 1:
                raise DataError(
                    f"{len(fits) or 'no'} prompts read {_short(wanted.text)!r}",
                    where=texts[wanted],
                    remedy="Import the prompts first." if not fits else "Name it by prompt_id instead.",
                )
            found[wanted] = fits[0]
        return found

    def _read_so(self, texts: dict[PromptText, str]) -> dict[PromptText, list[int]]:
        """The ids of all prompts that read so, each text with its place."""
        refuse_bad_text((text, at) for each, at in texts.items() for text in each)
        shas = {(text_sha(each.text),) for each in texts}
        columns = ["id", "suite", "text"]
        rows = database.look_up(self.connection, tables.prompt, ["text_sha"], list(shas), columns)
        by_text: dict[str, list[tuple[int, str]]] = {}
        for _, key, suite, text in rows:
            by_text.setdefault(text, []).append((int(key), suite))
        return {
            wanted: [key for key, suite in by_text.get(wanted.text, ()) if wanted.suite in (None, suite)]
            for wanted in texts
        }

    def prompt_id(self, prompt: PromptKey | PromptText | None) -> int:
        """The id of a prompt that `find_prompts` has seen; 0 for none."""
        if prompt is None:
            return 0
        return self._by_text[prompt] if isinstance(prompt, PromptText) else self._prompts[prompt]

    def known_prompts(self, prompts: Iterable[PromptKey | PromptText]) -> dict[PromptKey | PromptText, int]:
        """The ids of those prompts that there are; a wording must be that of exactly one."""
        prompts = list(prompts)
        keys = {each: "" for each in prompts if isinstance(each, PromptKey)}
        found: dict[PromptKey | PromptText, int] = {
            key: row[0] for key, row in self._find_prompts(keys).items()
        }
        texts = {each: "" for each in prompts if isinstance(each, PromptText)}
        fits = self._read_so(texts) if texts else {}
        return {**found, **{each: ids[0] for each, ids in fits.items() if len(ids) == 1}}

    def known_system(self, name: str) -> int | None:
        """The id of a system that there is."""
        return self._systems.get(name)

    def known_images(self, keys: Collection[ImageKey]) -> dict[ImageKey, int]:
        """The ids of those images that there are."""
        return {key: row[0] for key, row in self._find_images(keys).items()}

    # -- images -----------------------------------------------------------------------------------------

    def images(self, records: Sequence[Image]) -> None:
        """Make images, take in their bytes where there are any, and keep their captions."""
        if not records:
            return
        refuse_bad_text((text, i.at) for i in records for text in (*i.key, *i.captions))
        first: dict[ImageKey, Image] = {}
        files: dict[tuple[ImageKey, str], Image] = {}
        for record in records:
            first.setdefault(record.key, record)
            if record.path is not None or record.data is not None:
                files.setdefault((record.key, record.path or record.at), record)
        facts = self._take_in(list(files.values()))
        found = self._find_images(first)
        fresh, changed, intact, owners, same_bytes = [], [], [], {}, []
        for key in first:
            sha, width, height, defect = facts.get(key, (None, None, None, None))
            if key not in found:
                fresh.append((key, sha, width, height, defect))
                continue
            known, before, owner = found[key]
            owners[known] = owner
            if sha is not None and before is not None:
                if sha != before:
                    raise _another_picture(next(r for k, r in files.items() if k[0] == key))
                same_bytes.append(known)
                intact.append((defect, known, LOST_FILE))
            if sha is not None and before is None:
                changed.append((sha, width, height, defect, self.source_id, known))
        self._insert_images(fresh)
        self._images.update({key: known for key, (known, _, _) in found.items()})
        self._fill_in(changed)
        # What doctor found damaged or missing was put back just now.
        marked = "UPDATE image SET defect = ? WHERE id = ? AND defect = ?"
        database.execute_many(self.connection, marked, intact)
        self._mention("image", list(owners), owners)
        self._mention("bytes", same_bytes, self._bytes_owners(same_bytes))
        self._captions(records)
        scenes = [(self._images[record.key], record.scene, record.at) for record in records if record.scene]
        self.counts["scenes"] += keep_scenes(self, scenes)
        tagged = [(self._images[record.key], 0, record.tags, record.at) for record in records if record.tags]
        self.counts["image_tags"] += keep_image_tags(self, tagged)

    def image_tags(self, records: Sequence[ImageTag]) -> None:
        """Keep tags of images, of some as the answers to a prompt."""
        self.find_prompts((record.prompt, record.at) for record in records if record.prompt is not None)
        self.find_images((record.image, record.at) for record in records)
        tagged = [
            (self.image_id(each.image), self.prompt_id(each.prompt), {each.name: each.value}, each.at)
            for each in records
        ]
        self.counts["image_tags"] += keep_image_tags(self, tagged)

    def _fill_in(self, changed: Sequence[tuple[Any, ...]]) -> None:
        columns = ("sha256", "width", "height", "defect", "bytes_source_id")
        assigned = ", ".join(f"{column} = ?" for column in columns)
        database.execute_many(self.connection, f"UPDATE image SET {assigned} WHERE id = ?", changed)

    def _bytes_owners(self, ids: Sequence[int]) -> dict[int, int | None]:
        keys = [(key,) for key in ids]
        return dict(database.look_up(self.connection, tables.image, ["id"], keys, ["bytes_source_id"]))

    def _insert_images(self, fresh: Sequence[tuple[Any, ...]]) -> None:
        homes = {name: self.collection(name) for name in {row[0].collection for row in fresh}}
        columns = ["collection_id", "name", "sha256", "width", "height", "defect", "bytes_source_id"]
        rows = [
            (homes[key.collection], key.name, sha, width, height, defect, self.source_id if sha else None)
            for key, sha, width, height, defect in fresh
        ]
        ids = self.add(tables.image, columns, rows)
        self._images.update({row[0]: i for i, row in zip(ids, fresh, strict=True)})
        self.counts["images"] += len(fresh)

    def _take_in(
        self, records: Sequence[Image]
    ) -> dict[ImageKey, tuple[str, int | None, int | None, str | None]]:
        if not records:
            return {}
        with ThreadPoolExecutor(4) as pool:
            taken = list(pool.map(self._take_one, records))
        facts: dict[ImageKey, tuple[str, int | None, int | None, str | None]] = {}
        for record, stored in zip(records, taken, strict=True):
            if facts.setdefault(record.key, stored)[0] != stored[0]:
                raise _another_picture(record)
        return facts

    def _take_one(self, record: Image) -> tuple[str, int | None, int | None, str | None]:
        where = record.at or record.path or record.key.name
        data = self._bytes(record, where)
        width = height = defect = None
        try:
            width, height = image_size(data, where)
            if data[:4] == b"\x89PNG" and b"IEND" not in data[-16:]:
                raise DataError("the PNG file is cut short", where=where, remedy=_BROKEN)
        except DataError as error:
            if not self.keep_broken:
                what = error.what if not record.at else f"{record.key.name}: {error.what}"
                raise DataError(what, where=where, remedy=error.remedy) from None
            defect = error.what
        sha = self.study.files.put(data) if self.keep_files else hashlib.sha256(data).hexdigest()
        return sha, width, height, defect

    def _bytes(self, record: Image, where: str) -> bytes:
        if record.data is not None:
            if len(record.data) > MOST_BYTES:
                raise DataError(
                    f"{record.key.name}: an image of more than {MOST_BYTES:,} bytes",
                    where=where,
                    remedy="Shrink it, or leave it out.",
                )
            return record.data
        assert record.path is not None
        try:
            return read_regular(record.path, where, MOST_BYTES)
        except OSError as error:
            raise DataError(f"cannot read {record.path} ({error.strerror})", where=where) from None

    def _find_images(self, keys: Collection[ImageKey]) -> dict[ImageKey, tuple[int, str | None, int | None]]:
        homes = {name: self._collections.get(name) for name in {key.collection for key in keys}}
        names = {home: name for name, home in homes.items() if home is not None}
        wanted = [(homes[key.collection], key.name) for key in keys if homes[key.collection] is not None]
        by, columns = ["collection_id", "name"], ["id", "sha256", "source_id"]
        rows = database.look_up(self.connection, tables.image, by, wanted, columns)
        return {ImageKey(names[home], name): (key, sha, owner) for home, name, key, sha, owner in rows}

    def find_images(self, named: Iterable[tuple[ImageKey, str]]) -> None:
        """Make sure these images are known to `image_id`; an unknown one is made, known by name only."""
        unknown = {key: at for key, at in named if key not in self._images}
        if not unknown:
            return
        refuse_bad_text((text, at) for key, at in unknown.items() for text in key)
        by_content = {key: at for key, at in unknown.items() if key.name.startswith(CONTENT)}
        if by_content:
            ids = find_contents(self.connection, ((key.name, at) for key, at in by_content.items()))
            self._images.update({key: ids[key.name] for key in by_content})
            unknown = {key: at for key, at in unknown.items() if key not in by_content}
        found = self._find_images(unknown)
        self._images.update({key: row[0] for key, row in found.items()})
        self._insert_images([(key, None, None, None, None) for key in unknown if key not in found])

    def image_id(self, key: ImageKey | None) -> int:
        """The id of an image that `find_images` has seen; 0 for none."""
        return 0 if key is None else self._images[key]

    def _captions(self, records: Sequence[Image]) -> None:
        wanted: dict[int, list[str]] = {}
        for record in records:
            if record.captions:
                seen = wanted.setdefault(self._images[record.key], [])
                seen += [text for text in record.captions if text not in seen]
        if not wanted:
            return
        columns = ["n", "text", "source_id"]
        keys = [(key,) for key in wanted]
        rows = database.look_up(self.connection, tables.caption, ["image_id"], keys, columns)
        known: dict[int, set[str]] = {}
        free: dict[int, int] = {}
        for key, n, text, owner in rows:
            known.setdefault(key, set()).add(text)
            free[key] = max(free.get(key, 0), n + 1)
            if text in wanted[key]:
                self.lean_on(owner)
        fresh = []
        for key, captions in wanted.items():
            new = [text for text in captions if text not in known.get(key, ())]
            fresh += [(key, n, text, self.source_id) for n, text in enumerate(new, free.get(key, 0))]
        database.insert(self.connection, tables.caption, ["image_id", "n", "text", "source_id"], fresh)
        self.counts["captions"] += len(fresh)

    # -- annotators -------------------------------------------------------------------------------------

    def find_annotators(self, keys: Iterable[AnnotatorKey]) -> None:
        """Make sure these annotators are known to `annotator_id`."""
        unknown = {key for key in keys if key not in self._annotators}
        if not unknown:
            return
        refuse_bad_text((text, "") for key in unknown for text in key)
        rows = database.look_up(
            self.connection, tables.annotator, AnnotatorKey._fields, sorted(unknown), ["id"]
        )
        found = {AnnotatorKey(panel, name): int(key) for panel, name, key in rows}
        fresh = sorted(unknown - found.keys())
        made = [(*key, "annotator") for key in fresh]
        ids = self.add(tables.annotator, ["panel", "name", "role"], made)
        self._annotators.update({**found, **dict(zip(fresh, ids, strict=True))})
        self.counts["annotators"] += len(fresh)

    def annotator_id(self, key: AnnotatorKey | None) -> int | None:
        """The id of an annotator that `find_annotators` has seen; None for anonymous votes."""
        return None if key is None else self._annotators[key]

    # -- shared -----------------------------------------------------------------------------------------

    def _mention(self, kind: str, ids: Sequence[int], owners: dict[int, int | None]) -> None:
        rows = [(kind, key, self.source_id) for key in ids if owners[key] != self.source_id]
        database.upsert(
            self.connection, tables.mention, ["kind", "entity_id", "source_id"], rows, replace=False
        )

    def finish(self) -> None:
        """Set the links that waited for their prompts, and keep which imports this one leans on."""
        self.find_prompts((end, at) for key, _, to, at in self._late_links for end in (key, to))
        self._link(self._late_links)
        rows = [("source", owner, self.source_id) for owner in sorted(self.leans_on)]
        columns = ["kind", "entity_id", "source_id"]
        database.upsert(self.connection, tables.mention, columns, rows, replace=False)

    def forget_many(self) -> None:
        """Between batches: let go of remembered keys once there are too many."""
        for cache in (self._prompts, self._images, self._annotators):
            if len(cache) > REMEMBERED:
                cache.clear()


_BROKEN = "Repair or remove the file, or import with --keep-broken to record it as broken."


def text_sha(text: str) -> int:
    """64 bits of a text's sha256, signed: a small index for look-ups by wording."""
    return int.from_bytes(
        hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:8], "big", signed=True
    )


def _same_text(record: Prompt, text: str) -> None:
    if record.text != text:
        raise another_text(record, text)


def another_text(record: Prompt, text: str, elsewhere: str = "elsewhere") -> ConflictError:
    """The error of a prompt whose id stands for another text."""
    return ConflictError(
        f"prompt {record.key.ref!r} reads {_short(record.text)!r} here but {_short(text)!r} {elsewhere}",
        where=record.at,
        remedy="Correct the id, or import into a suite of its own: --option suite=NAME.",
    )


def _short(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "..."


def _same_expects(record: Prompt, expects: str | None) -> None:
    if record.expects is not None and database.as_json(record.expects, record.at) != expects:
        raise ConflictError(
            f"prompt {record.key.ref!r} expects something else here than elsewhere",
            where=record.at,
            remedy="Import into a suite of its own (--option suite=NAME), or use --replace.",
        )


def _another_picture(record: Image) -> ConflictError:
    return ConflictError(
        f"image {record.key.name!r} of collection {record.key.collection!r} is another picture elsewhere",
        where=record.at or record.path or "",
        remedy="Import into a collection of its own: --option collection=NAME.",
    )
