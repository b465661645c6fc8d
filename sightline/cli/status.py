"""sightline status: what is in a study, and what comes next."""

from __future__ import annotations

from sightline.cli._app import command
from sightline.cli._options import AsCsv, AsJson, StudyAt
from sightline.cli._output import Output, quoted

KINDS = {
    "prompt": "prompts",
    "system": "systems",
    "answer": "answers",
    "image": "images",
    "image_file": "images with their file",
    "question": "questions",
    "annotator": "annotators",
    "judgement": "judgements",
    "truth": "truths",
    "measure": "measures",
    "score": "scores",
    "prediction": "predictions",
}


@command("status")
def status(study: StudyAt, json: AsJson = False, csv: AsCsv = False) -> None:
    """Tell what is in a study, and what comes next."""
    from sightline.rendering.tables import Column, Table
    from sightline.report.status import status as look
    from sightline.study.study import open_study

    output = Output(json=json, csv=csv)
    with open_study(study) as opened:
        found = look(opened)
    command_line = found.next_command.replace("{study}", quoted(study))
    counts = [(name, found.counts[kind]) for kind, name in KINDS.items() if found.counts.get(kind)]
    tables = {
        "counts": Table([Column("what"), Column("n")], counts, f"The study {found.study}"),
        "systems": Table(
            [Column("system"), Column("kind"), Column("answers")], [tuple(row) for row in found.systems]
        ),
        "imports": Table(
            [Column("number"), Column("layout"), Column("path"), Column("at")],
            [tuple(row) for row in found.sources],
            "Imports",
        ),
    }
    if not counts:
        output.say(f"The study {found.study} is empty.")
    output.show(
        tables,
        study=found.study,
        database=found.database,
        questions=list(found.questions),
        notes=list(found.notes),
        next={"command": command_line, "why": found.next_why},
    )
    output.say(*found.notes)
    output.next(command_line, found.next_why)
