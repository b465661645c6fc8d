"""Prompts longer than CLIP can read."""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

from sightline.data.checks import Material, prompt_examples
from sightline.extension import check
from sightline.records import Finding

ENDS = 2
"""The tokens that open and close a text."""

# CLIP cuts a lower-cased text into clitics, runs of letters, single digits and runs of anything else, and
# each such piece into one or more tokens. Python's letters include the few numerals that are no digits;
# those join their neighbours here, so that a count never exceeds the true one.
PIECE = re.compile(r"'(?:s|t|re|ve|m|ll|d)|[^\W\d_]+|\d|(?:[^\w\s]|_)+")
STRAIGHT = str.maketrans({"\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"'})
VOCABULARY = "bpe_simple_vocab_16e6.txt.gz"
PACKAGES = ("open_clip", "clip")
MERGES = 48_894
"""How many of the listed merges CLIP's vocabulary of 49,408 uses: all but 2 x 256 bytes and the two ends."""

WHOLE = 8
"""Letters that a word has on average before a second token is needed."""


@check(severity="warning", source="Radford et al. 2021 (CLIP)", licence="Apache-2.0")
def long_prompts(material: Material, *, most: int = 77) -> Iterator[Finding]:
    """Prompts beyond the `most` tokens of CLIP's text encoder, which cuts off the rest without a word.

    Where open_clip or clip is installed its vocabulary is read and tokens are counted as CLIP counts them.
    Otherwise there are two counts: a lower _bound, one token a piece (a word, a digit, a run of
    punctuation) and one for either end, which is a warning since it is certain; and an estimate, in which a
    word of n letters counts as n / 8 tokens rounded up and a word of another script as one a letter, which is
    a note and named as an estimate.
    """
    merges = _merges()
    if merges is not None:
        yield from _over(material, most, lambda text: _exact(text, merges), "that exceed", "", "warning")
        return
    yield from _over(material, most, _bound, "that certainly exceed", " (a lower bound)", "warning")
    yield from _over(
        material,
        most,
        lambda text: _estimate(text) if _bound(text) <= most else 0,
        "that probably exceed",
        " (an estimate; installing open_clip_torch gives the exact count)",
        "note",
    )


def _over(
    material: Material, most: int, count: Callable[[str], int], verb: str, how: str, severity: str
) -> Iterator[Finding]:
    texts = material.prompts.select("prompt_id", "text").iter_rows()
    ids = [key for key, text in texts if count(text) > most]
    if ids:
        yield Finding(
            f"prompts {verb} the {most} tokens that CLIP reads{how}",
            len(ids),
            prompt_examples(material, ids),
            "What stands last is not seen by CLIP-based generators and scores: shorten them, or leave "
            "such measures out for them.",
            severity,
        )


def _pieces(text: str) -> list[str]:
    whole = unicodedata.normalize("NFC", html.unescape(html.unescape(text)))
    return PIECE.findall(whole.translate(STRAIGHT).lower())


def _bound(text: str) -> int:
    """The fewest tokens that a text can have."""
    return ENDS + len(_pieces(text))


def _estimate(text: str) -> int:
    return ENDS + sum(-(-len(piece) // WHOLE) if piece.isascii() else len(piece) for piece in _pieces(text))


def _exact(text: str, merges: Mapping[tuple[str, str], int]) -> int:
    return ENDS + sum(_tokens(piece, merges) for piece in _pieces(text))


def _tokens(piece: str, merges: Mapping[tuple[str, str], int]) -> int:
    """How many tokens are left when the pair listed first is merged as long as any pair is listed."""
    parts = [_letters()[byte] for byte in piece.encode()]
    parts[-1] += "</w>"
    while len(parts) > 1:
        rank, at = min((merges.get(pair, len(merges)), n) for n, pair in enumerate(pairwise(parts)))
        if rank == len(merges):
            break
        parts[at : at + 2] = [parts[at] + parts[at + 1]]
    return len(parts)


@lru_cache
def _letters() -> list[str]:
    """The printable character that stands for each byte in the vocabulary."""
    printable = {*range(33, 127), *range(161, 173), *range(174, 256)}
    spare = iter(range(256, 512))
    return [chr(byte) if byte in printable else chr(next(spare)) for byte in range(256)]


@lru_cache
def _merges() -> Mapping[tuple[str, str], int] | None:
    """The merges of CLIP's vocabulary in order, from a package that ships it; None where there is none."""
    from importlib.util import find_spec

    for package in PACKAGES:
        spec = find_spec(package)
        for folder in (spec.submodule_search_locations or ()) if spec else ():
            file = Path(folder) / VOCABULARY
            if file.is_file():
                return _read(file)
    return None


def _read(file: Path) -> Mapping[tuple[str, str], int]:
    import gzip

    # The first line names the version of the list.
    lines = gzip.decompress(file.read_bytes()).decode().split("\n")[1 : MERGES + 1]
    return {(first, second): rank for rank, (first, second) in enumerate(line.split() for line in lines)}
