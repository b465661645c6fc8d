"""Reads a JSON list entry by entry: published lists are larger than what is read as a whole."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sightline.data.sources.strict_json import parse_first
from sightline.errors import DataError
from sightline.regular import LONGEST_LINE, open_regular

CHUNK = 1_000_000
_SPACE = " \t\r\n"


def entries(path: Path, name: str) -> Iterator[tuple[int, Any]]:
    """The entries of a list, numbered from 1; none where the file is something else than a list."""
    with _Text(path, name) as text:
        if text.skip() != "[":
            return
        text.take()
        number = 0
        while text.skip() != "]":
            if number:
                text.need(",", number)
                text.skip()
            number += 1
            yield number, text.value(number)
        text.take()
        text.end()


class _Text:
    """The text of a file, a part at a time, with the line that it has come to."""

    def __init__(self, path: Path, name: str) -> None:
        self._name = name
        self._stream = open_regular(path, name)
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")()
        self._held = ""
        self._at = 0
        self._line = 1
        self._ended = False

    def __enter__(self) -> _Text:
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()

    def _more(self) -> bool:
        """Read on; False at the end."""
        # Ever larger parts, so that a long entry is not tried again and again.
        data = self._stream.read(max(CHUNK, len(self._held) - self._at))
        self._line += self._held.count("\n", 0, self._at)
        self._held, self._at = self._held[self._at :], 0
        try:
            self._held += self._decoder.decode(data, final=not data)
        except UnicodeDecodeError as error:
            good = data[: error.start].decode("utf-8", "ignore")
            line = self._line + self._held.count("\n") + good.count("\n")
            raise DataError(
                "not UTF-8 text", where=f"{self._name}:{line}", remedy="Save the file as UTF-8."
            ) from None
        self._ended = not data
        return bool(data)

    def skip(self) -> str:
        """Pass over white space; the next character, empty at the end."""
        while True:
            while self._at < len(self._held):
                if self._held[self._at] not in _SPACE:
                    return self._held[self._at]
                self._at += 1
            if not self._more():
                return ""

    def take(self) -> None:
        self._at += 1

    def need(self, sign: str, number: int) -> None:
        """Pass over a sign that must come after an entry."""
        if self.skip() != sign:
            raise self._wrong(f"after entry {number} there is no comma")
        self._at += 1

    def value(self, number: int) -> Any:
        """The next value, read on until it is whole."""
        while True:
            try:
                found, end = parse_first(self._held, self._at)
            except ValueError as error:
                long = len(self._held) - self._at > LONGEST_LINE
                if long or self._ended or not self._more():
                    raise self._wrong(f"entry {number} is not JSON ({error})") from None
                continue
            if end == len(self._held) and self._more():
                continue  # a number may go on
            self._at = end
            return found

    def end(self) -> None:
        """Nothing may follow."""
        if self.skip():
            raise self._wrong("something follows the end of the list")

    def _wrong(self, what: str) -> DataError:
        line = self._line + self._held.count("\n", 0, self._at)
        where = f"{self._name}:{line}"
        cut = self._ended and self._at >= len(self._held.rstrip())
        return DataError(
            "the file ends before its list does" if cut else f"not JSON: {what}",
            where=where,
            remedy="Correct the file or write it again.",
        )
