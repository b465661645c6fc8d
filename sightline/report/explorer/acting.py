"""What is done with chosen rows: tag them, mark failures, correct verdicts, send them to a round."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from urllib.parse import urlencode

import numpy as np

from sightline import judging
from sightline.errors import UsageError
from sightline.estimate import plural
from sightline.report.explorer.snapshot import Snapshot
from sightline.report.explorer.views import Acted
from sightline.report.store.columns import Ints
from sightline.skills.correcting import correct_verdicts, correction_question
from sightline.study.study import Study
from sightline.study.writing.image_tags import set_image_tags
from sightline.study.writing.settling import note_events

FAILURE = "failure"
"""The tag of what its owner calls a failure; its value says why."""
YES = "yes"
LONGEST = 200
ROUND_TAG = "round."
ROUND_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")


def tag(study: Study, held: Snapshot, rows: Ints, name: str, value: str) -> Acted:
    """Give the images of these rows a tag: of an answer, as the answer to its prompt."""
    name, value = _said(name, "a tag needs a name"), _said(value or YES, "a tag needs a value")
    items, skipped = _items(held, rows)
    set_image_tags(study, items, name, value)
    _note(study, "tag", name, value, items)
    what = "marked as failures" if name == FAILURE else f"tagged {name} = {value}"
    return Acted(
        len(items),
        _sentence(f"{plural(len(items), 'image')} {what}.", skipped),
        f"/view?{urlencode({f'f.tag:{name}': value})}" if items else None,
        skipped=skipped,
    )


def untag(study: Study, held: Snapshot, rows: Ints, name: str) -> Acted:
    """Take a tag away from the images of these rows; a tag that their prompt has stays."""
    name = _said(name, "a tag needs a name")
    items, skipped = _items(held, rows)
    # It may be of the image whatever it answers.
    both = list(dict.fromkeys([*items, *((image, 0) for image, _ in items)]))
    set_image_tags(study, both, name, None)
    _note(study, "untag", name, None, items)
    what = "no longer marked as failures" if name == FAILURE else f"without the tag {name}"
    return Acted(len(items), _sentence(f"{plural(len(items), 'image')} {what}.", skipped), skipped=skipped)


def send_to_round(study: Study, held: Snapshot, rows: Ints, name: str, mode: str, per_item: int) -> Acted:
    """Declare a round of exactly the images of these rows: they get a tag, and the round asks for it."""
    if not ROUND_NAME.fullmatch(name):
        raise UsageError(
            f"a round cannot be called {name[:80]!r}",
            remedy="Letters and digits, with dots, dashes and underscores between them, 64 at most.",
        )
    items, skipped = _items(held, rows, judged=True)
    if not items:
        raise UsageError(
            "none of these can be judged",
            remedy="A round shows images that answer a prompt and can be shown.",
        )
    judging.declare_round(study, mode, name, where=f"tag:{ROUND_TAG}{name}", per_item=per_item)
    set_image_tags(study, items, f"{ROUND_TAG}{name}", YES)
    _note(study, "send_to_round", name, mode, items)
    return Acted(
        len(items),
        _sentence(f"The round {name} has {plural(len(items), 'image')}.", skipped),
        f"/view?{urlencode({f'f.tag:{ROUND_TAG}{name}': YES})}",
        f"sightline annotate {shlex.quote(study.address)} --round {name}",
        skipped,
    )


def correct(study: Study, held: Snapshot, rows: Ints, value: str) -> Acted:
    """Say what is right where a verdict is wrong: yes, no, or the opposite of what it is now.

    It becomes a judgement of the owner; the verdict stays as it is.
    """
    items, skipped = _items(held, rows)
    pairs = [(prompt, image) for image, prompt in items if prompt]
    now = correct_verdicts(study, pairs, value)
    left = len(items) - len(now)
    skipped |= {"answers without a verdict": left} if left else {}
    if not now:
        raise UsageError("there is no verdict to correct here", remedy="Run sightline verify first.")
    said = " and ".join(sorted({f"{what} {n}" if len(now) > 1 else what for what, n in _counted(now)}))
    done = f"{plural(len(now), 'verdict')} corrected to {said}, as your judgement of {_asked(study)}."
    _note(study, "correct", "verdict", value or "opposite", items)
    return Acted(len(now), _sentence(done, skipped), skipped=skipped)


def _counted(now: Mapping[tuple[int, int], str]) -> list[tuple[str, int]]:
    return list(Counter(now.values()).items())


def _asked(study: Study) -> str:
    return correction_question(study).name


def _items(held: Snapshot, rows: Ints, judged: bool = False) -> tuple[list[tuple[int, int]], dict[str, int]]:
    """What the rows stand for as (image, prompt or 0), and how many stand for nothing, by reason."""
    table = held.table.rows
    skipped: Counter[str] = Counter()
    usable = table.image[rows] > 0
    skipped["failed answers"] = int(np.count_nonzero(~usable))
    if judged:
        bad = usable & (table.no_file[rows] | table.defect[rows])
        alone = usable & ~bad & (table.prompt[rows] == 0)
        skipped["images that cannot be shown"] = int(np.count_nonzero(bad))
        skipped["images without a prompt"] = int(np.count_nonzero(alone))
        usable &= ~bad & ~alone
    chosen = rows[usable]
    pairs = zip(table.image[chosen].tolist(), table.prompt[chosen].tolist(), strict=True)
    return list(dict.fromkeys(pairs)), {why: n for why, n in skipped.items() if n}


def _said(text: str, need: str) -> str:
    said = text.strip()
    if not said or len(said) > LONGEST:
        raise UsageError(need, remedy=f"Between 1 and {LONGEST} characters.")
    return said


def _sentence(done: str, skipped: dict[str, int]) -> str:
    left = ", ".join(f"{n:,} {why}" for why, n in skipped.items())
    return f"{done} Left out: {left}." if left else done


def _note(study: Study, what: str, name: str, value: str | None, items: Sequence[tuple[int, int]]) -> None:
    """What the owner did goes into the study's log."""
    note_events(study, "view", what, [{"name": name, "value": value, "images": len(items)}])
