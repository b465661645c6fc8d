"""Deciding every answer of a study: detectors look once per content, verdicts are kept batch by batch."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sightline import registry
from sightline.demands import CANNOT_TELL, Expects, Scene, Verdict, read_expects
from sightline.errors import DataError, MissingPackage, UsageError
from sightline.extension import Configured
from sightline.records import NoValue
from sightline.skills.deciding import STANDARD, chosen, combined, decided
from sightline.skills.looking import SEES, look
from sightline.skills.matches import VERDICT
from sightline.study import reading, scores
from sightline.study.running.progress import Listener, Meter
from sightline.study.scores import ERROR, Outcome, Target
from sightline.study.study import Study
from sightline.study.writing.scenes import scenes_hash

NOTHING = "nothing"
"""The detector that sees nothing: it stands for one that is not wanted or not installed."""
USUAL = {"objects": "ssd_mobilenet_v2(least=0.1)", "text": "rapidocr"}
"""The settings that docs/verdicts.md has figures of: objects the detector is unsure of are cannot tell."""
BATCH = 64
VERSION = 1
"""Counts changes of how demands are combined: a verdict of an older version is decided again."""
LONGEST = 300
"""Characters of a reason that are kept with a score; the evidence has all of it."""


@dataclass(frozen=True)
class Way:
    """A way of deciding: who looks for objects and reads text, and the verdict of each kind of demand."""

    detectors: Sequence[Configured]
    verdicts: Mapping[str, Configured]

    @property
    def name(self) -> str:
        parts = [each.short for each in self.detectors] or [NOTHING]
        parts += [each.short for each in self.verdicts.values() if each.short not in STANDARD]
        return f"{VERDICT} by {', '.join(parts)}"

    def identity(self, study: Study) -> str:
        """sha256 of everything that a verdict depends on besides the prompt and the image."""
        parts: dict[str, object] = {
            "kind": VERDICT,
            "version": VERSION,
            "detectors": [each.identity for each in self.detectors],
            "verdicts": {kind: each.identity for kind, each in sorted(self.verdicts.items())},
        }
        if self.of_study:
            parts["scenes"] = scenes_hash(study)
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()

    @property
    def of_study(self) -> bool:
        """Whether it rests on what the study itself knows of its images."""
        return any(each.spec.details["of_study"] for each in self.detectors)

    @property
    def looks_at_pictures(self) -> bool:
        return any(each.spec.details["looks_at_picture"] for each in self.verdicts.values())


@dataclass
class Decided:
    """What a run did: answers, those cached and decided now, what was dropped, and boxes off the image."""

    way: Way
    identity: str
    total: int = 0
    known: int = 0
    computed: int = 0
    dropped: Counter[str] = field(default_factory=Counter)
    boxes: Counter[str] = field(default_factory=Counter)


def way_of(detector: str | None, reader: str | None, verdicts: Sequence[str] = ()) -> tuple[Way, list[str]]:
    """The way of deciding that was asked for, and what is not installed here and so left out."""
    notes: list[str] = []
    looks = _detector("objects", detector, notes)
    both = looks is not None and "text" in looks.spec.details["sees"]
    reads = None if both and reader is None else _detector("text", reader, notes)
    return Way([each for each in (looks, reads) if each is not None], chosen(tuple(verdicts))), notes


def _detector(sees: str, asked: str | None, notes: list[str]) -> Configured | None:
    if asked == NOTHING:
        return None
    configured = registry.configure("detector", asked or USUAL[sees])
    if sees not in configured.spec.details["sees"]:
        raise UsageError(
            f"{configured.name} does not look for {sees}",
            remedy=f"It looks for {' and '.join(configured.spec.details['sees'])}: sightline list detector",
        )
    try:
        configured.require()
    except MissingPackage as error:
        if asked is not None:
            raise
        notes.append(f"Nobody looks for {sees}, which cannot be decided then: {error.what}. {error.remedy}")
        return None
    return configured


def decide_answers(study: Study, way: Way, listener: Listener | None = None) -> Decided:
    """Bring the verdicts on all answers up to date; what is known is not decided again.

    Whatever is killed, at most the batch under way is lost: what detectors saw and what was decided is
    committed batch by batch.
    """
    identity = way.identity(study)
    measure_id = scores.register_as(study, VERDICT, way.name, identity)
    if way.of_study:
        _forget_other_scenes(study, way, identity)
    ran = Decided(way, identity, scores.count_items(study, "of_answer"))
    meter = Meter(way.name, ran.total, listener)
    for page in scores.pages(study, "of_answer"):
        todo, copies = scores.known(study, measure_id, page)
        ran.dropped += scores.write(study, measure_id, copies)
        ran.known += len(page) - len(todo)
        meter.add(known=len(page) - len(todo))
        for start in range(0, len(todo), BATCH):
            batch = todo[start : start + BATCH]
            ran.dropped += scores.write(study, measure_id, _decided(study, way, batch, ran))
            ran.computed += len(batch)
            meter.add(computed=len(batch))
    meter.finish()
    return ran


def _forget_other_scenes(study: Study, way: Way, identity: str) -> None:
    """Verdicts of the same way on what the study knew before hold no longer."""
    for kind, name, other in reading.measures(study).select("kind", "measure", "identity").iter_rows():
        if (kind, name) == (VERDICT, way.name) and other != identity:
            scores.clear(study, other)


def _decided(study: Study, way: Way, batch: Sequence[Target], ran: Decided) -> list[tuple[Target, Outcome]]:
    """What is decided of a batch; each image is looked at for what its prompt demands, and no more."""
    results: list[tuple[Target, Outcome]] = []
    groups: dict[tuple[bool, bool], list[tuple[Target, Expects]]] = {}
    for target in batch:
        assert target.prompt is not None
        try:
            expects = read_expects(target.prompt.expects, f"prompt {target.prompt.key.ref}")
        except DataError as error:
            why = f"{CANNOT_TELL}: what the prompt expects cannot be read: {error.what}"
            results.append((target, Outcome(None, why[:LONGEST])))
            continue
        kinds = {demand.kind for demand in expects.demands()}
        groups.setdefault((bool(kinds - {"text"}), "text" in kinds), []).append((target, expects))
    for needed, members in groups.items():
        scenes = _scenes(study, way, needed, members, ran)
        for (target, expects), scene in zip(members, scenes, strict=True):
            if isinstance(scene, NoValue):
                results.append((target, Outcome(None, f"{ERROR}{scene.reason}")))
                continue
            results.append((target, outcome_of(combined(expects, decided(expects, scene, way.verdicts)))))
    return results


def _scenes(
    study: Study,
    way: Way,
    needed: tuple[bool, bool],
    members: Sequence[tuple[Target, Expects]],
    ran: Decided,
) -> Sequence[Scene | NoValue]:
    what = {name for name, wanted in zip(SEES, needed, strict=True) if wanted}
    useful = [each for each in way.detectors if what & set(each.spec.details["sees"])]
    if not useful:
        return [Scene()] * len(members)
    asks = [(target.contents[0], expects) for target, expects in members]
    looked = look(study, asks, useful, pictures=way.looks_at_pictures)
    ran.boxes += Counter(clipped=looked.clipped, dropped=looked.dropped)
    return looked.scenes


def outcome_of(found: Verdict) -> Outcome:
    """A verdict as it is kept: 1 or 0, or no value and why it cannot be decided, with its evidence."""
    reason = None if found.value is not None else f"{CANNOT_TELL}: {found.why}"[:LONGEST]
    return Outcome(found.value, reason, found.evidence())
