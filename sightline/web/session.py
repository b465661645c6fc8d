"""Who is asking: the cookie that a link left, checked again with every request."""

from __future__ import annotations

from typing import Any

from fastapi import Request
from fastapi.security import APIKeyCookie

from sightline.judging import Holder, most_tasks
from sightline.web.payloads import Fault
from sightline.web.state import State, Who

COOKIES = {"annotator": "sightline", "owner": "sightline_owner"}
annotator_cookie = APIKeyCookie(name=COOKIES["annotator"], scheme_name="annotator", auto_error=False)
owner_cookie = APIKeyCookie(name=COOKIES["owner"], scheme_name="owner", auto_error=False)
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
        503: "Nothing was kept; send it again later.",
    }.items()
}


class NoSession(Exception):
    """Nobody is let in, and why."""


def annotator_of(state: State, request: Request) -> Who:
    """The annotator behind a request."""
    holder = _holder(state, request, "annotator")
    if holder.role == "owner" or holder.round_id not in state.opened:
        raise NoSession("this link does not lead to a round that is being judged")
    assert holder.annotator_id is not None and holder.round_id is not None
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


def require_owner(state: State, request: Request) -> None:
    """Raise unless the study's owner is asking."""
    if _holder(state, request, "owner").role != "owner":
        raise NoSession("this is for the owner of the study")


def _holder(state: State, request: Request, kind: str) -> Holder:
    token = request.cookies.get(COOKIES[kind])
    if not token:
        raise NoSession("you need the link that you were sent")
    holder = state.holder(token)
    if isinstance(holder, str):
        raise NoSession(holder)
    return holder
