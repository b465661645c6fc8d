"""Flickr8k: photos with five captions, and what experts and crowd say of captions and photos."""

from __future__ import annotations

from collections.abc import Iterator

from sightline.data.sources import Row, Source
from sightline.data.sources.plain import Pictures, fits
from sightline.extension import importer
from sightline.records import (
    Image,
    ImageKey,
    Item,
    Judgement,
    Prompt,
    PromptKey,
    Question,
    Record,
    Truth,
)

CAPTIONS = "captions.csv"
EXPERTS = "expert_ratings.csv"
CROWD = "crowdflower.csv"
FILES = (CAPTIONS, EXPERTS, CROWD)
SEATS = ("e1", "e2", "e3")
OF_A_CAPTION = ("image", "n", "caption")
OF_A_PAIR = ("image", "caption_id", "caption")
OF_THE_CROWD = (*OF_A_PAIR, "frac_yes", "n_yes", "n_no")
A_PHOTO = 5
QUESTIONS = (
    Question("relevance", "ordinal", 0.0, 1.0, 1.0, wording="Is the image relevant to the caption?"),
    Question(
        "expert_fit",
        "ordinal",
        1.0,
        4.0,
        1.0,
        {"1": "not at all", "2": "in some respects", "3": "with small errors", "4": "without error"},
        "How well does the caption describe the photo?",
    ),
    Question(
        "crowd_fit",
        "nominal",
        0.0,
        1.0,
        1.0,
        {"1": "yes", "0": "no"},
        "Does the caption describe the photo?",
    ),
)


def claims(source: Source) -> float:
    """Two of captions.csv, expert_ratings.csv and crowdflower.csv in a folder, or a table of judged pairs.

    Such a table alone is refused, but is not to be taken for captions: most of its captions are of others.
    """
    in_folder = not source.is_file and sum(map(source.has, FILES)) >= 2
    return 0.95 * (in_folder or fits(source, *OF_A_PAIR))


@importer(
    claims=claims,
    source="Hodosh, Young and Hockenmaier 2013, Flickr8k",
    licence="research use",
    files={
        "flickr8k/captions.csv": "image,n,caption\n"
        + "".join(f"{photo}.jpg,{n},{photo} {n}\n" for photo in ("cat", "dog") for n in range(5)),
        "flickr8k/expert_ratings.csv": "image,caption_id,caption,e1,e2,e3\ncat.jpg,dog.jpg#2,dog 2,1,1,2\n",
        "flickr8k/crowdflower.csv": "image,caption_id,caption,frac_yes,n_yes,n_no\n"
        "cat.jpg,cat.jpg#2,cat 2,1.0,3,0\ncat.jpg,dog.jpg#2,dog 2,0.333333333333333,1,2\n",
    },
)
def flickr8k(source: Source, *, suite: str = "flickr8k", collection: str = "flickr8k") -> Iterator[Record]:
    """Flickr8k: a collection of photos with five captions each; every caption is a prompt for retrieval.

    The photo a caption was written for is its relevant image (rule `own_caption`). The three ratings of an
    expert row stand in rising order, so that a column is nobody in particular: all votes are anonymous, those
    of the crowd as counts.
    """
    source.need(FILES, of="Flickr8k", also=", and the photos into images/")
    for question in QUESTIONS:
        yield question._replace(at=f"{CAPTIONS}:1")
    text_of: dict[str, str] = {}
    yield from _captions(source, suite, collection, text_of)
    yield from _experts(source, suite, collection, text_of)
    yield from _crowd(source, suite, collection, text_of)


def _captions(source: Source, suite: str, collection: str, text_of: dict[str, str]) -> Iterator[Record]:
    pictures = Pictures(source, names_only=False)
    photos: dict[str, list[Row]] = {}
    for row in source.rows(CAPTIONS, required=OF_A_CAPTION, known=OF_A_CAPTION):
        photos.setdefault(row.text("image"), []).append(row)
    for name, rows in photos.items():
        at = rows[0].at
        if sorted(row.count("n", -1) for row in rows) != list(range(A_PHOTO)):
            raise rows[-1].error(
                f"photo {name} has not {A_PHOTO} captions numbered from 0",
                "Obtain the file again: it may be cut short.",
            )
        texts = [row.text("caption") for row in sorted(rows, key=lambda row: row.count("n"))]
        image = ImageKey(collection, name)
        yield Image(image, pictures.path(f"images/{name}", at), texts, at)
        for row in rows:
            key = PromptKey(suite, f"{name}#{row.count('n')}")
            text_of[key.ref] = row.text("caption")
            yield Prompt(key, row.text("caption"), at=row.at)
            yield Truth("relevance", Item(key, image=image), 1.0, rule="own_caption", at=row.at)
    for file in source.pictures("images"):
        if file.removeprefix("images/") not in photos:
            source.skip(file, f"photos that {CAPTIONS} does not name")


def _experts(source: Source, suite: str, collection: str, text_of: dict[str, str]) -> Iterator[Judgement]:
    required = (*OF_A_PAIR, *SEATS)
    pairs: set[Item] = set()
    for row in source.rows(EXPERTS, required=required, known=required):
        item = _item(row, suite, collection, text_of, pairs)
        for seat in SEATS:
            value = row.whole(seat)
            if value not in (1, 2, 3, 4):
                raise row.wrong(seat, "1, 2, 3 or 4", "Correct the rating.")
            yield Judgement("expert_fit", item, float(value), at=row.at)


def _crowd(source: Source, suite: str, collection: str, text_of: dict[str, str]) -> Iterator[Judgement]:
    pairs: set[Item] = set()
    for row in source.rows(CROWD, required=OF_THE_CROWD, known=OF_THE_CROWD):
        item = _item(row, suite, collection, text_of, pairs)
        yes, no = row.whole("n_yes"), row.whole("n_no")
        if min(yes, no) < 0 or yes + no == 0 or abs(row.number("frac_yes") - yes / (yes + no)) > 1e-6:
            raise row.wrong("frac_yes", f"the proportion of {yes} yes and {no} no", "Correct the row.")
        for value, n in ((1.0, yes), (0.0, no)):
            if n:
                yield Judgement("crowd_fit", item, value, n=n, at=row.at)


def _item(row: Row, suite: str, collection: str, text_of: dict[str, str], pairs: set[Item]) -> Item:
    ref, name = row.text("caption_id"), row.text("image")
    together = "Obtain the files again: they must belong together."
    if text_of.get(ref) != row.text("caption"):
        state = "reads otherwise" if ref in text_of else "is not there"
        raise row.error(f"caption {ref} {state} in {CAPTIONS}", together)
    if f"{name}#0" not in text_of:
        raise row.error(f"photo {name} is not in {CAPTIONS}", together)
    item = Item(PromptKey(suite, ref), image=ImageKey(collection, name))
    if item in pairs:
        raise row.error("this pair is there twice", "Take one of the rows out.")
    pairs.add(item)
    return item
