"""Where an endpoint is, how it may be used, and the key it wants: from the environment, shown nowhere."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from sightline.errors import UsageError
from sightline.replies import Price


@dataclass(frozen=True)
class Settings:
    """How an endpoint is used; `key` names the environment variable that holds its key."""

    name: str
    address: str
    key: str = ""
    in_flight: int = 8
    per_minute: float = 0.0
    timeout: float = 120.0
    retries: int = 5
    backoff: float = 1.0
    longest_wait: float = 120.0
    spend: float | None = None
    images_from: tuple[str, ...] = ()
    moved_from: tuple[str, ...] = ()
    """Addresses at which the same models were before: replies from there are still used."""
    prices: Mapping[str, Price] = field(default_factory=dict)


def checked_address(address: str, where: str) -> str:
    """The base address of an API, or an error; a key never stands in it."""
    example = "For example http://localhost:8000/v1, or a name that study.toml has: [endpoint.NAME]"
    if not address:
        raise UsageError("no endpoint is named", where=where, remedy=example)
    try:
        place = urlsplit(address)
        sound = place.scheme in ("http", "https") and bool(place.hostname) and place.port != 0
    except ValueError:
        sound, place = False, urlsplit("")
    if place.username is not None or place.query or place.fragment:
        # The address is not repeated: what is wrong with it may be a secret.
        raise UsageError(
            "the address of an endpoint holds a user name or a query",
            remedy='A key comes from the environment: key = "NAME_API_KEY" below [endpoint.NAME].',
        )
    if not sound:
        raise UsageError(f"{address!r} is no endpoint", where=where, remedy=example)
    return address.rstrip("/")


def key_of(settings: Settings) -> str:
    """The key from the environment, empty where none is needed; it is shown nowhere."""
    host = urlsplit(settings.address).hostname or ""
    name = settings.key or ("OPENAI_API_KEY" if host == "api.openai.com" else "")
    if not name:
        return ""
    key = os.environ.get(name, "").strip()
    if not key:
        raise UsageError(
            f"the environment variable {name} is not set", where=settings.name, remedy=f"export {name}=..."
        )
    if not settings.address.startswith("https://") and not is_local(host):
        raise UsageError(
            "a key would be sent without encryption",
            where=settings.name,
            remedy="Use an https address, or an endpoint of this machine.",
        )
    if not key.isascii() or not key.isprintable():
        raise UsageError(f"the environment variable {name} holds no key", where=settings.name)
    return key


def is_local(host: str) -> bool:
    """Whether a host is this machine."""
    return host in ("localhost", "::1") or host.startswith("127.")
