"""Whether the words asked for can be read."""

from __future__ import annotations

from sightline.demands import CANNOT_TELL, NO, YES, Demand, Line, Mark, Scene, Verdict
from sightline.errors import UsageError
from sightline.extension import verdict
from sightline.language.edits import letters, nearest_words
from sightline.skills.verdicts._looking import nobody_looked


@verdict(
    decides="text",
    skills=("text_rendering",),
    source="ours; Levenshtein's distance (Wagner and Fischer 1974)",
    licence="Apache-2.0",
)
def text(
    demand: Demand,
    scene: Scene,
    *,
    edits: int = 0,
    sure: float = 0.9,
    doubt: float = 0.25,
    case: bool = False,
) -> Verdict:
    """Whether the words asked for stand in the image, by their edit distance to what is read there.

    Compared are whole words that stand together; spaces, punctuation and, unless `case` is true, capital
    letters do not count. Yes with at most `edits` letters wrong. A reader makes mistakes of its own: cannot
    tell where at most a fraction `doubt` of the letters is wrong and the line was read with a confidence
    below `sure`. Otherwise no, also where nothing is read.
    """
    if edits < 0 or not 0 <= sure <= 1 or not 0 <= doubt <= 1:
        raise UsageError(
            f"text: edits={edits}, sure={sure}, doubt={doubt}",
            remedy="For example edits=0, sure=0.9, doubt=0.25.",
        )
    if scene.lines is None:
        return nobody_looked("text")
    goal = letters(demand.text, case=case)
    if not goal:
        return Verdict(CANNOT_TELL, "The words asked for have no letter and no digit.")
    lines = _in_reading_order(scene.lines)
    read = tuple(line.text for line in lines)
    boxes = tuple(Mark(f"text: {line.text}", line.box, line.confidence) for line in lines if line.box)
    if not lines:
        return Verdict(NO, "No text is read.")
    wrong, (start, end) = nearest_words(demand.text, read, case=case)
    used = [line.confidence for line in lines[start:end] if line.confidence is not None]
    confidence = min(used, default=None)
    shown = " ".join(read[start:end]) or " ".join(read)
    if wrong <= edits:
        return Verdict(YES, f"{shown!r} is read.", confidence, boxes, read)
    why = f"{shown!r} is read: {wrong} of {len(goal)} letters differ."
    if wrong <= doubt * len(goal) and confidence is not None and confidence < sure:
        return Verdict(
            CANNOT_TELL, f"{why[:-1]}, which may be the reader's mistake.", confidence, boxes, read
        )
    return Verdict(NO, why, confidence, boxes, read)


def _in_reading_order(lines: tuple[Line, ...]) -> list[Line]:
    """From top to bottom, and from left to right where lines stand at about the same height."""
    placed = [line for line in lines if line.box is not None]
    if len(placed) < len(lines):
        return list(lines)
    rows: list[list[Line]] = []
    for line in sorted(placed, key=_middle):
        if rows and line.box and rows[-1][0].box and _middle(line) < rows[-1][0].box[3]:
            rows[-1].append(line)
        else:
            rows.append([line])
    return [line for row in rows for line in sorted(row, key=lambda each: each.box[0] if each.box else 0.0)]


def _middle(line: Line) -> float:
    return (line.box[1] + line.box[3]) / 2 if line.box else 0.0
