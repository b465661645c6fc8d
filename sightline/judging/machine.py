"""Judge: a vision language model votes between the images of two systems, shown in both orders."""

from __future__ import annotations

import hashlib
import json
import re
import shlex
from collections import Counter
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from sightline import chat
from sightline.arrays import content_hash
from sightline.chat import Unreadable
from sightline.endpoints import Endpoint, Rehearsal, Stopped, Unanswered
from sightline.errors import ConflictError, DataError, UsageError
from sightline.estimate import Estimate, absent
from sightline.judging.machine_agreement import Agreement, agreements, position_bias
from sightline.records import AnnotatorKey, Item, Judgement, Prompt, Question, Record
from sightline.regular import read_regular
from sightline.rendering.result import Result
from sightline.rendering.tables import Column, Table
from sightline.study import listing, reading
from sightline.study.bill import CallPlan, bill_table
from sightline.study.files import ImageFiles
from sightline.study.ledger import BillLine, StudyLedger, endpoint_settings
from sightline.study.machines import MACHINE, Compared, compared_pairs, machine_keys
from sightline.study.running.calling import as_they_end, forecast
from sightline.study.running.place import Place, place_of
from sightline.study.running.progress import Listener, Meter
from sightline.study.running.remote_calls import CallWork, calls_at_once, desk_of, run_remote_calls
from sightline.study.scores import QUARANTINED
from sightline.study.study import Study
from sightline.study.writing import loading
from sightline.verbs import ON, SEED, argument, option, verb

LABELS = ("first", "second", "tie")
MOST_RUBRIC = 100_000
TOGETHER = 64
"""Votes that are stored at once; the replies they rest on are stored one by one."""
BETTER = (
    "Which image is the better answer to the prompt? First see which one shows more of what the prompt asks "
    "for; where they are equal in that, which one has the higher quality."
)


class Verdict(NamedTuple):
    """What the model said of a pair in both orders: first, second or tie of what was shown, or why not."""

    forward: str
    backward: str
    why_not: str = ""

    @property
    def value(self) -> float | None:
        """0 for the pair's first image, 1 for its second, .5 for a tie; None where the order decides."""
        straight = {"first": 0.0, "second": 1.0, "tie": 0.5}
        one, other = straight[self.forward], 1.0 - straight[self.backward]
        return one if one == other else None

    @property
    def for_first_shown(self) -> float:
        """How often the image that was shown first was preferred, a tie being half."""
        count = {"first": 1.0, "second": 0.0, "tie": 0.5}
        return (count[self.forward] + count[self.backward]) / 2


@dataclass(frozen=True)
class MachineVotes(Result):
    """The votes of a model on a question of its own, how much the order counted, and how far people agree."""

    question: str
    model: str
    pairs: int
    votes: int
    ties: int
    inconsistent: int
    inconsistent_as: str
    without: Mapping[str, int]
    """Pairs without a vote, by reason."""
    position: Estimate
    """How often the image shown first was preferred: one half where the order does not matter."""
    agreement: Sequence[Agreement] = ()
    number: int | None = None
    bill: Sequence[BillLine] = ()
    stopped: str = ""
    remarks: Sequence[str] = ()
    """What a reader must know of earlier replies."""

    @property
    def sentence(self) -> str:
        if self.stopped:
            return f"The run was stopped. {self.stopped}"
        if not self.votes:
            return f"{self.model} gave no vote."
        place = self.position
        biased = place.low is not None and place.high is not None and not place.low <= 0.5 <= place.high
        side = "first" if (place.value or 0.5) > 0.5 else "second"
        order = f"; it favours the image shown {side}" if biased else ""
        return f"{self.model} voted on {self.votes:,} of {self.pairs:,} pairs{order}."

    @property
    def notes(self) -> Sequence[str]:
        if not self.votes:
            return self.remarks
        made = [
            *self.remarks,
            "These are votes of a model, on a question of their own: truth of people's questions does not "
            "contain them.",
        ]
        if self.inconsistent:
            done = "count as ties" if self.inconsistent_as == "tie" else "are left out"
            differ = f"{self.inconsistent:,} pairs were judged differently in the two orders"
            made.append(f"{differ}: they {done}.")
        return made

    @property
    def exit_code(self) -> int:
        return 0 if self.votes and not self.stopped else DataError.exit_code

    @property
    def next(self) -> Sequence[str]:
        if not self.votes:
            return ("sightline bill STUDY",)
        undo = (f"sightline undo STUDY {self.number}   # undoes these votes",) if self.number else ()
        return f"sightline compare STUDY --by {shlex.quote(self.question)}", *undo

    def facts(self) -> Mapping[str, Any]:
        return {**super().facts(), "without": dict(self.without), "position": self.position.value}

    def tables(self) -> dict[str, Table]:
        columns = [
            Column("model"), Column("question"), Column("pairs"), Column("votes"), Column("ties"),
            Column("inconsistent"), Column("position", "first shown is preferred", format="%", estimate=True),
        ]  # fmt: skip
        row = (self.model, self.question, self.pairs, self.votes, self.ties, self.inconsistent, self.position)
        with_people = [Column("question", "people's question"), Column("pairs", "pairs with a majority")]
        with_people += [
            Column("agreement", "the model agrees with most people", "higher", format="%", estimate=True),
            Column("person", "the model agrees with a person", "higher", format="%", estimate=True),
            Column("people", "two people agree", "higher", format="%", estimate=True),
        ]
        made = {
            "votes": Table(columns, [row], "Votes of a model"),
            "without": Table(
                [Column("reason"), Column("n")], sorted(self.without.items()), "Why a pair has no vote"
            ),
            **bill_table(self.bill),
        }
        if self.agreement:
            rows = [(one.question, one.pairs, one.model, one.person, one.people) for one in self.agreement]
            title = "Agreement with people on the same systems and prompts"
            made["agreement"] = Table(with_people, rows, title)
        return made


