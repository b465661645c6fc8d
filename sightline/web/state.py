"""What the pages of one study share: the study, its one writer, its rounds, and images ready to be sent."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from sightline import judging
from sightline.errors import StudyError
from sightline.judging import Holder, OpenRound, PreparedImages, Round, RoundSettings
from sightline.study.schema import database, patience
from sightline.study.schema.committing import Committer
from sightline.study.schema.storable import now
from sightline.study.study import Study
from sightline.web.pacing import ANSWERS, REQUESTS, Paces

Made = TypeVar("Made")
FRESH_SECONDS = 2.0
"""How long another process's revocation of a link, or pause of a round, may go unnoticed."""
MOST_HELD = 10_000
PATIENCE = 10.0
"""Seconds that a request waits for the database; the page itself waits for 20 and then sends it again."""
LONGEST_TOKEN = 512


@dataclass(frozen=True)
class Who:
    """An annotator at work: who it is, in which round, and how many tasks it has for them."""

    annotator_id: int
    name: str
    role: str
    language: str | None
    round: Round
    settings: RoundSettings
    most_tasks: int


@dataclass
class State:
    """Everything a request may need; made once when the server starts."""

    study: Study
    opened: dict[int, OpenRound]
    committer: Committer
    secret: bytes
    images: PreparedImages
    public: str = ""
    secure: bool = False
    requests: Paces = field(default_factory=lambda: Paces(REQUESTS))
    answers: Paces = field(default_factory=lambda: Paces(ANSWERS))
    _refreshing: threading.Lock = field(default_factory=threading.Lock)
    held: dict[Any, Any] = field(default_factory=dict)
    _access: Any = None
    _checked: float = float("-inf")

    async def write(self, change: Callable[[Any], Made]) -> Made:
        """What a change gives, once it is on disk; StudyError if that takes too long."""
        try:
            async with asyncio.timeout(PATIENCE):
                return await asyncio.wrap_future(self.committer.submit(change))
        except TimeoutError:
            raise StudyError("the writer did not come to it in time") from None

    def holder(self, token: str) -> Holder | str:
        """Whom a token lets in, or why nobody."""
        if len(token) > LONGEST_TOKEN:
            return "this link was not made here"
        found: Holder | str = self.recall(
            ("token", token), lambda: judging.token_holder(self.study, self.secret, token)
        )
        if isinstance(found, Holder) and found.expires <= now():
            return f"this link was valid until {found.expires}"
        return found

    def session(self, session: str) -> Holder | str:
        """Whom an owner's session lets in, or why nobody."""
        if len(session) > LONGEST_TOKEN:
            return "you need the link that you were sent"
        return judging.session_holder(self.study, self.secret, session)

    def person(self, annotator_id: int) -> dict[str, Any]:
        """An annotator as they are now."""
        return self.recall(("person", annotator_id), lambda: self._read(judging.person_of, annotator_id))

    def round(self, round_id: int) -> Round:
        """A round as it is now."""
        name = self.opened[round_id].round.name
        return self.recall(("round", round_id), lambda: judging.get_round(self.study, name))

    def items(self, round_id: int) -> dict[str, int]:
        """How many items of each kind a round has."""
        return self.recall(("items", round_id), lambda: self._read(judging.count_items, round_id))

    def forget(self) -> None:
        """Something was changed here: ask the study again."""
        self.held = {}

    def has_read(self, key: Any) -> bool:
        """Whether what a key stands for was read, and nothing has changed since."""
        return self._is_fresh() and key in self.held

    def recall(self, key: Any, ask: Callable[[], Any]) -> Any:
        """What is known under a key; it is asked for again once links, people or rounds have changed."""
        self._refresh()
        # What was asked for before a change must not be kept after it.
        held = self.held
        if key in held:
            return held[key]
        found = ask()
        if len(held) > MOST_HELD:
            held.clear()
        held[key] = found
        return found

    def _is_fresh(self) -> bool:
        return time.monotonic() - self._checked < FRESH_SECONDS

    def _refresh(self) -> None:
        if self._is_fresh():
            return
        with self._refreshing:
            asked = time.monotonic()
            if not self._is_fresh():
                access = judging.access(self.study)
                if access != self._access:
                    self._access, self.held = access, {}
                self._checked = asked

    def _read(self, query: Any, key: int) -> Any:
        with database.reading(self.study.engine) as connection:
            return query(connection, key)


def make_state(study: Study, opened: Sequence[OpenRound], public: str = "") -> State:
    """The state of a server for these rounds, whose images are prepared first."""
    images = PreparedImages(study)
    images.prepare(images.missing(opened))
    patience.limit(study.engine, PATIENCE)
    return State(
        study,
        {each.round.id: each for each in opened},
        Committer(study.engine),
        judging.signing_key(study),
        images,
        public.rstrip("/"),
        public.startswith("https://"),
    )
