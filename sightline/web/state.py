"""What the pages of one study share: the study, its one writer, its rounds, and images ready to be sent."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from sightline import judging
from sightline.errors import DataError
from sightline.judging import Holder, OpenRound, Round, RoundSettings
from sightline.study.schema import database
from sightline.study.schema.committing import Committer
from sightline.study.study import Study

FRESH_SECONDS = 2.0
"""How long another process's revocation of a link, or pause of a round, may go unnoticed."""
LONGEST_TOKEN = 512
IMAGE_MEMORY = 192 * 1024 * 1024


@dataclass(frozen=True)
class Who:
    """An annotator at work: who it is, and in which round."""

    annotator_id: int
    name: str
    role: str
    language: str | None
    round: Round
    settings: RoundSettings


class Images:
    """Image bytes without what they tell of their maker, the last used kept in memory."""

    def __init__(self, study: Study, most: int = IMAGE_MEMORY) -> None:
        self._study = study
        self._most = most
        self._held: OrderedDict[str, tuple[bytes, str]] = OrderedDict()
        self._size = 0
        self._lock = threading.Lock()

    def get(self, image_id: int, alike: bool = False) -> tuple[bytes, str]:
        """The bytes and media type of an image of the study; `alike` makes all of one type.

        Where photos are hidden among generated images, a JPEG among PNGs would tell which they are.
        """
        with database.reading(self._study.engine) as connection:
            sha256 = judging.content_of(connection, image_id)
        if sha256 is None:
            raise DataError("the bytes of this image are not here", remedy="Import its file.")
        key = f"{sha256}{alike}"
        with self._lock:
            if key in self._held:
                self._held.move_to_end(key)
                return self._held[key]
        data = self._study.files.read(sha256)
        made = judging.blind(data, "image")
        if alike and made[1] != "image/png":
            made = (judging.redrawn(data, "image"), "image/png")
        with self._lock:
            if key not in self._held:
                self._held[key] = made
                self._size += len(made[0])
            while self._size > self._most and len(self._held) > 1:
                self._size -= len(self._held.popitem(last=False)[1][0])
        return made


@dataclass
class State:
    """Everything a request may need; made once when the server starts."""

    study: Study
    opened: dict[int, OpenRound]
    committer: Committer
    secret: bytes
    images: Images
    public: str = ""
    secure: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _held: dict[Any, tuple[float, Any]] = field(default_factory=dict)

    def holder(self, token: str) -> Holder | str:
        """Whom a token lets in, or why nobody."""
        if len(token) > LONGEST_TOKEN:
            return "this link was not made here"
        return self._recent(("token", token), lambda: judging.token_holder(self.study, self.secret, token))

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
    """The state of a server for these rounds."""
    return State(
        study,
        {each.round.id: each for each in opened},
        Committer(study.engine),
        judging.signing_key(study),
        Images(study),
        public.rstrip("/"),
        public.startswith("https://"),
    )
