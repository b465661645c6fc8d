"""Who is asking: the cookie that a link left, checked again with every request."""

from __future__ import annotations

from collections.abc import Hashable
from math import ceil
from typing import Any

from fastapi import Request
from fastapi.security import APIKeyCookie

from sightline.judging import Holder, most_tasks
from sightline.web.pacing import Paces
from sightline.web.payloads import Fault
from sightline.web.state import State, Who

COOKIES = {"annotator": "sightline", "owner": "sightline_owner"}
FAULTS: dict[int | str, dict[str, Any]] = {
    status: {"model": Fault, "description": meaning}
    for status, meaning in {
        400: "The request makes no sense.",
        401: "Nobody, or somebody whose link is not valid any more.",
        403: "Not allowed.",
        404: "There is no such thing, or it is not yours.",
        405: "Not asked like that.",
        408: "The request took too long to arrive.",
        409: "It conflicts with what is in the study.",
        413: "Too much at once.",
        422: "A field is missing or not as described.",
        429: "Too fast; nothing was kept. Retry-After has the seconds to wait.",
        503: "Nothing was kept; send it again later.",
    }.items()
}


class NoSession(Exception):
    """Nobody is let in, and why."""


class TooFast(Exception):
    """Somebody asks faster than people do; `wait` is in seconds."""

    def __init__(self, wait: float) -> None:
        super().__init__("you are asking too fast")
        self.wait = ceil(wait)


def cookie_name(kind: str, secure: bool) -> str:
    """What a cookie is called: over https by a name that neither http nor a neighbouring host can set."""
    return f"__Host-{COOKIES[kind]}" if secure else COOKIES[kind]


def cookie_scheme(state: State, kind: str) -> APIKeyCookie:
    """How the application describes who is let in."""
    return APIKeyCookie(name=cookie_name(kind, state.secure), scheme_name=kind, auto_error=False)


def is_secure(state: State, request: Request) -> bool:
    """Whether a browser came by https, to us or to the proxy before us."""
    return state.secure or request.url.scheme == "https"


def annotator_of(state: State, request: Request) -> Who:
    """The annotator behind a request."""
    holder = _holder(state, request, "annotator")
    if holder.role == "owner" or holder.round_id not in state.opened:
        raise NoSession("this link does not lead to a round that is being judged")
    assert holder.annotator_id is not None and holder.round_id is not None
    keep_pace(state.requests, holder.annotator_id)
    person, round_ = state.person(holder.annotator_id), state.round(holder.round_id)
    return Who(
        holder.annotator_id,
        person["name"],
        person["role"],
        person["language"],
        round_,
        state.opened[holder.round_id].settings,
        most_tasks(round_, state.items(round_.id), person["role"]),
    )


def require_owner(state: State, request: Request, paces: Paces | None = None) -> None:
    """Raise unless the study's owner is asking, at a pace that may be another than that of all pages."""
    if _holder(state, request, "owner").role != "owner":
        raise NoSession("this is for the owner of the study")
    keep_pace(paces or state.requests, "owner")


def keep_pace(paces: Paces, who: Hashable, n: int = 1) -> None:
    """Raise where somebody asks too fast."""
    if wait := paces.take(who, n):
        raise TooFast(wait)


def _holder(state: State, request: Request, kind: str) -> Holder:
    token = request.cookies.get(cookie_name(kind, is_secure(state, request)))
    if not token:
        raise NoSession("you need the link that you were sent")
    holder = state.session(token) if kind == "owner" else state.holder(token)
    if isinstance(holder, str):
        raise NoSession(holder)
    return holder
