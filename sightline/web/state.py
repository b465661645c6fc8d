"""What the pages of one study share: the study, its one writer, its rounds, and images ready to be sent."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from sightline import judging
from sightline.errors import DataError, StudyError
from sightline.judging import Holder, OpenRound, Round, RoundSettings
from sightline.study.schema import database, patience
from sightline.study.schema.committing import Committer
from sightline.study.schema.storable import now
from sightline.study.study import Study

Made = TypeVar("Made")
FRESH_SECONDS = 2.0
"""How long another process's revocation of a link, or pause of a round, may go unnoticed."""
MOST_HELD = 10_000
PATIENCE = 10.0
"""Seconds that a request waits for the database; the page itself waits for 20 and then sends it again."""
LONGEST_TOKEN = 512
IMAGE_MEMORY = 192 * 1024 * 1024


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


class Images:
    """Image bytes without what they tell of their maker, the last used kept in memory."""

    def __init__(self, study: Study, most: int = IMAGE_MEMORY) -> None:
        self._study = study
        self._most = most
        self.held: OrderedDict[str, tuple[bytes, str]] = OrderedDict()
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
            if key in self.held:
                self.held.move_to_end(key)
                return self.held[key]
        data = self._study.files.read(sha256)
        made = judging.blind(data, "image")
        if alike and made[1] != "image/png":
            made = (judging.redrawn(data, "image"), "image/png")
        with self._lock:
            if key not in self.held:
                self.held[key] = made
                self._size += len(made[0])
            while self._size > self._most and len(self.held) > 1:
                self._size -= len(self.held.popitem(last=False)[1][0])
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
    """The state of a server for these rounds."""
    patience.limit(study.engine, PATIENCE)
    return State(
        study,
        {each.round.id: each for each in opened},
        Committer(study.engine),
        judging.signing_key(study),
        Images(study),
        public.rstrip("/"),
        public.startswith("https://"),
    )