@dataclass(frozen=True)
class _Judge:
    """What is asked of which model."""

    model: str
    rubric: str
    temperature: float
    max_tokens: int
    seed: int
    side: int

    @property
    def rules(self) -> str:
        return (
            f"You compare two images that systems made for the same prompt. {self.rubric}\n\n"
            'Reply with one JSON object and nothing else: {"reason": "one sentence", "better": "first", '
            '"second" or "tie"}. The order of the images means nothing.'
        )

    def ask(self, files: ImageFiles, client: Endpoint, prompt: Prompt, shown: Sequence[str]) -> str:
        """The label that the model gives two images in this order, or an Unreadable that says why not."""
        parts = [chat.said(f"The prompt, between marks:\n{chat.quoted(prompt.text)}")]
        for name, sha256 in zip(("first", "second"), shown, strict=True):
            parts += [chat.said(f"The {name} image:"), chat.shown(files.picture(sha256), self.side)]
        reply = client.chat(
            chat.request(
                self.model, self.rules, parts, temperature=self.temperature, max_tokens=self.max_tokens,
                seed=self.seed, schema=chat.choice_schema("better", LABELS),
            )
        )  # fmt: skip
        if reply.refusal:
            raise Unreadable("the model refused to judge it")
        if reply.fault:
            raise Unreadable(reply.fault)
        label = chat.read_object(reply.text, ["better"])["better"]
        if not isinstance(label, str) or label.strip().lower() not in LABELS:
            raise Unreadable("the reply names neither image and no tie")
        return label.strip().lower()


class Shown(NamedTuple):
    """Two images that are compared, with the prompt they are answers to."""

    prompt: Prompt
    pair: Compared


@dataclass(frozen=True)
class JudgeCalls(CallWork[Shown, Verdict]):
    """Having a model compare images at an address."""

    asked: _Judge
    files: str
    extensions: tuple[tuple[str, str], ...] = ()

    def caller(self, client: Endpoint) -> Callable[[Shown], Verdict]:
        files = ImageFiles(self.files)
        return lambda shown: _verdict(files, self.asked, client, shown)

    def quarantined(self, item: Shown, reason: str) -> Verdict:
        return Verdict("", "", f"{QUARANTINED}{reason}; run again to try it again")


