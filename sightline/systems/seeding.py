"""Seeds of queries: search a collection, choose the images that a query is written for, extend the set.

As ConQA was made: somebody writes a query, searches the collection in any number of wordings, and marks what
fits. The wordings that were tried are kept in the study's log.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from sightline import registry
from sightline.data.sources import prompt_ref
from sightline.errors import DataError, UsageError, near
from sightline.records import Candidates, ImageKey, Item, Prompt, PromptKey, Question, Record, Truth
from sightline.study import listing, reading
from sightline.study.running.embedding import Cached, encoders_of
from sightline.study.study import Study
from sightline.study.writing.loading import load, sources
from sightline.study.writing.settling import note_events
from sightline.systems.pool import Pool, pool
from sightline.systems.retrieve import candidates_of, with_folder

SEED = "seed"
RULE = "chosen"
IMPORTER = "seeds"
SUITE = "queries"
ACTOR = "seeds"
WORDS = "caption_words"
PICTURES = "exact(encoder=clip)"
LONGEST = 500


@dataclass(frozen=True)
class SeedQuery:
    """A query, how many seeds it has, and the wordings that were searched for it."""

    id: int
    suite: str
    ref: str
    text: str
    seeds: Sequence[int]
    searched: Sequence[str]


@dataclass(frozen=True)
class SeedHit:
    """An image that a search found; `sha256` is empty where the study has no file of it."""

    image: int
    name: str
    sha256: str
    caption: str


@dataclass(frozen=True)
class SeedSearch:
    """What a search engine found for a text."""

    engine: str
    hits: Sequence[SeedHit]


@dataclass(frozen=True)
class ChosenSeeds:
    """A query whose seeds were kept, and the import that holds them."""

    number: int
    query: SeedQuery


class Seeding:
    """Searches the collections of a study; one is read again once something was imported or undone."""

    def __init__(self, study: Study) -> None:
        self.study = study
        self._read: dict[str, tuple[list[int], Candidates, list[int]]] = {}

    def collections(self) -> list[str]:
        """The collections that can be searched."""
        return sorted(set(reading.images(self.study)["collection"].to_list()))

    def queries(self) -> list[SeedQuery]:
        """Every query of the study, in its order."""
        import polars as pl

        known = any(asked.name == SEED for _, asked in reading.questions(self.study))
        seeds: dict[int, list[int]] = {}
        if known:
            chosen = reading.truths(self.study, SEED).filter(pl.col("value") > 0)
            for prompt, image in chosen.select("prompt_id", "image_id").iter_rows():
                seeds.setdefault(prompt, []).append(image)
        tried: dict[tuple[str, str], dict[str, None]] = {}
        for what, event in listing.events(self.study, ACTOR):
            if what == "searched":
                tried.setdefault((str(event["suite"]), str(event["ref"])), {})[str(event["text"])] = None
        return [
            SeedQuery(number, suite, ref, text, seeds.get(number, ()), list(tried.get((suite, ref), ())))
            for number, suite, ref, text in reading.prompts(self.study).iter_rows()
        ]

    def search(self, collection: str, text: str, engine: str = "", limit: int = 60) -> SeedSearch:
        """The images that an engine finds first: by captions where there are any, else by CLIP."""
        if not text.strip():
            raise UsageError("there is nothing to search for", remedy="Write some words.")
        candidates, ids = self._candidates(collection)
        captioned = any(candidates.captions)
        chosen = registry.configure("retriever", engine or (WORDS if captioned else PICTURES))
        chosen.require()
        encoders = {name: Cached(self.study, each) for name, each in encoders_of(chosen)}
        query = Prompt(PromptKey(SUITE, "search"), text.strip())
        searched = with_folder(self.study, candidates, chosen)
        places = chosen.load(encoders or None)(searched, [query], min(limit, len(ids)))[0]
        shas = dict(reading.images(self.study).select("image_id", "sha256").iter_rows())
        hits = [
            SeedHit(
                ids[place],
                candidates.keys[place].name,
                shas.get(ids[place]) or "",
                next(iter(candidates.captions[place]), ""),
            )
            for place in (int(each) for each in places[0])
            if place >= 0
        ]
        return SeedSearch(str(chosen), hits)

    def choose(
        self,
        text: str,
        images: Sequence[int],
        searched: Sequence[str] = (),
        query: int | None = None,
        kind: str = "",
    ) -> ChosenSeeds:
        """Make these images the seeds of a query, in place of those it had; a new text is a new query."""
        rows = reading.images(self.study).select("image_id", "collection", "name").iter_rows()
        keys = {int(number): ImageKey(collection, name) for number, collection, name in rows}
        strangers = [image for image in images if image not in keys]
        if strangers or not images:
            raise DataError(
                f"the study has no image number {strangers[0]}" if strangers else "no image is chosen",
                remedy="Choose one or more of the images that were found.",
            )
        key = self._query(text, query, kind)
        records: list[Record] = []
        if not any(asked.name == SEED for _, asked in reading.questions(self.study)):
            records.append(Question(SEED, "nominal", 0.0, 1.0, 1.0, direction="none"))
        chosen = dict.fromkeys(images)
        records += [Truth(SEED, Item(key, image=keys[image]), 1.0, rule=RULE) for image in chosen]
        digest = hashlib.sha256(repr((key, sorted(set(images)))).encode()).hexdigest()
        path = f"seeds of {key.suite}/{key.ref}"
        loaded = load(self.study, records, importer=IMPORTER, path=path, digest=digest, replace=True)
        named = {"suite": key.suite, "ref": key.ref}
        tried = [{**named, "text": said[:LONGEST]} for said in searched if said.strip()]
        note_events(self.study, ACTOR, "searched", tried)
        (made,) = (each for each in self.queries() if (each.suite, each.ref) == key)
        return ChosenSeeds(loaded.source_id, made)

    def extend(self, collection: str, name: str, neighbours: int, encoder: str | None = None) -> Pool:
        """Pool the seeds and the images nearest to them, in place of an earlier pool of this name."""
        return pool(
            self.study,
            name,
            by="neighbours",
            collection=collection,
            seeds=SEED,
            neighbours=neighbours,
            encoder=encoder or None,
            replace=True,
        )

    def _query(self, text: str, query: int | None, kind: str) -> PromptKey:
        """The key of the query that is meant, which is added if it is new."""
        if query is not None:
            known = reading.prompt_records(self.study, [query]).get(query)
            if known is None:
                raise DataError(f"the study has no prompt number {query}", remedy="Load the page again.")
            return known.key
        said = " ".join(text.split())
        if not said or len(said) > LONGEST:
            raise UsageError("a query needs a text", remedy=f"Between 1 and {LONGEST} characters.")
        tags = {"kind": kind.strip()} if kind.strip() else {}
        prompt = Prompt(PromptKey(SUITE, prompt_ref(said)), said, tags)
        # Apart from its seeds: these are replaced, while pools and rounds go on using the query.
        digest = hashlib.sha256(repr(prompt).encode()).hexdigest()
        load(self.study, [prompt], importer=IMPORTER, path=f"query {prompt.key.ref}", digest=digest)
        return prompt.key

    def _candidates(self, collection: str) -> tuple[Candidates, list[int]]:
        import polars as pl

        names = self.collections()
        if collection not in names:
            raise UsageError(f"there is no collection called {collection!r}", remedy=near(collection, names))
        imports = [each["id"] for each in sources(self.study) if each["importer"] != IMPORTER]
        held = self._read.get(collection)
        if held is None or held[0] != imports:
            images = reading.images(self.study).filter(pl.col("collection") == collection)
            candidates = candidates_of(self.study, collection)
            held = (imports, candidates, images["image_id"].to_list())
            self._read = {collection: held}
        return held[1], held[2]
