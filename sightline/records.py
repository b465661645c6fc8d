"""What flows through the house: the records importers give, stages pass on and extensions receive.

Records are named tuples: a million of them are made in a second, and none can be changed on the way.
`at` says where a record came from (`file:line`), so that an error can name it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    import numpy as np

    from sightline.estimate import Direction
from sightline.pictures import Picture

NOTHING: Mapping[str, Any] = {}


class PromptKey(NamedTuple):
    """A prompt by its suite and its id there."""

    suite: str
    ref: str


class PromptText(NamedTuple):
    """A prompt by its wording, for data that gives no ids; must fit exactly one prompt of the study."""

    text: str
    suite: str | None = None


class ImageKey(NamedTuple):
    """An image by its collection and its name there, whether or not its bytes are at hand."""

    collection: str
    name: str


class AnnotatorKey(NamedTuple):
    """An annotator by panel and name: published data reuses the same ids in different tests."""

    panel: str
    name: str


class Prompt(NamedTuple):
    """A text that systems answer with images; `translations` has it in other languages, by BCP 47 code."""

    key: PromptKey
    text: str
    tags: Mapping[str, str] = NOTHING
    links: Sequence[tuple[str, PromptKey]] = ()
    expects: Mapping[str, Any] | None = None
    at: str = ""
    translations: Mapping[str, str] = NOTHING


class Image(NamedTuple):
    """An image of a collection; `path` names the file to take its bytes from, if there is one.

    `data` are the bytes themselves, where a table or an archive holds them.

    `scene` is what is known to be in it: {"objects": [{"kind": "dog", "box": [left, top, right, bottom]}]},
    boxes as fractions of its width and height; `kind` and `colour` mean the same as in a prompt's `expects`.
    """

    key: ImageKey
    path: str | None = None
    captions: Sequence[str] = ()
    at: str = ""
    scene: Mapping[str, Any] | None = None
    tags: Mapping[str, str] = NOTHING
    data: bytes | None = None


class ImageTag(NamedTuple):
    """A tag of an image: as the answer to one prompt, or whatever it answers."""

    image: ImageKey
    name: str
    value: str
    prompt: PromptKey | None = None
    at: str = ""


class System(NamedTuple):
    """A generator, or a retriever together with the collection it searches."""

    name: str
    kind: str = "generator"
    collection: str | None = None
    at: str = ""


class Answer(NamedTuple):
    """One image a system answered a prompt with, or the reason why it gave none."""

    prompt: PromptKey | PromptText
    system: str
    position: int
    image: ImageKey | None
    score: float | None = None
    seed: int | None = None
    settings: Mapping[str, Any] | None = None
    failure: str | None = None
    at: str = ""


class Question(NamedTuple):
    """What people are asked, on which scale, and which end of it is good."""

    name: str
    scale: str = "interval"
    low: float | None = None
    high: float | None = None
    step: float | None = None
    labels: Mapping[str, str] = NOTHING
    wording: str = ""
    direction: Direction = "higher"
    at: str = ""

    @property
    def assumed(self) -> bool:
        """Whether it is as questions about pairs or orders are assumed to be where nothing is said."""
        return self._replace(at="") in (preference_question(self.name), order_question(self.name))


BOTH_BAD = "both_bad"
"""The verdict that neither side of a pair is good: a judgement without a value, skipped for this reason."""


def preference_question(name: str, at: str = "") -> Question:
    """A question about pairs as it is assumed to be where nothing is said: 0 first, 1 second, .5 a tie."""
    return Question(name, "ordinal", 0, 1, direction="none", at=at)


def order_question(name: str, at: str = "") -> Question:
    """A question that is answered by an order, as it is assumed to be where nothing is said."""
    return Question(name, "ordinal", 1, None, 1, direction="lower", at=at)


class Item(NamedTuple):
    """What is judged: any of a prompt, a system or two, and one to three images.

    With `image_b` or `system_b` it is a pair; of a preference 0 is a vote for the first, 1 for the second.
    """

    prompt: PromptKey | PromptText | None = None
    system: str | None = None
    image: ImageKey | None = None
    image_b: ImageKey | None = None
    image_c: ImageKey | None = None
    system_b: str | None = None


class Judgement(NamedTuple):
    """One vote, or n equal anonymous votes where only counts were published.

    `group` names what was judged in one look: the order of K images is K judgements of a group, whose values
    are the ranks, 1 for the best.
    """

    question: str
    item: Item
    value: float | None
    annotator: AnnotatorKey | None = None
    n: int = 1
    skipped: str | None = None
    repetition: int = 0
    revision: int = 0
    session: str = ""
    control: bool = False
    took_ms: int | None = None
    time: str | None = None
    at: str = ""
    group: str = ""


class Truth(NamedTuple):
    """A settled value as somebody published it."""

    question: str
    item: Item
    value: float
    low: float | None = None
    high: float | None = None
    n: int | None = None
    rule: str = "published"
    at: str = ""


class Score(NamedTuple):
    """A measure's value that was computed elsewhere, or the reason why there is none.

    It is of a prompt, an image, a system, or of an answer: a prompt with an image or with a system, whose
    answer `position` tells apart where it gave several. With `whole` it is of all of a system's answers to a
    prompt. A score of one of our own measures that comes back from an export says which (`kind`, `version`,
    `identity`) and of which content (`inputs`).
    """

    measure: str
    item: Item
    value: float | None
    reason: str | None = None
    position: int | None = None
    whole: bool = False
    direction: str = ""
    low: float | None = None
    high: float | None = None
    evidence: Mapping[str, Any] | None = None
    kind: str = ""
    version: int = 1
    identity: str = ""
    inputs: int | None = None
    at: str = ""


class Reference(NamedTuple):
    """Distances between images of a reference sample: their shares make the scale W1KP judges distances on.

    `distance` says which distance they are values of, `squared` whether they are its squares.
    """

    name: str
    distance: str
    values: Sequence[float]
    squared: bool = False
    at: str = ""


class Annotator(NamedTuple):
    """What was decided of an annotator: their role, and the reason to count none of their judgements."""

    key: AnnotatorKey
    role: str = "annotator"
    language: str | None = None
    excluded: str | None = None
    at: str = ""


class KnownAnswer(NamedTuple):
    """The right answer to a control item; `kind` says where it comes from, as in `Controls`."""

    question: str
    item: Item
    kind: str
    expected: float
    tolerance: float = 0.0
    at: str = ""


class JudgingRound(NamedTuple):
    """A round as it was opened; what it shows and to whom it was assigned are records of their own."""

    name: str
    mode: str
    questions: Sequence[str]
    settings: Mapping[str, Any]
    seed: int
    state: str
    opened: str
    at: str = ""


class RoundSlot(NamedTuple):
    """One thing to judge at a place of a round; `again_of` is the place that is judged again here."""

    round: str
    place: int
    slot: int
    item: Item
    kind: str = "work"
    control: bool = False
    wanted: int = 1
    again_of: int | None = None
    at: str = ""


class Assignment(NamedTuple):
    """A place of a round as it was assigned; `slots` are its slots as shown: (slot, swapped, repetition)."""

    round: str
    annotator: AnnotatorKey
    number: int
    place: int
    session: int
    state: str
    counted: bool
    assigned: str
    finished: str | None
    took_ms: int | None
    slots: Sequence[tuple[int, bool, int]]
    at: str = ""


class Remark(NamedTuple):
    """What an annotator noted about a task next to their answers.

    `kind` is comment, flag or regions; `boxes` are [left, top, right, bottom] as fractions of the width and
    height of image `part` of what is shown at `slot`. `number` is the annotator's task in the round.
    """

    round: str
    annotator: AnnotatorKey
    number: int
    kind: str
    text: str = ""
    slot: int = 0
    part: int = 0
    boxes: Sequence[Sequence[float]] = ()
    time: str = ""
    at: str = ""


Decided = Annotator | KnownAnswer | JudgingRound | RoundSlot | Assignment | Remark
Fact = Answer | Judgement | Truth | Score | Reference
Record = Prompt | Image | ImageTag | System | Question | Fact | Decided


class Value(NamedTuple):
    """A value with what it rests on (boxes, text, scores)."""

    value: float
    evidence: Mapping[str, Any] | None = None


UNREAD = "unread_tokens"
"""What evidence calls the tokens of a prompt that a model did not read, since it was too long."""


class NoValue(NamedTuple):
    """Why there is no value, with what that rests on. Never a zero in disguise."""

    reason: str
    evidence: Mapping[str, Any] | None = None


class Failure(NamedTuple):
    """Why a generator gave no image."""

    reason: str


class NewPrompt(NamedTuple):
    """A prompt made by a task, with what its images must show and the simpler prompts it builds on."""

    text: str
    tags: Mapping[str, str] = NOTHING
    expects: Mapping[str, Any] | None = None
    builds_on: Sequence[NewPrompt] = ()


class Exclusion(NamedTuple):
    """An annotator whose votes do not count, by which rule, and on which numbers."""

    annotator: AnnotatorKey
    reason: str


class Finding(NamedTuple):
    """What an integrity rule found: how many, a few examples, and what to do.

    `severity` is error, warning or note; left empty it is what the rule declares.
    """

    what: str
    n: int
    examples: Sequence[str] = ()
    remedy: str = ""
    severity: str = ""


class CollectionContext(Protocol):
    """What a measure of a ranking may ask for that is not in the run: looked up, or searched for again."""

    def texts(self) -> Sequence[str]:
        """What was asked, a text a ranking."""

    def caption_words(self) -> tuple[Any, np.ndarray]:
        """Counts of words (a sparse matrix, images x words) and the row of the image at every place.

        The images are all those of the collections that were searched; one without captions has a row of 0.
        """

    def collection_scores(self) -> Sequence[float | NoValue]:
        """For each ranking the mean score that its engine gives to all images of its collection."""

    def asked_again(
        self, k: int, *, noise: str, share: float, seed: int
    ) -> tuple[np.ndarray, np.ndarray, Sequence[str | None]]:
        """Images and offsets of the rankings of the queries with noise on them, and why there is none."""

    def relevance(
        self, predictor: Any, encoder: Any, *, depth: int, min_rel: float, folds: int, seed: int
    ) -> np.ndarray:
        """How probably the image at each place is relevant, given by a predictor that never saw its query.

        NaN at places past `depth`.
        """


@dataclass(frozen=True)
class Rankings:
    """Whole runs as columns: ranked answers of query q are gains[offsets[q]:offsets[q+1]].

    A gain is NaN where nobody judged the image. `ideal` holds every known gain of a query in falling
    order, cut by `ideal_offsets`: what a perfect ranking would look like. `found` is where a measure may
    leave what the next one would have to work out again.

    `scores` (NaN where an engine gave none) and `images` (opaque ids) have one row per place, `prompts` and
    `systems` (opaque ids) one row per ranking; each is None where it is not known, as is what lies `beyond`.
    """

    offsets: np.ndarray
    gains: np.ndarray
    ideal_offsets: np.ndarray
    ideal: np.ndarray
    found: dict[Any, Any] = field(default_factory=dict, compare=False, repr=False)
    scores: np.ndarray | None = None
    images: np.ndarray | None = None
    prompts: np.ndarray | None = None
    systems: np.ndarray | None = None
    beyond: CollectionContext | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Votes:
    """Judgements of one question as columns; `annotator` is -1 where votes are anonymous.

    `control` marks votes on control items: screening looks at them, truth does not. `repetition` numbers the
    times an annotator was asked about the same item on purpose, from 0. `superseded` counts single anonymous
    verdicts that were given again later and do not count any more; `up_to` is the newest judgement that was
    there when they were read. `pairs` has one row per item of a question about pairs: opaque ids of A, the
    side that the top of the scale speaks for, and B. `mirrored` marks votes on a pair whose sides were shown
    the other way round: their value is that of the sides as the item has them.
    """

    item: np.ndarray
    annotator: np.ndarray
    value: np.ndarray
    n: np.ndarray
    session: np.ndarray
    took_ms: np.ndarray
    control: np.ndarray
    repetition: np.ndarray
    items: int
    annotators: Sequence[AnnotatorKey]
    question: Question
    superseded: int = 0
    up_to: int = 0
    pairs: np.ndarray | None = None
    mirrored: np.ndarray | None = None

    @property
    def given(self) -> np.ndarray:
        """The values as they were given, whichever side was shown first."""
        if self.mirrored is None:
            return self.value
        values = self.value.copy()
        low, high = self.question.low or 0.0, 1.0 if self.question.high is None else self.question.high
        values[self.mirrored] = low + high - values[self.mirrored]
        return values

    def where(self, keep: np.ndarray) -> Votes:
        """The votes at which `keep` is true; items and annotators keep their numbers."""
        columns = ("item", "annotator", "value", "n", "session", "took_ms", "control", "repetition")
        mirrored = None if self.mirrored is None else self.mirrored[keep]
        return replace(self, mirrored=mirrored, **{name: getattr(self, name)[keep] for name in columns})


@dataclass(frozen=True)
class Settled:
    """One settled value an item, NaN where there is none and `reason` says why.

    `n` counts the votes that were used; `left_out` names annotators whose votes the rule could not use.
    """

    value: np.ndarray
    low: np.ndarray
    high: np.ndarray
    n: np.ndarray
    reason: Sequence[str | None]
    left_out: Sequence[Exclusion] = ()


@dataclass(frozen=True)
class Controls:
    """Items whose right answer is known beforehand, as columns: one row per item and voucher.

    `kind` says where the answer comes from: "known" (given by the study's owner), "attention" (made so that
    it is plain: an image next to itself), "reference" (the photo the prompt was written for, hidden among the
    others) or "annotator" (a trusted person judged it beforehand). `by` names the voucher: the trusted
    person's name, or the kind again.
    """

    item: np.ndarray
    expected: np.ndarray
    tolerance: np.ndarray
    kind: Sequence[str]
    by: Sequence[str]


@dataclass(frozen=True)
class Examples:
    """What a predictor may see. Truth is not among it: the runner cuts the folds."""

    prompts: Sequence[Prompt]
    features: np.ndarray
    feature_names: Sequence[str]
    pictures: Sequence[Sequence[Picture]] = ()
    vectors: Mapping[str, np.ndarray] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.prompts)

    def take(self, rows: np.ndarray) -> Examples:
        """The examples at these rows, in this order."""
        chosen = [int(row) for row in rows]
        return Examples(
            prompts=[self.prompts[row] for row in chosen],
            features=self.features[rows],
            feature_names=self.feature_names,
            pictures=[self.pictures[row] for row in chosen] if self.pictures else (),
            vectors={name: values[rows] for name, values in self.vectors.items()},
        )


class Example(NamedTuple):
    """A worked example shown with the instructions: what there is to see, the right answer, and why."""

    shown: str
    answer: str
    why: str = ""


@dataclass(frozen=True)
class Mode:
    """How a page of judging looks: data only, rendered by one generic page.

    `layout` is grid (several images of one prompt), single, pair, triplet (a reference with two images) or
    order (images of one prompt by different systems, each of which gets a place, 1 for the best);
    `images` counts the things that are judged on a page. `keys` are shortcuts of its own, a key and the value
    it stands for; they win over the generic ones (numbers choose labels, arrows move, u undoes, z
    enlarges, s skips, Enter goes on). `shows_prompt` is false where the text would only lead astray.
    `reference` hides the photo that the prompt was written for among the images. `linked` lets the images of
    the prompts that this one builds on be opened next to it. With `swaps` A and B change places at random,
    and the answer with them. `attention` is the answer to a page on which A (or the whole pair) is the
    reference itself. `compares` says where a pair, or A and B of a triplet, come from: "images" of one
    system, or "systems". `both_bad` are the words of an answer that neither image of a pair is good.
    """

    layout: str
    images: int
    questions: Sequence[Question]
    keys: Mapping[str, str]
    instructions: str
    examples: Sequence[Example] = ()
    shows_prompt: bool = True
    reference: bool = False
    linked: bool = False
    swaps: bool = False
    attention: float | None = None
    compares: str = "images"
    both_bad: str = ""


@dataclass(frozen=True)
class Candidates:
    """The images a retriever may answer with, in a fixed order.

    `folder` is where a retriever may keep what it makes of these pictures with its encoder, such as an index:
    the next search of the same pictures with the same encoder gets the same folder. `run` applies a function
    that can be pickled to each of several parts, perhaps on other machines, and gives the results in order.
    """

    keys: Sequence[ImageKey]
    captions: Sequence[Sequence[str]]
    pictures: Sequence[Picture | None]
    folder: Path | None = None
    run: Callable[[Callable[[Any], Any], Sequence[Any]], Iterable[Any]] | None = None


class Retrieved(NamedTuple):
    """What a retriever may give instead of the plain pair of indices and scores.

    `recall` holds for each query the proportion of the exact first k images that were found, NaN where it was
    not checked; None says that every image was compared. `how` says how the search was done, for readers.
    """

    indices: np.ndarray
    scores: np.ndarray
    recall: np.ndarray | None = None
    how: str = ""