@verb("judge")
def judge(
    study: Study,
    model: Annotated[str, argument("The model, as the endpoint calls it.", "MODEL")],
    endpoint: Annotated[
        str, option("Ask at this endpoint: an address, or a name from study.toml.", metavar="ENDPOINT")
    ],
    *,
    question: Annotated[
        str | None, option("Store the votes on this question.", shown="preference_by_MODEL")
    ] = None,
    like: Annotated[
        str | None, option("Judge the pairs that people compared on this question.", metavar="QUESTION")
    ] = None,
    pairs: Annotated[
        int | None, option("Judge at most this many pairs of each prompt.", shown="all", least=1)
    ] = None,
    systems: Annotated[
        Sequence[str], option("Compare these systems; repeatable.", "--system", metavar="SYSTEM")
    ] = (),
    rubric: Annotated[str | None, option("Say what is better by this text file.", metavar="FILE")] = None,
    inconsistent: Annotated[
        Literal["tie", "leave_out"],
        option("Count a pair that is judged differently in the two orders as a tie, or leave it out."),
    ] = "tie",
    mix: Annotated[bool, option("Allow a question on which people voted: both are then counted.")] = False,
    temperature: Annotated[float, option("Sample replies at this temperature.", least=0)] = 0.0,
    max_tokens: Annotated[int, option("Let a reply have this many tokens.", least=1)] = 500,
    side: Annotated[int, option("Send images with no side longer than this.", least=16)] = 1024,
    seed: Annotated[int, SEED] = 0,
    plan: Annotated[bool, option("Estimate the calls, tokens and cost; call nothing.")] = False,
    workers: Annotated[
        int | None, option("Make the calls from this many processes.", shown="this one", least=1)
    ] = None,
    on: Annotated[str | None, ON] = None,
    listener: Listener | None = None,
) -> MachineVotes | CallPlan:
    """Let a vision language model vote between the images of two systems.

    Each pair is shown in both orders; the image that is preferred both times has the vote. Every reply is
    stored when it arrives, so that a run that was stopped or killed repeats at most the calls in flight. The
    votes are judgements of an annotator of the panel `machine`, on a question of their own.

    \b
    sightline judge my-study gpt-4o --endpoint openai --plan
    sightline judge my-study gpt-4o --endpoint openai --like preference
    sightline compare my-study --by preference_by_gpt-4o
    """
    name = question or f"preference_by_{re.sub(r'[^A-Za-z0-9.-]+', '_', model)}"
    asked = _Judge(model, _rubric(rubric), temperature, max_tokens, seed, side)
    place = place_of(on, workers)
    reading.need_prompts(study)
    chosen = compared_pairs(study, like, list(systems), pairs, seed)
    if not chosen:
        raise DataError(
            "there are no two images of different systems for a prompt", where=study.name,
            remedy="Import or generate the answers of a second system.",
        )  # fmt: skip
    _refuse_mixing(study, name, mix)
    settings = endpoint_settings(study, endpoint)
    ledger = StudyLedger(study, settings, f"judge {name}")
    prompts = reading.prompt_records(study, sorted({pair.prompt_id for pair in chosen}))
    shown = [Shown(prompts[pair.prompt_id], pair) for pair in chosen]
    if plan:
        rehearsal = Rehearsal(settings, ledger)

        def rehearse(each: Shown) -> Verdict:
            return _verdict(study.files, asked, rehearsal, each)

        return CallPlan([forecast(f"judge {name}", rehearsal, shown, rehearse)])
    client = Endpoint(settings, ledger)
    return _vote(study, asked, client, shown, name, inconsistent, place, listener)


def _verdicts(
    study: Study, asked: _Judge, client: Endpoint, chosen: Sequence[Shown], place: Place
) -> Generator[Sequence[tuple[Shown, Verdict]], None, None]:
    """What the model says of each pair, in the groups in which the calls end."""
    if not place.crew:
        yield from as_they_end(
            iter(chosen), lambda shown: _verdict(study.files, asked, client, shown), client
        )
        return
    with desk_of(client, place) as line:
        at_once = calls_at_once(client, place)
        work = JudgeCalls(line, client.settings, at_once, asked, study.files.root)
        for batch, verdicts in run_remote_calls(work, iter(chosen), place, client):
            yield list(zip(batch, verdicts, strict=True))


