"""Rephrase: other wordings of prompts, each a prompt of its own that inherits the relevance."""

from __future__ import annotations

import hashlib
import json
import shlex
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Annotated

from sightline.errors import DataError, UsageError
from sightline.records import Prompt, PromptKey, Record
from sightline.rendering.result import Result
from sightline.rendering.tables import Column, Table
from sightline.study import listing, reading
from sightline.study.prompts import prompts_of
from sightline.study.running.progress import Listener, Meter
from sightline.study.study import Study
from sightline.study.writing import loading
from sightline.systems.ranking import SUITE
from sightline.verbs import argument, option, verb

Rephraser = Callable[[str], Sequence[str]]
EXAMPLE = "python rephrase.py --prompt={prompt}"
CODE = {
    **dict.fromkeys(("sh", "bash", "dash", "zsh", "ksh", "fish", "python", "pypy"), "c"),
    **dict.fromkeys(("perl", "ruby", "node", "lua"), "eE"),
    "php": "r",
}
"""Programs that execute an argument, and the letters of the options it follows."""


@dataclass(frozen=True)
class Rephrasing(Result):
    """How many wordings were `made` of how many prompts; `known` prompts had wordings before."""

    by: str
    command: str
    number: int | None
    prompts: int
    made: int
    known: int
    without: int

    @property
    def next(self) -> Sequence[str]:
        undo = (f"sightline undo STUDY {self.number}   # undoes these wordings",) if self.number else ()
        return "sightline retrieve STUDY ENGINE --with caption_words --collection NAME", *undo

    def tables(self) -> dict[str, Table]:
        columns = [
            Column("by"),
            Column("prompts"),
            Column("made", "wordings made"),
            Column("known", "prompts done earlier"),
            Column("without", "prompts without a wording"),
        ]
        row = (self.by, self.prompts, self.made, self.known, self.without)
        return {"": Table(columns, [row], self.command)}


@verb("collect")
def rephrase(
    study: Study,
    by: Annotated[str, argument("The name of the rephraser, stored as a tag.", "BY")],
    rephraser: Annotated[
        Rephraser | str,
        option(
            "Run this program, with {prompt} for the text; it prints one wording per line.",
            "--with",
            metavar="LINE",
        ),
    ],
    *,
    most: Annotated[int, option("Store at most this many wordings per prompt.", least=1)] = 10,
    suite: Annotated[str | None, SUITE] = None,
    timeout: Annotated[float, option("Allow the program this many seconds per prompt.", least=0)] = 600.0,
    listener: Listener | None = None,
) -> Rephrasing:
    """Rephrase prompts; their relevance stays the same.

    Wording n of prompt 7 is the prompt 7.BY.n of the same suite, with the tags of the original and
    rephrased_by, linked to it by `rephrases`: it has the relevance of the original unless it was judged
    itself. Rephrasings are not rephrased again, and wordings that repeat the original or each other are
    dropped. Wordings are stored as they come: a run that was stopped resumes. In Python the rephraser may
    also be a function that takes a text and returns others.

    \b
    sightline rephrase my-study mine --with 'python rephrase.py --prompt={prompt}'
    """
    if not by.strip() or any(map(str.isspace, by)):
        raise UsageError(f"{by!r} cannot be the name of a rephraser", remedy="Use one word, such as gpt-j.")
    if most < 1:
        raise UsageError(f"most is {most}", remedy="Ask for 1 or more.")
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
        texts = _distinct(by, prompt, call(prompt.text), most)
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
    line = rephraser if isinstance(rephraser, str) else getattr(rephraser, "__name__", "a function")
    return Rephrasing(by, line, source_id, len(originals), made, len(done), without)


def _rephrased(study: Study, by: str, originals: dict[int, Prompt]) -> set[int]:
    """The prompts that have wordings by this rephraser."""
    at = {prompt.key: key for key, prompt in originals.items()}
    tags = reading.tags(study)
    own = tags.filter((tags["name"] == "rephrased_by") & (tags["value"] == by))["prompt_id"].to_list()
    links = reading.links(study)
    mine = links.filter((links["kind"] == "rephrases") & links["prompt_id"].is_in(own))
    return set(mine["to_prompt_id"].to_list()) & set(at.values())


def _distinct(by: str, prompt: Prompt, texts: object, most: int) -> list[str]:
    """The first texts that differ from the prompt and from each other by more than case and spaces."""
    if (
        not isinstance(texts, Sequence)
        or isinstance(texts, str)
        or not all(isinstance(t, str) for t in texts)
    ):
        raise DataError(
            f"{by} gave {type(texts).__name__} instead of a list of texts", where=f"prompt {prompt.key.ref}"
        )
    wordings: dict[str, str] = {}
    for text in (" ".join(each.split()) for each in texts):
        wordings.setdefault(text.casefold(), text)
    wordings.pop(" ".join(prompt.text.casefold().split()), None)
    wordings.pop("", None)
    return list(wordings.values())[:most]


def _records(by: str, prompt: Prompt, texts: Sequence[str]) -> Iterator[Record]:
    tags = {**prompt.tags, "rephrased_by": by}
    for number, text in enumerate(texts):
        key = PromptKey(prompt.key.suite, f"{prompt.key.ref}.{by}.{number}")
        yield Prompt(key, text, tags, [("rephrases", prompt.key)], at=f"{by}, prompt {prompt.key.ref}")


def _command(line: str, timeout: float) -> Rephraser:
    """A program of the user's, which gets the prompt as an argument or part of one.

    No shell reads the line, and a prompt can neither name the program nor be code for a shell or an
    interpreter.
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
            remedy=f"Pass them as an argument of their own, as in {EXAMPLE}",
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
            said = ran.stderr.decode(errors="replace").strip().splitlines()[-1:] or ["no message"]
            raise DataError(
                f"the program ended with code {ran.returncode}: {said[0][:300]}",
                where=text[:60],
                remedy="What was made is stored; run it again to resume.",
            )
        return ran.stdout.decode("utf-8", errors="replace").splitlines()

    return call


def _executed(pieces: Sequence[str]) -> Iterator[str]:
    """What shells and interpreters anywhere in a command line may execute as code.

    Those are their own options, since code may be attached to one, and the first argument after such an
    option.
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
            # Such as -o pipefail: the word after it is no code.
            if option[-1] in "oOWX" and at < len(pieces) and not pieces[at].startswith(("-", "+")):
                at += 1
        if coded:
            yield from pieces[at : at + 1]
