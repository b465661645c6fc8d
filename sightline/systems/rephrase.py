"""Rephrase: other wordings of the prompts, each a prompt of its own that inherits the relevance."""

from __future__ import annotations

import hashlib
import json
import shlex
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePath

from sightline.errors import DataError, UsageError
from sightline.records import Prompt, PromptKey, Record
from sightline.study import listing, reading
from sightline.study.prompts import prompts_of
from sightline.study.running.progress import Listener, Meter
from sightline.study.study import Study
from sightline.study.writing import loading

Rephraser = Callable[[str], Sequence[str]]
EXAMPLE = "python rephrase.py --prompt={prompt}"
CODE = {
    **dict.fromkeys(("sh", "bash", "dash", "zsh", "ksh", "fish", "python", "pypy"), "c"),
    **dict.fromkeys(("perl", "ruby", "node", "lua"), "eE"),
    "php": "r",
}
"""Programs that execute an argument, and the letters of the options it follows."""


@dataclass(frozen=True)
class Rephrased:
    """How many prompts were worded anew, by whom, and how often; `known` had been before."""

    by: str
    source_id: int | None
    prompts: int
    made: int
    known: int
    without: int


def rephrase(
    study: Study,
    by: str,
    rephraser: Rephraser | str,
    *,
    most: int = 10,
    suite: str | None = None,
    timeout: float = 600.0,
    listener: Listener | None = None,
) -> Rephrased:
    """Add up to `most` other wordings of every prompt; goes on where it was.

    `rephraser` takes a text and gives others: any function, a local language model say, or a command line in
    which `{prompt}` stands for the text and whose program prints one wording a line. Wording n of prompt `7`
    is the prompt `7.BY.n` of the same suite, with the tags of the original and `rephrased_by`, linked to it
    by `rephrases`: where relevance is read, it has that of the original unless it was judged itself.
    Rephrasings are not rephrased again. Wordings that repeat the original or each other are left out.
    """
    if not by.strip() or any(map(str.isspace, by)):
        raise UsageError(f"{by!r} cannot be the name of who rephrases", remedy="A word, such as gpt-j.")
    if most < 1:
        raise UsageError(f"{most} wordings", remedy="Ask for 1 or more.")
    reading.need_prompts(study)
    call = _command(rephraser, timeout) if isinstance(rephraser, str) else rephraser
    links = reading.links(study)
    ours = set(links.filter(links["kind"] == "rephrases")["prompt_id"].to_list())
    wanted = [key for key in prompts_of(study, suite)["prompt_id"].to_list() if key not in ours]
    originals = reading.prompt_records(study, wanted)
    done = _rephrased(study, by, originals)
    digest = hashlib.sha256(json.dumps(["rephrase", by]).encode()).hexdigest()
    source_id = listing.source_of(study, "rephrase", digest)
    meter = Meter(f"{by}: rephrasing", len(originals), listener)
    meter.add(known=len(done))
    made = without = 0
    for key, prompt in originals.items():
        if key in done:
            continue
        texts = _sound(by, prompt, call(prompt.text), most)
        without += not texts
        if texts:
            records = list(_records(by, prompt, texts))
            loaded = loading.load(
                study, records, importer="rephrase", path=by, digest=digest, extend=source_id
            )
            source_id = loaded.source_id
        made += len(texts)
        meter.add(computed=1)
    meter.finish()
    return Rephrased(by, source_id, len(originals), made, len(done), without)


def _rephrased(study: Study, by: str, originals: dict[int, Prompt]) -> set[int]:
    """The prompts that have wordings by this rephraser."""
    at = {prompt.key: key for key, prompt in originals.items()}
    tags = reading.tags(study)
    own = tags.filter((tags["name"] == "rephrased_by") & (tags["value"] == by))["prompt_id"].to_list()
    links = reading.links(study)
    mine = links.filter((links["kind"] == "rephrases") & links["prompt_id"].is_in(own))
    return set(mine["to_prompt_id"].to_list()) & set(at.values())


def _sound(by: str, prompt: Prompt, told: object, most: int) -> list[str]:
    if isinstance(told, str) or not isinstance(told, Sequence) or not all(isinstance(t, str) for t in told):
        raise DataError(
            f"{by} gave {type(told).__name__} instead of a list of texts", where=f"prompt {prompt.key.ref}"
        )
    met = {_folded(prompt.text), ""}
    found = []
    for text in (" ".join(each.split()) for each in told):
        if _folded(text) not in met:
            met.add(_folded(text))
            found.append(text)
    return found[:most]


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())


def _records(by: str, prompt: Prompt, texts: Sequence[str]) -> Iterator[Record]:
    tags = {**prompt.tags, "rephrased_by": by}
    for number, text in enumerate(texts):
        key = PromptKey(prompt.key.suite, f"{prompt.key.ref}.{by}.{number}")
        yield Prompt(key, text, tags, [("rephrases", prompt.key)], at=f"{by}, prompt {prompt.key.ref}")


def _command(line: str, timeout: float) -> Rephraser:
    """A program of the user's own, which gets the prompt as an argument, or part of one.

    No shell of ours reads the line, and a prompt may neither name the program nor be code for a shell or an
    interpreter; what else the program does with its arguments is its own affair.
    """
    try:
        pieces = shlex.split(line)
    except ValueError as error:
        raise UsageError(f"cannot read the command {line!r} ({error})", remedy=f"As in {EXAMPLE}") from None
    if not any("{prompt}" in piece for piece in pieces):
        raise UsageError(f"{{prompt}} is missing in the command {line!r}", remedy=f"As in {EXAMPLE}")
    if "{prompt}" in pieces[0] or any("{prompt}" in code for code in _executed(pieces)):
        raise UsageError(
            f"the command {line!r} would execute the prompts",
            remedy=f"Hand them over as an argument of their own, as in {EXAMPLE}",
        )

    def call(text: str) -> list[str]:
        filled = [piece.replace("{prompt}", text) for piece in pieces]
        try:
            ran = subprocess.run(
                filled, stdin=subprocess.DEVNULL, capture_output=True, timeout=timeout, check=False
            )
        except (OSError, ValueError) as error:
            raise UsageError(f"cannot run {filled[0]!r} ({error})") from None
        except subprocess.TimeoutExpired:
            raise DataError(f"the program took longer than {timeout:g} seconds", where=text[:60]) from None
        if ran.returncode != 0:
            said = ran.stderr.decode(errors="replace").strip().splitlines()[-1:] or ["without a word"]
            raise DataError(
                f"the program ended with code {ran.returncode}: {said[0][:300]}",
                where=text[:60],
                remedy="What was made before is kept; run it again to go on.",
            )
        return ran.stdout.decode("utf-8", errors="replace").splitlines()

    return call


def _executed(pieces: Sequence[str]) -> Iterator[str]:
    """What shells and interpreters anywhere in a command line may take for code.

    That is their own options, since code may hang on one, and the first argument after an option for code.
    """
    for place, piece in enumerate(pieces):
        letters = CODE.get(PurePath(piece).name.lower().removesuffix(".exe").rstrip("0123456789."))
        if letters is None:
            continue
        coded, at = False, place + 1
        while at < len(pieces) and pieces[at].startswith(("-", "+")):
            option = pieces[at]
            yield option
            coded = coded or option.startswith("--eval")
            coded = coded or (not option.startswith("--") and not set(letters).isdisjoint(option))
            at += 1
            # Such as -o pipefail: the word after it is still no code.
            if option[-1] in "oOWX" and at < len(pieces) and not pieces[at].startswith(("-", "+")):
                at += 1
        if coded:
            yield from pieces[at : at + 1]