def _vote(
    study: Study,
    asked: _Judge,
    client: Endpoint,
    chosen: Sequence[Shown],
    name: str,
    inconsistent: str,
    place: Place,
    listener: Listener | None,
) -> MachineVotes:
    who = AnnotatorKey(MACHINE, f"{asked.model} at {client.settings.name} ({_digest(asked)})")
    digest = hashlib.sha256(json.dumps([name, *who, inconsistent]).encode()).hexdigest()
    source_id = listing.source_of(study, "judge", digest)
    meter = Meter(f"{name}: {asked.model}", len(chosen), listener)
    judged: list[tuple[Shown, Verdict]] = []
    without: Counter[str] = Counter()
    waiting: list[Judgement] = []
    stopped = ""
    known = name in {each.name for _, each in reading.questions(study)}

    def store(source_id: int | None) -> int | None:
        if not waiting:
            return source_id
        records: list[Record] = [*(() if known else (_question(name, asked),)), *waiting]
        kept = loading.load(
            study, records, importer="judge", path=f"{name} by {asked.model}", digest=digest, extend=source_id
        )
        if kept.already:  # another process began the same run a moment ago
            loading.load(study, records, importer="judge", path=name, digest=digest, extend=kept.source_id)
        waiting.clear()
        return kept.source_id

    answers = _verdicts(study, asked, client, chosen, place)
    try:
        with closing(answers):
            for group in answers:
                for shown, verdict in group:
                    meter.add(computed=1)
                    if verdict.why_not:
                        without[verdict.why_not] += 1
                        continue
                    judged.append((shown, verdict))
                    waiting.append(_judgement(shown, verdict, name, who, inconsistent))
                if len(waiting) >= TOGETHER:
                    source_id = store(source_id)
    except Stopped as error:
        stopped = f"{error.where}: {error.what}. {error.remedy}"
    finally:
        client.close()
        source_id = store(source_id)
    meter.finish()
    values = [verdict.value for _, verdict in judged]
    differ = sum(value is None for value in values)
    assert isinstance(client.ledger, StudyLedger)
    return MachineVotes(
        name, asked.model, len(chosen),
        votes=len(values) - (differ if inconsistent == "leave_out" else 0),
        ties=sum(value == 0.5 for value in values), inconsistent=differ, inconsistent_as=inconsistent,
        without=dict(without),
        position=position_bias(
            [verdict.for_first_shown for _, verdict in judged],
            [shown.pair.prompt_id for shown, _ in judged],
        ) if judged else absent("no pair was judged"),
        agreement=agreements(study, name) if judged else (), number=source_id,
        bill=client.ledger.lines(), stopped=stopped, remarks=client.ledger.notes(),
    )  # fmt: skip


def _verdict(files: ImageFiles, asked: _Judge, client: Endpoint, shown: Shown) -> Verdict:
    """Both orders; a fault of one does not spare the other, whose reply is then known to the next run."""
    labels, reason = [], ""
    one, other = shown.pair.sha256, shown.pair.sha256_b
    for images in ((one, other), (other, one)):
        try:
            labels.append(asked.ask(files, client, shown.prompt, images))
        except Unreadable as error:
            reason = str(error)
        except Unanswered as error:
            reason = f"no answer this time, run again: {error}"
        except DataError as error:
            if not error.where or error.where == client.settings.name:
                raise
            reason = error.what
    return Verdict("", "", reason) if reason else Verdict(*labels)


def _judgement(shown: Shown, verdict: Verdict, name: str, who: AnnotatorKey, inconsistent: str) -> Judgement:
    prompt, pair = shown
    value = verdict.value
    if value is None and inconsistent == "tie":
        value = 0.5
    item = Item(prompt.key, pair.system, pair.image, pair.image_b, system_b=pair.system_b)
    at = f"{name}, {prompt.key.ref}, {pair.system} and {pair.system_b}"
    skipped = "it depends on the order" if value is None else None
    return Judgement(name, item, value, who, skipped=skipped, at=at)


def _question(name: str, asked: _Judge) -> Question:
    return Question(name, "ordinal", 0, 1, wording=asked.rubric, direction="none")


def _refuse_mixing(study: Study, name: str, mix: bool) -> None:
    if mix or name not in {asked.name for _, asked in reading.questions(study)}:
        return
    machines = set(machine_keys(study))
    if any(who not in machines for who in reading.ballots(study, name)["annotator_id"].to_list()):
        raise ConflictError(
            f"people voted on {name!r}: their votes and those of a model would become one truth",
            where=study.name,
            remedy="Store the votes on another question (--question), or allow it with --mix.",
        )


def _digest(asked: _Judge) -> str:
    settings = [asked.rules, asked.temperature, asked.max_tokens, asked.seed, asked.side]
    return hashlib.sha256(json.dumps(settings).encode()).hexdigest()[:8]


def _rubric(path: str | None) -> str:
    if path is None:
        return BETTER
    if content_hash(path) is None:
        raise DataError("there is no such rubric file", where=path, remedy="Write one as plain text.")
    text = read_regular(Path(path), most=MOST_RUBRIC).decode("utf-8", "replace").strip()
    if not text:
        raise UsageError("the rubric is empty", where=path, remedy="Write which of two images is better.")
    return text
