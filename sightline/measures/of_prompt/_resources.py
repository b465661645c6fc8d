"""What measures of a prompt read from the machine, opened once a process."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

from sightline.errors import MissingPackage
from sightline.language import parsing, wordnet


def wordnet_3_0(recursive: bool) -> wordnet.WordNet:
    """The machine's WordNet 3.0; raises MissingPackage, with the way to obtain it, where there is none."""
    found = wordnet.find(recursive=recursive)
    opened = _opened(found.path, recursive) if found else None
    reason = wordnet.why_not(opened)
    if opened is None or reason:
        raise MissingPackage(reason, remedy="Install WordNet 3.0, or name its folder by SIGHTLINE_WORDNET.")
    return opened


def parser() -> parsing.Parser:
    """The machine's parser of English; raises MissingPackage where there is none."""
    return _parser(os.environ.get(parsing.VARIABLE))


@cache
def _opened(path: Path, recursive: bool) -> wordnet.WordNet:
    return wordnet.WordNet(path, recursive=recursive)


@cache
def _parser(named: str | None) -> parsing.Parser:
    return parsing.find()
