"""What comes back from a model's endpoint, read strictly, and what a request is expected to cost."""

from __future__ import annotations

import base64
import binascii
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

MOST_REPLY = 2_000_000
"""Bytes of a chat reply that are read."""
MOST_IMAGE = 64_000_000
"""Bytes of a reply that holds an image."""
MOST_KEPT = 20_000
"""Characters of a reply's text that are kept."""
MOST_SAID = 300
"""Characters of a server's own words in a message."""
TOKEN_LETTERS = 4
"""Letters of a token, on average; for estimates alone."""
READ = ("prompt_tokens", "input_tokens")
WRITTEN = ("completion_tokens", "output_tokens")
"""What endpoints call the tokens that a model read and wrote."""


class Malformed(ValueError):
    """A reply that is not what the interface promises."""


class Price(NamedTuple):
    """What a model costs: by a million tokens read and written, and by an image."""

    input: float = 0.0
    output: float = 0.0
    image: float = 0.0


@dataclass(frozen=True)
class Reply:
    """What a model answered: its text, or a refusal; `choices` are the logprobs of its first yes or no.

    `fault` says why a reply that arrived cannot be read.
    """

    text: str = ""
    refusal: str = ""
    fault: str = ""
    model: str = ""
    choices: Mapping[str, float] = field(default_factory=dict)


class Drawn(NamedTuple):
    """The bytes of an image or their address, or a refusal; `revised` is the prompt that was drawn."""

    data: bytes = b""
    url: str = ""
    refusal: str = ""
    revised: str = ""
    model: str = ""


def read_chat(answer: Mapping[str, Any]) -> tuple[Reply, Mapping[str, Any]]:
    """The text, refusal and first choice of a chat completion, and its usage."""
    if "refused" in answer:
        return Reply(refusal=cleaned(answer["refused"])[:MOST_SAID] or "no reason"), {}
    if "oversized" in answer:
        return Reply(fault=f"the reply is longer than {MOST_REPLY:,} bytes"), {}
    usage = answer.get("usage") if isinstance(answer.get("usage"), dict) else {}
    model = cleaned(answer.get("model"))[:200]
    choices = answer.get("choices")
    first = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else None
    message = first.get("message") if first else None
    if first is None or not isinstance(message, dict):
        raise Malformed("the endpoint sent a chat completion without a message")
    refusal = cleaned(message.get("refusal"))[:MOST_SAID]
    if not refusal and first.get("finish_reason") == "content_filter":
        refusal = "the endpoint's content filter"
    text = cleaned(_text(message.get("content")))
    fault = f"the reply is longer than {MOST_KEPT:,} characters" if len(text) > MOST_KEPT else ""
    if not text and not refusal:
        fault = "the reply is empty"
        if first.get("finish_reason") == "length":
            fault = "the reply ended before it said anything: max_tokens is too small"
    reply = Reply(text[:MOST_KEPT], refusal, fault, model, _yes_or_no(first.get("logprobs")))
    return reply, usage or {}


def read_image(answer: Mapping[str, Any]) -> tuple[Drawn, Mapping[str, Any]]:
    """The one image of a reply as bytes or an address, or the refusal to draw it, and its usage."""
    usage = answer.get("usage") if isinstance(answer.get("usage"), dict) else {}
    if "refused" in answer:
        return Drawn(refusal=cleaned(answer["refused"])[:MOST_SAID] or "no reason"), {}
    if "oversized" in answer:
        raise Malformed(f"the reply is longer than {MOST_IMAGE:,} bytes")
    given = answer.get("data")
    if not isinstance(given, list) or len(given) != 1 or not isinstance(given[0], dict):
        many = f"{len(given)} images" if isinstance(given, list) else "no list of images"
        raise Malformed(f"the endpoint sent {many} instead of one image")
    one = given[0]
    drawn = Drawn(
        revised=cleaned(one.get("revised_prompt"))[:MOST_KEPT], model=cleaned(answer.get("model"))[:200]
    )
    if isinstance(one.get("b64_json"), str):
        try:
            return drawn._replace(data=base64.b64decode(one["b64_json"], validate=True)), usage or {}
        except binascii.Error:
            raise Malformed("the endpoint sent an image that is no Base64") from None
    if isinstance(one.get("url"), str):
        return drawn._replace(url=one["url"]), usage or {}
    raise Malformed("the endpoint sent neither b64_json nor a url")


def _text(content: Any) -> str:
    if isinstance(content, list):  # parts, as some servers send them
        return "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


def _yes_or_no(logprobs: Any) -> dict[str, float]:
    """The probabilities of yes and of no at the first token that is either."""
    tokens = logprobs.get("content") if isinstance(logprobs, dict) else None
    for token in tokens if isinstance(tokens, list) else ():
        if not isinstance(token, dict) or _word(token) not in ("yes", "no"):
            if isinstance(token, dict) and not _word(token):
                continue
            return {}
        listed = token.get("top_logprobs")
        offered = [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []
        found = {"yes": 0.0, "no": 0.0}
        for each in offered or [token]:
            value = each.get("logprob")
            if isinstance(value, bool) or not isinstance(value, int | float):
                return {}
            if not math.isfinite(value) or value > 1e-3:
                return {}
            if _word(each) in found:
                found[_word(each)] += math.exp(min(value, 0.0))
        return found if sum(found.values()) > 0 else {}
    return {}


def _word(token: Mapping[str, Any]) -> str:
    return str(token.get("token", "")).strip(" \t\n\r\"'*.,:`▁Ġ").lower()


def cleaned(text: Any) -> str:
    """A text that every database takes: no NUL, no half of a surrogate pair."""
    return text.replace("\0", "").encode("utf-8", "replace").decode() if isinstance(text, str) else ""


def counted(usage: Mapping[str, Any], *names: str) -> int | None:
    for name in names:
        value = usage.get(name)
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31:
            return value
    return None


def estimated_tokens(body: Mapping[str, Any]) -> int:
    """Tokens of a request, roughly: text by its letters, an image 85 and 170 for each 512 pixels squared."""
    text = len(str(body.get("prompt", "")))
    tiles = 0
    for message in body.get("messages", ()):
        content = message["content"]
        parts: list[Any] = [{"text": content}] if isinstance(content, str) else content
        for part in parts:
            text += len(part.get("text", ""))
            if "image_url" in part:
                # Of a PNG the size stands in its first bytes; 24 of them are 32 letters of Base64.
                tiles += 85 + 170 * _tiles(part["image_url"]["url"])
    return text // TOKEN_LETTERS + tiles


def _tiles(url: str) -> int:
    head = base64.b64decode(url.partition(",")[2][:32])
    width, height = int.from_bytes(head[16:20], "big"), int.from_bytes(head[20:24], "big")
    return max(1, -(-width // 512) * -(-height // 512))


def estimated_cost(body: Mapping[str, Any], price: Price) -> float:
    """The most that a call is expected to cost: its own tokens, and as many written as it allows."""
    written = int(body.get("max_tokens", 0))
    images = 0 if "messages" in body else 1
    return (estimated_tokens(body) * price.input + written * price.output) / 1e6 + images * price.image
