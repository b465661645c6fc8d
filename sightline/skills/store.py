"""What the database knows of corrections: judgements that the owner made of a verdict."""

from __future__ import annotations

from sightline.judging.store.overseeing import CORRECTION
from sightline.study import reading
from sightline.study.study import Study


def only_corrected(study: Study, question: str) -> set[tuple[int, int]]:
    """Prompt and image of items that nobody judged by this question but the owner, to correct a verdict."""
    rows = reading.fetch_rows(
        study,
        "SELECT s.prompt_id, s.image_id FROM item s WHERE EXISTS (SELECT 1 FROM judgement j "
        "JOIN question q ON q.id = j.question_id WHERE j.item_id = s.id AND q.name = :question "
        "AND j.session = :session) AND NOT EXISTS (SELECT 1 FROM judgement j JOIN question q "
        "ON q.id = j.question_id WHERE j.item_id = s.id AND q.name = :question AND j.session <> :session)",
        question=question,
        session=CORRECTION,
    )
    return {(int(prompt), int(image)) for prompt, image in rows}


def corrections(study: Study, question: str) -> dict[tuple[int, int], float]:
    """The latest correction of each answer, by prompt and image."""
    rows = reading.fetch_rows(
        study,
        "SELECT s.prompt_id, s.image_id, j.value FROM judgement j JOIN item s ON s.id = j.item_id "
        "JOIN question q ON q.id = j.question_id WHERE q.name = :question AND j.session = :session "
        "AND j.value IS NOT NULL ORDER BY j.id",
        question=question,
        session=CORRECTION,
    )
    return {(int(prompt), int(image)): float(value) for prompt, image, value in rows}
