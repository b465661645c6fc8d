"""What the pages of one study share: the study, its one writer, its rounds, and images ready to be sent."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from sightline import judging
from sightline.judging import Holder, OpenRound, PreparedImages, Round, RoundSettings
from sightline.study.schema import database
from sightline.study.schema.committing import Committer
from sightline.study.study import Study
from sightline.web.pacing import ANSWERS, REQUESTS, Paces

FRESH_SECONDS = 2.0
"""How long another process's revocation of a link, or pause of a round, may go unnoticed."""
LONGEST_TOKEN = 512


@dataclass(frozen=True)
class Who:
    """An annotator at work: who it is, and in which round."""

    annotator_id: int
    name: str
    role: str
    language: str | None
    round: Round
    settings: RoundSettings


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
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _held: dict[Any, tuple[float, Any]] = field(default_factory=dict)

    def holder(self, token: str) -> Holder | str:
        """Whom a token lets in, or why nobody."""
        if len(token) > LONGEST_TOKEN:
            return "this link was not made here"
        return self._recent(("token", token), lambda: judging.token_holder(self.study, self.secret, token))

    def session(self, session: str) -> Holder | str:
        """Whom an owner's session lets in, or why nobody."""
        if len(session) > LONGEST_TOKEN:
            return "you need the link that you were sent"
        key = ("session", session)
        return self._recent(key, lambda: judging.session_holder(self.study, self.secret, session))

    def person(self, annotator_id: int) -> dict[str, Any]:
        """An annotator as they are now."""
        return self._recent(("person", annotator_id), lambda: self._read(judging.person_of, annotator_id))

    def round(self, round_id: int) -> Round:
        """A round as it is now."""
        name = self.opened[round_id].round.name
        return self._recent(("round", round_id), lambda: judging.get_round(self.study, name))

    def items(self, round_id: int) -> dict[str, int]:
        """How many items of each kind a round has."""
        return self._recent(("items", round_id), lambda: self._read(judging.count_items, round_id))

    def forget(self) -> None:
        """Something was changed here: ask the study again."""
        with self._lock:
            self._held.clear()

    def _read(self, query: Any, key: int) -> Any:
        with database.reading(self.study.engine) as connection:
            return query(connection, key)

    def _recent(self, key: Any, ask: Any) -> Any:
        now = time.monotonic()
        with self._lock:
            known = self._held.get(key)
        if known is not None and now - known[0] < FRESH_SECONDS:
            return known[1]
        fresh = ask()
        with self._lock:
            if len(self._held) > 10_000:
                self._held.clear()
            self._held[key] = (now, fresh)
        return fresh


def make_state(study: Study, opened: Sequence[OpenRound], public: str = "") -> State:
    """The state of a server for these rounds, whose images are prepared first."""
    images = PreparedImages(study)
    images.prepare(images.missing(opened))
    return State(
        study,
        {each.round.id: each for each in opened},
        Committer(study.engine),
        judging.signing_key(study),
        images,
        public.rstrip("/"),
        public.startswith("https://"),
    )
