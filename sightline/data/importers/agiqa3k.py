"""AGIQA-3K: opinion scores of quality and alignment for 2,982 generated images."""

from __future__ import annotations

from collections.abc import Iterator

from sightline.data.sources import Once, Row, Source
from sightline.data.sources.plain import Pictures
from sightline.errors import DataError
from sightline.extension import importer
from sightline.records import (
    Answer,
    Image,
    ImageKey,
    Item,
    Prompt,
    PromptKey,
    Question,
    Record,
    System,
    Truth,
)
from sightline.statistics.intervals import published_interval

TABLE = "data.csv"
PARTS = ("adj1", "adj2", "style")
TRUTHS = {"mos_quality": "quality", "mos_align": "alignment"}
DEVIATIONS = {"mos_quality": "std_quality", "mos_align": "std_align"}
COLUMNS = ("name", "prompt", *PARTS, *TRUTHS)
KNOWN = (*COLUMNS, *DEVIATIONS.values())
VIEWERS = 21
ROWS = 2_982
QUESTIONS = (
    Question("quality", "interval", 0.0, 5.0, wording="How good does the image look?"),
    Question("alignment", "interval", 0.0, 5.0, wording="How well does the image fit its prompt?"),
)


def claims(source: Source) -> float:
    """A table with AGIQA-3K's columns, or a folder with such a data.csv."""
    return 0.95 * source.has_table(TABLE, COLUMNS)


@importer(
    claims=claims,
    source="Li et al. 2023, AGIQA-3K (lcysyzxdxc/AGIQA-3k-Database)",
    licence="MIT",
    version=2,
    files={
        "data.csv": "name,prompt,adj1,adj2,style,mos_quality,mos_align\n"
        'sd1.5_lowstep_007.jpg,"a cat, soft light, anime style",soft light,,anime style,1.5,2.5\n'
        'AttnGAN_normal_007.jpg,"a cat, soft light, anime style",soft light,,anime style,0.5,0\n'
        "AttnGAN_normal_008.jpg,a dog,,,,1,5\n"
    },
    parameters={"partial": True},
)
def agiqa3k(
    source: Source, *, suite: str = "agiqa3k", collection: str = "agiqa3k", partial: bool = False
) -> Iterator[Record]:
    """AGIQA-3K: data.csv with the MOS of quality and alignment; images next to it or in images/, or by name.

    `sd1.5_lowstep_017.jpg` is the answer of the system `sd1.5_lowstep` to prompt `017`: a system at another
    setting is another system, and the answer's settings tell the two apart. The intervals are those of the
    published standard deviations (std_quality, std_align) over the paper's 21 viewers; without these columns
    there are none. `partial` admits a table with fewer rows than published.
    """
    table = source.one_file(TABLE) or TABLE
    under = "images/" if source.folders() and source.pictures("images") else ""
    pictures = Pictures(source, names_only=False)
    for question in QUESTIONS:
        yield question._replace(at=f"{table}:1")
    once, names, row = Once(), set(), None
    for row in source.rows(table, required=COLUMNS, known=KNOWN):
        name = row.text("name")
        if name in names:
            raise row.error(f"{name} is there twice", "Take one of the rows out.")
        names.add(name)
        model, setting, ref = _parts(row)
        system, key = f"{model}_{setting}", PromptKey(suite, ref)
        if once.new(system):
            yield System(system, at=row.at)
        prompt = _prompt(row, key)
        if once.new((key, prompt.text, *prompt.tags.items())):
            yield prompt
        image = ImageKey(collection, name)
        yield Image(image, pictures.path(under + name, row.at), at=row.at)
        yield Answer(key, system, 0, image, settings={"model": model, "setting": setting}, at=row.at)
        for column, asked in TRUTHS.items():
            yield _truth(row, column, asked, Item(key, system, image))
    if len(names) != ROWS and not partial:
        raise DataError(
            f"{len(names):,} rows, where AGIQA-3K has {ROWS:,}",
            where=row.at if row is not None else table,
            remedy="Obtain the file again; to import a part of it: --option partial=true",
        )


def _parts(row: Row) -> tuple[str, str, str]:
    parts = row.text("name").rpartition(".")[0].rsplit("_", 2)
    if len(parts) != 3 or not all(parts) or not parts[2].isdecimal():
        raise row.wrong("name", "system_setting_index.jpg", "Is it the file of another data set?")
    return parts[0], parts[1], parts[2]


def _prompt(row: Row, key: PromptKey) -> Prompt:
    tags = {name: value for name in PARTS if (value := row.text(name, None)) is not None}
    # The paper's "prompt length": how many details and styles follow the subject.
    return Prompt(key, row.text("prompt"), {**tags, "length": str(len(tags))}, at=row.at)


def _truth(row: Row, column: str, question: str, subject: Item) -> Truth:
    value = row.number(column)
    if not 0 <= value <= 5:
        raise row.wrong(column, "between 0 and 5", "Correct the score.")
    sd = row.number(DEVIATIONS[column], None)
    if sd is None:
        return Truth(question, subject, value, at=row.at)
    if sd < 0:
        raise row.wrong(DEVIATIONS[column], "0 or more", "Correct the deviation.")
    low, high = published_interval(value, sd, VIEWERS, low=0.0, high=5.0) or (None, None)
    return Truth(question, subject, value, low, high, VIEWERS, at=row.at)
