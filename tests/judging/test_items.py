"""From answers to pages: what is on them, what is known beforehand, and that chance treats all alike."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from math import comb
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image as Pillow
from scipy.stats import chisquare

from sightline.errors import DataError, SightlineError, StudyError, UsageError
from sightline.judging.items import build
from sightline.judging.planning import workload_of
from sightline.judging.rounds import RoundSettings, round_settings
from sightline.judging.store.rounds import NewItem, NewSlot
from sightline.records import Answer, Image, ImageKey, Mode, Prompt, PromptKey, Question, Record
from sightline.study import reading
from sightline.study.study import SETTINGS_FILE, Study, create_study, read_settings
from sightline.study.writing.image_tags import set_image_tags
from sightline.study.writing.loading import load

RELEVANCE = Question("relevance", "ordinal", 0, 2, 1, {"0": "none", "1": "low", "2": "high"}, "Relevant?")
ALIKE = Question("alike", "ordinal", 1, 5, 1)
CLOSER = Question("closer", "ordinal", 0, 1, 1, {"1": "A", "0": "B"}, direction="none")
GRID = Mode("grid", 5, [RELEVANCE], {}, "")
SINGLE = Mode("single", 1, [RELEVANCE], {}, "")
PAIR = Mode("pair", 1, [ALIKE], {}, "", attention=5)
CHOICE = Mode("pair", 1, [CLOSER], {}, "", swaps=True, compares="systems")
TRIPLET = Mode("triplet", 1, [CLOSER], {}, "", swaps=True, attention=1)

ORDER = Mode("order", 3, [Question("order", "ordinal", 1, 9, 1)], {}, "", compares="systems")

Build = Callable[..., list[NewItem]]


def drawing(folder: Path, shade: int) -> str:
    path = folder / f"{shade}.png"
    Pillow.new("RGB", (4, 4), (shade % 256, shade // 256, 90)).save(path)
    return str(path)


def answers(folder: Path, prompts: int, images: dict[str, int]) -> Iterator[Record]:
    """Prompts of the suite s, each with so many images a system, called 0-a-0.png for prompt 0 of a."""
    shade = 0
    for n in range(prompts):
        key = PromptKey("s", str(n))
        yield Prompt(key, f"text {n}", {"half": "even" if n % 2 == 0 else "odd", **({"last": "no"})})
        for system, many in images.items():
            for position in range(many):
                image = ImageKey(system, f"{n}-{system}-{position}.png")
                yield Image(image, drawing(folder, shade), captions=[f"text {n}"] if position == 0 else [])
                yield Answer(key, system, position, image)
                shade += 1


def more(study: Study, *records: Record) -> None:
    load(study, records, importer="test", path="test", digest=repr(records))


def filled(folder: Path, prompts: int, images: dict[str, int]) -> Study:
    study = create_study(folder / "study")
    more(study, *answers(folder, prompts, images))
    return study


@pytest.fixture
def study(tmp_path: Path) -> Iterator[Study]:
    """Four prompts; a and b answer each with 6 images, `photos` with one."""
    with filled(tmp_path, 4, {"a": 6, "b": 6, "photos": 1}) as made:
        yield made


def settings_of(study: Study, mode: Mode, lines: str = "", controls: str = "") -> RoundSettings:
    """The round's settings from these lines, around a mode of the test's own."""
    stand_in = "ternary_relevance" if mode.layout in ("grid", "single") else "two_afc"
    table = f"[annotate.r]\nmode = '{stand_in}'\n{lines}\n"
    file = study.home / SETTINGS_FILE
    file.write_text(table + (f"[annotate.r.controls]\n{controls}\n" if controls else ""), "utf-8")
    study.settings = read_settings(file)
    return round_settings(study, "r").model_copy(update={"found": mode, "questions": mode.questions})


@pytest.fixture
def built(study: Study) -> Build:
    def build_it(mode: Mode, lines: str = "", controls: str = "", csv: str = "") -> list[NewItem]:
        if csv:
            (study.home / "controls.csv").write_text(csv, "utf-8")
        return build(study, settings_of(study, mode, lines, controls))

    return build_it


def names(study: Study) -> dict[int, str]:
    return {0: "", **dict(reading.images(study).select("image_id", "name").iter_rows())}


def shown(study: Study, items: Sequence[NewItem], kind: str = "work", control: str = "") -> list[str]:
    called = names(study)
    return sorted(
        "|".join(filter(None, (called[image] for image in slot.ids[2:])))
        for item in items
        if item.kind == kind
        for slot in item.slots
        if slot.control == control
    )


def everything(
    systems: Sequence[str], prompts: Sequence[int] = range(4), images: Sequence[int] = range(6)
) -> list[str]:
    return sorted(f"{p}-{s}-{i}.png" for p in prompts for s in systems for i in images)


# -- images -----------------------------------------------------------------------------------------------


def test_every_image_is_on_one_page_of_its_prompt(study: Study, built: Build) -> None:
    items = built(GRID, "systems = ['a', 'b']")
    assert shown(study, items) == everything("ab")
    # 12 images a prompt, 5 a page: 3 pages of 4, not 5 + 5 + 2.
    assert Counter(len(item.slots) for item in items) == {4: 12}
    for item in items:
        assert len({slot.ids[0] for slot in item.slots}) == 1
        assert all(slot.ids[1] == slot.ids[3] == slot.ids[4] == 0 for slot in item.slots)
    assert all(type(number) is int for item in items for slot in item.slots for number in slot.ids)


@given(st.integers(1, 17), st.integers(1, 7), st.integers(0, 99))
def test_pages_are_few_and_of_nearly_one_size(
    tmp_path_factory: pytest.TempPathFactory, images: int, places: int, seed: int
) -> None:
    with filled(tmp_path_factory.mktemp("pages"), 2, {"a": images}) as study:
        items = build(study, settings_of(study, replace(GRID, images=places), f"seed = {seed}"))
        sizes = [len(item.slots) for item in items]
        assert len(items) == 2 * -(-images // places) and sum(sizes) == 2 * images
        assert max(sizes) <= places and max(sizes) - min(sizes) <= 1
        assert len({slot.ids for item in items for slot in item.slots}) == 2 * images


def test_single_images_come_one_at_a_time(study: Study, built: Build) -> None:
    items = built(SINGLE, "systems = ['a']")
    assert [len(item.slots) for item in items] == [1] * 24
    assert shown(study, items) == everything("a")
    # Neither prompt by prompt nor image by image.
    order = [item.slots[0].ids[2] for item in items]
    assert order != sorted(order)


def test_suite_systems_top_and_sample_say_which(study: Study, built: Build) -> None:
    assert shown(study, built(GRID, "systems = ['b']\ntop = 2")) == everything("b", images=range(2))
    two = {slot.ids[0] for item in built(GRID, "sample = 2") for slot in item.slots}
    three = {slot.ids[0] for item in built(GRID, "sample = 3") for slot in item.slots}
    assert len(two) == 2 and len(three) == 3 and two < three
    drawn = Counter(
        slot.ids[0]
        for seed in range(40)
        for slot in built(SINGLE, f"sample = 1\nseed = {seed}\ntop = 1")[0].slots
    )
    assert len(drawn) == 4
    with pytest.raises(UsageError, match="Did you mean s"):
        built(GRID, "suite = 'ss'")
    with pytest.raises(UsageError, match="no system called 'photo'") as caught:
        built(GRID, "systems = ['photo']")
    assert "photos" in caught.value.remedy and "[annotate.r]" in caught.value.where
    with pytest.raises(UsageError, match="5 prompts cannot be drawn out of 4"):
        built(GRID, "sample = 5")


def test_a_tag_says_which(study: Study, built: Build) -> None:
    called = {name: key for key, name in names(study).items()}
    prompts = dict(reading.prompts(study).select("ref", "prompt_id").iter_rows())
    # One whatever it answers, one as the answer to its prompt, one as that to another: nobody gave it there.
    set_image_tags(study, [(called["0-a-0.png"], 0), (called["1-b-2.png"], prompts["1"])], "odd", "yes")
    set_image_tags(study, [(called["2-a-1.png"], prompts["3"])], "odd", "yes")
    set_image_tags(study, [(called["3-b-3.png"], 0)], "odd", "no")
    assert shown(study, built(SINGLE, 'where = "tag:odd=yes"')) == ["0-a-0.png", "1-b-2.png"]
    assert shown(study, built(SINGLE, 'where = "tag:odd"')) == ["0-a-0.png", "1-b-2.png", "3-b-3.png"]
    assert shown(study, built(SINGLE, 'where = "tag:odd"\nsystems = ["a"]')) == ["0-a-0.png"]
    even = built(SINGLE, 'where = "tag:half=even"\nsystems = ["a"]')
    assert shown(study, even) == everything("a", prompts=(0, 2))
    with pytest.raises(UsageError, match="no answer has the tag 'ood'") as caught:
        built(SINGLE, 'where = "tag:ood"')
    assert "odd" in caught.value.remedy
    with pytest.raises(StudyError, match="where"):
        built(SINGLE, 'where = "odd"')


def test_what_cannot_be_shown_is_left_out_and_nothing_moves_up(
    study: Study, tmp_path: Path, built: Build
) -> None:
    key = PromptKey("s", "new")
    images = [ImageKey("c", f"{name}.png") for name in ("absent", "here", "later")]
    files = [None, drawing(tmp_path, 900), drawing(tmp_path, 901)]
    more(
        study,
        Prompt(key, "new"),
        *map(Image, images, files),
        Answer(key, "c", 0, None, failure="refused"),
        *(Answer(key, "c", place, image) for place, image in enumerate(images, 1)),
    )
    assert shown(study, built(GRID, "systems = ['c']\ntop = 3")) == ["here.png"]
    with pytest.raises(DataError, match="there are no images to judge"):
        built(GRID, "systems = ['c']\ntop = 2")
    with study.engine.begin() as connection:
        connection.exec_driver_sql("UPDATE image SET defect = 'broken' WHERE name = 'here.png'")
    assert shown(study, built(GRID, "systems = ['c']")) == ["later.png"]


def test_an_image_of_two_systems_is_judged_once(study: Study, built: Build) -> None:
    more(study, Answer(PromptKey("s", "0"), "c", 0, ImageKey("a", "0-a-0.png")))
    assert shown(study, built(GRID, "systems = ['a', 'c']")) == everything("a")


def test_the_seed_decides_and_nothing_else(study: Study, built: Build) -> None:
    first = built(GRID, "seed = 3")
    assert first == built(GRID, "seed = 3")
    other = built(GRID, "seed = 4")
    assert first != other and shown(study, first) == shown(study, other)
    # Which prompts are drawn says nothing about how their pages are cut.
    pages = {frozenset(slot.ids for slot in item.slots) for item in first}
    assert {frozenset(s.ids for s in item.slots) for item in built(GRID, "seed = 3\nsample = 2")} < pages


def test_an_empty_study_is_told(tmp_path: Path) -> None:
    with create_study(tmp_path / "empty") as study, pytest.raises(DataError, match="the study is empty"):
        build(study, settings_of(study, GRID))


# -- orders -----------------------------------------------------------------------------------------------


def test_an_order_shows_one_image_each_of_different_systems(tmp_path: Path) -> None:
    with filled(tmp_path, 3, {"a": 2, "b": 2, "c": 2, "d": 2}) as study:
        settings = settings_of(study, ORDER, "pairs = 5")
        items = build(study, settings)
        assert len(items) == 3 * 5 and build(study, settings) == items
        called = names(study)
        for item in items:
            assert len({slot.ids[0] for slot in item.slots}) == 1
            assert len({called[slot.ids[2]].split("-")[1] for slot in item.slots}) == len(item.slots) == 3
            assert all(slot.ids[1] == slot.ids[3] == slot.ids[4] == 0 for slot in item.slots)
        assert build(study, settings_of(study, ORDER, "pairs = 5\nseed = 1")) != items


def test_fewer_systems_make_smaller_orders_and_one_makes_none(tmp_path: Path) -> None:
    with filled(tmp_path, 1, {"a": 1, "b": 1}) as study:
        assert [len(item.slots) for item in build(study, settings_of(study, ORDER))] == [2]
        with pytest.raises(DataError, match="different systems"):
            build(study, settings_of(study, ORDER, "systems = ['a']"))


# -- reference photos ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("by", ["system", "collection"])
def test_every_page_hides_the_photo(study: Study, built: Build, by: str) -> None:
    if by == "collection":
        with study.engine.begin() as connection:
            connection.exec_driver_sql(
                "DELETE FROM answer WHERE system_id = (SELECT id FROM system WHERE name = 'photos')"
            )
    items = built(replace(GRID, reference=True), "reference = 'photos'")
    # 12 images, 4 places next to the photo: 3 pages of 5.
    assert Counter(len(item.slots) for item in items) == {5: 12}
    assert shown(study, items) == everything("ab")
    photos = [slot for item in items for slot in item.slots if slot.control]
    assert shown(study, items, control="reference") == sorted(
        f"{p}-photos-0.png" for p in range(4) for _ in range(3)
    )
    for item in items:
        assert sum(slot.control == "reference" for slot in item.slots) == 1
    assert all(slot.expected == {"relevance": 2} and slot.tolerance == 0 for slot in photos)
    # It is not always the last of its page.
    assert len({[bool(s.control) for s in item.slots].index(True) for item in items}) > 2


def test_the_photo_is_at_the_good_end(study: Study) -> None:
    asked = [
        Question("quality", "interval", 0, 5, 0.1),
        Question("faults", "ordinal", 1, 4, 1, direction="lower"),
        Question("style", "nominal", 1, 3, 1, direction="none"),
    ]
    told = settings_of(study, replace(GRID, questions=asked), "reference = 'photos'")
    (slot, *_) = [slot for item in build(study, told) for slot in item.slots if slot.control]
    # A slider need not be pushed to its very end: a tenth of its length is allowed.
    assert slot.expected == {"quality": 5, "faults": 1} and slot.tolerance == 0.5


def test_missing_photos_are_counted(study: Study, tmp_path: Path, built: Build) -> None:
    for n in range(4, 9):
        key = PromptKey("s", str(n))
        image = ImageKey("a", f"{n}.png")
        file = drawing(tmp_path, 700 + n)
        more(study, Prompt(key, f"text {n}"), Image(image, file), Answer(key, "a", 0, image))
    said = "5 of 9 prompts have no reference photo in 'photos': 'text 4', 'text 5', 'text 6', ..."
    with pytest.raises(DataError, match=re.escape(said)):
        built(GRID, "reference = 'photos'")
    with pytest.raises(UsageError, match="no system or collection called 'fotos'"):
        built(GRID, "reference = 'fotos'")
    with pytest.raises(UsageError, match="'photos' is the reference"):
        built(GRID, "reference = 'photos'\nsystems = ['a', 'photos']")


# -- known answers ----------------------------------------------------------------------------------------

KNOWN = """prompt_id,prompt,image,expected,tolerance
0,,0-a-0.png,none,
0,,0-a-1.png,0,0.5
0,,1-a-0.png,0,
,text 2,2-b-3.png,high,
"""


def test_control_images_take_places_where_a_prompt_has_some(study: Study, built: Build) -> None:
    items = built(GRID, "systems = ['a', 'b']", "file = 'controls.csv'\nimages = 1", KNOWN)
    by_prompt: dict[int, list[NewItem]] = {}
    for item in items:
        by_prompt.setdefault(item.slots[0].ids[0], []).append(item)
    ids = {ref: key for key, _, ref, _ in reading.prompts(study).iter_rows()}
    # Prompt 0 has 10 images left to judge, 4 a page: 3 pages, a control on each, every one of the three once.
    assert [sum(s.control == "known" for s in item.slots) for item in by_prompt[ids["0"]]] == [1, 1, 1]
    assert shown(study, by_prompt[ids["0"]], control="known") == ["0-a-0.png", "0-a-1.png", "1-a-0.png"]
    assert "0-a-0.png" not in shown(study, items) and "1-a-0.png" in shown(study, items)
    # Prompt 1 has none: 12 images, 5 a page.
    assert Counter(len(item.slots) for item in by_prompt[ids["1"]]) == {4: 3}
    slots = {names(study)[s.ids[2]]: s for item in items for s in item.slots if s.control}
    assert slots["0-a-0.png"] == NewSlot(slots["0-a-0.png"].ids, "known", {"relevance": 0.0}, 0.0)
    assert slots["0-a-1.png"].tolerance == 0.5 and slots["2-b-3.png"].expected == {"relevance": 2.0}
    assert {item.kind for item in items} == {"work"}


def test_known_answers_make_control_tasks(study: Study, built: Build) -> None:
    items = built(GRID, "systems = ['a', 'b']", "file = 'controls.csv'\npages = 1", KNOWN)
    controls = [item for item in items if item.kind == "control"]
    # Filled up with other images of the prompt: a page with fewer would tell that it is a control.
    usual = {len(item.slots) for item in items if item.kind == "work"}
    assert {len(item.slots) for item in controls} <= usual
    assert shown(study, items, "control", "known") == ["0-a-0.png", "0-a-1.png", "1-a-0.png", "2-b-3.png"]
    assert items.index(controls[0]) == len(items) - 2
    known = {"0-a-0.png", "0-a-1.png", "2-b-3.png"}
    assert shown(study, items) == [name for name in everything("ab") if name not in known]


def test_with_control_images_only_other_prompts_make_control_tasks(study: Study, built: Build) -> None:
    lines = "sample = 1\nsystems = ['a', 'b']\nseed = 0"
    items = built(GRID, lines, "file = 'controls.csv'\nimages = 1\npages = 1", KNOWN)
    work = {slot.ids[0] for item in items if item.kind == "work" for slot in item.slots}
    controls = {slot.ids[0] for item in items if item.kind == "control" for slot in item.slots}
    ids = {ref: key for key, _, ref, _ in reading.prompts(study).iter_rows()}
    assert len(work) == 1 and work <= {ids["0"], ids["2"]}
    assert controls == {ids["0"], ids["2"]} - work


def test_control_tasks_look_like_the_others(study: Study, built: Build) -> None:
    items = built(GRID, "reference = 'photos'", "file = 'controls.csv'\npages = 1", KNOWN)
    for item in items:
        assert sum(slot.control == "reference" for slot in item.slots) == 1


def test_known_answers_to_several_questions_are_one_slot(study: Study) -> None:
    both = replace(GRID, questions=[RELEVANCE, Question("quality", "interval", 0, 5, 0.1)])
    csv = "prompt,image,question,expected\ntext 0,0-a-0.png,relevance,2\ntext 0,0-a-0.png,quality,4.5\n"
    (study.home / "controls.csv").write_text(csv)
    items = build(study, settings_of(study, both, "", "file = 'controls.csv'"))
    (slot,) = [slot for item in items for slot in item.slots if slot.control]
    assert slot.expected == {"relevance": 2, "quality": 4.5}


@pytest.mark.parametrize(
    ("csv", "said"),
    [
        ("prompt,image,expected\ntext 9,0-a-0.png,0\n", "csv:2: none in this study fit prompt 'text 9'"),
        ("prompt_id,image,expected\n0,0-a-0.png,0\n7,0-a-0.png,0\n", "csv:3: none in this study fit"),
        ("prompt,image,expected\ntext 0,0-a-9.png,0\n", "csv:2: none in this study fit image '0-a-9.png'"),
        ("prompt,suite,image,expected\ntext 0,t,0-a-0.png,0\n", "fit prompt 'text 0' in suite 't'"),
        ("prompt,collection,image,expected\ntext 0,b,0-a-0.png,0\n", "image '0-a-0.png' in collection 'b'"),
        ("prompt,image,expected\ntext 0,0-a-0.png,3\n", "csv:2: expected must be an answer to 'relevance'"),
        ("prompt,image,expected\ntext 0,0-a-0.png,good\n", "0 (none), 1 (low), 2 (high)"),
        ("prompt,image,expected\ntext 0,0-a-0.png,nan\n", "expected must be an answer"),
        ("prompt,image,question,expected\ntext 0,0-a-0.png,beauty,1\n", "question must be one of relevance"),
        ("prompt,image,expected,tolerance\ntext 0,0-a-0.png,1,-1\n", "tolerance must be 0 or more"),
        ("prompt,image,expected\ntext 0,0-a-0.png,1\ntext 0,0-a-0.png,2\n", "controls.csv:3: an earlier row"),
        ("prompt,image,expected\ntext 0,,1\n", "controls.csv:2: image is empty"),
        ("prompt,image\ntext 0,0-a-0.png\n", "there is no column expected"),
        ("prompt,image,expectd\ntext 0,0-a-0.png,1\n", "there is no column expected"),
        ("prompt,image,expected\n", "there are no rows in it"),
        ("prompt,image,expected\ntext 0,absent.png,1\n", "the image 'absent.png' cannot be shown"),
        ("prompt,image,expected\ntext 0,twice.png,1\n", "2 in this study fit image 'twice.png'"),
    ],
)  # fmt: skip
def test_a_row_that_fits_nothing_is_told_with_its_line(
    study: Study, tmp_path: Path, built: Build, csv: str, said: str
) -> None:
    twice = [Image(ImageKey(home, "twice.png"), drawing(tmp_path, 800)) for home in "ab"]
    more(study, Image(ImageKey("a", "absent.png")), *twice)
    with pytest.raises(SightlineError) as caught:
        built(GRID, "", "file = 'controls.csv'", csv)
    assert said in str(caught.value)


def test_known_pairs_name_both_images(study: Study, built: Build) -> None:
    csv = "prompt,image,image_b,expected\ntext 0,0-a-1.png,0-a-0.png,5\n"
    items = built(PAIR, "systems = ['a']\npairs = 99", "file = 'controls.csv'", csv)
    assert shown(study, items, "control", "known") == ["0-a-1.png|0-a-0.png"]
    # 15 pairs a prompt, one of which is known, whichever way round it was written.
    assert len(items) == 4 * 15 - 1 + 1 and "0-a-0.png|0-a-1.png" not in shown(study, items)
    with pytest.raises(DataError, match="there is no column image_c"):
        built(TRIPLET, "", "file = 'controls.csv'", csv)


# -- tagged prompts -----------------------------------------------------------------------------------------


def test_tagged_prompts_are_controls_and_not_work(study: Study, built: Build) -> None:
    items = built(GRID, "systems = ['a', 'b']\nreference = 'photos'", "tag = 'half=odd'")
    assert shown(study, items) == everything("ab", prompts=(0, 2))
    assert shown(study, items, "control", "annotator") == everything("ab", prompts=(1, 3))
    assert shown(study, items, "control", "reference") == sorted(
        ["1-photos-0.png"] * 3 + ["3-photos-0.png"] * 3
    )
    assert all(not s.expected for item in items for s in item.slots if s.control == "annotator")


def test_a_tag_nobody_has_is_told(study: Study, built: Build) -> None:
    with pytest.raises(DataError, match="no prompt has the tag 'hlf'") as caught:
        built(GRID, "", "tag = 'hlf'")
    assert "half" in caught.value.remedy
    with pytest.raises(DataError, match="Did you mean even"):
        built(GRID, "", "tag = 'half=evn'")
    # Every prompt has the tag `last`, and all of them say no.
    with pytest.raises(DataError, match="no prompt has the tag 'last'"):
        built(GRID, "", "tag = 'last'")
    with pytest.raises(DataError, match="there are no images to judge"):
        built(GRID, "", "tag = 'half'")
    more(study, Prompt(PromptKey("s", "bare"), "bare", {"bare": "yes"}))
    with pytest.raises(DataError, match="1 prompts have the tag 'bare', and none of them has an image"):
        built(GRID, "", "tag = 'bare'")


# -- pairs and triplets -------------------------------------------------------------------------------------


def test_pairs_of_one_system(study: Study, built: Build) -> None:
    items = built(PAIR, "systems = ['a', 'b']\npairs = 7")
    # Seven of each system: 4 prompts x 2 systems x 7.
    assert len(items) == 56 and all(len(item.slots) == 1 for item in items)
    whose = Counter(said[:4] for said in shown(study, items))
    assert set(whose.values()) == {7} and len(whose) == 8
    found = {item.slots[0].ids for item in items}
    assert len(found) == 56 and all(ids[2] < ids[3] and ids[1] == ids[4] == 0 for ids in found)
    for said in shown(study, items):
        first, second = said.split("|")
        assert first[:4] == second[:4]
    # All there are: 2 systems x C(6, 2) = 30 a prompt.
    assert len(built(PAIR, "systems = ['a', 'b']\npairs = 1000")) == 4 * 2 * comb(6, 2)
    ids = {key for key, name in names(study).items() if name.startswith("0-a-")}
    pairs = {item.slots[0].ids[2:4] for item in built(PAIR, "systems = ['a']\npairs = 99")}
    assert {pair for pair in pairs if pair[0] in ids} == set(combinations(sorted(ids), 2))


def test_pairs_between_systems(study: Study, built: Build) -> None:
    items = built(CHOICE, "systems = ['a', 'b']\npairs = 1000")
    assert len(items) == 4 * 6 * 6
    for said in shown(study, items):
        first, second = said.split("|")
        assert {first[2], second[2]} == {"a", "b"} and first[0] == second[0]


def test_triplets_of_one_system(study: Study, built: Build) -> None:
    items = built(TRIPLET, "systems = ['a']\npairs = 1000")
    # 6 references, C(5, 2) = 10 pairs of the others.
    assert len(items) == 4 * 60 == len({item.slots[0].ids for item in items})
    assert all(len(set(item.slots[0].ids[2:])) == 3 for item in items)


def test_triplets_with_the_photo_as_reference(study: Study, built: Build) -> None:
    items = built(replace(TRIPLET, compares="systems"), "reference = 'photos'\npairs = 1000")
    assert len(items) == 4 * 36
    called = names(study)
    assert {called[item.slots[0].ids[2]] for item in items} == {f"{p}-photos-0.png" for p in range(4)}
    assert all(not item.slots[0].control for item in items)


@pytest.mark.parametrize(
    ("mode", "possible"), [(PAIR, 2 * comb(4, 2)), (CHOICE, 16), (TRIPLET, 2 * 4 * comb(3, 2))]
)
def test_every_pair_and_triplet_has_the_same_chance(tmp_path: Path, mode: Mode, possible: int) -> None:
    with filled(tmp_path, 1, {"a": 4, "b": 4}) as study:
        told = settings_of(study, mode, "pairs = 4")
        drawn = Counter(
            item.slots[0].ids
            for seed in range(50 * possible // 4)
            for item in build(study, told.model_copy(update={"seed": seed}))
        )
    of_each = 1 if mode.compares == "systems" else 2
    assert len(drawn) == possible and sum(drawn.values()) == of_each * (50 * possible // 4 * 4)
    assert chisquare(list(drawn.values())).pvalue > 1e-4


def test_without_swaps_chance_decides_which_is_a(study: Study, built: Build) -> None:
    items = built(replace(CHOICE, swaps=False), "systems = ['a', 'b']\npairs = 1000")
    rising = sum(item.slots[0].ids[2] < item.slots[0].ids[3] for item in items)
    # 144 fair coins: mean 72, SD 6.
    assert 48 < rising < 96


def test_nothing_to_compare_is_told(study: Study, built: Build) -> None:
    with pytest.raises(DataError, match="there are no two images to compare"):
        built(PAIR, "top = 1")
    with pytest.raises(DataError, match="there are no triplets to judge"):
        built(TRIPLET, "top = 2")


# -- attention checks ---------------------------------------------------------------------------------------


def test_an_image_beside_itself(study: Study, built: Build) -> None:
    items = built(PAIR, "systems = ['a']\npairs = 10", "made = true\npages = 1\nof = 5")
    checks = [item.slots[0] for item in items if item.kind == "control"]
    # 40 pages of work with a control in every five: 10.
    assert len(checks) == 10 == len({check.ids for check in checks})
    for check in checks:
        assert check.ids[2] == check.ids[3] and check.ids[1] == check.ids[4] == 0
        assert (check.control, check.expected, check.tolerance) == ("attention", {"alike": 5}, 0)
    assert all(name.split("|")[0][2] == "a" for name in shown(study, items, "control", "attention"))


def test_there_are_at_least_five_checks_and_no_more_than_images(study: Study, built: Build) -> None:
    few = built(PAIR, "sample = 1\nsystems = ['a']\npairs = 1", "made = true")
    assert Counter(item.kind for item in few) == {"work": 1, "control": 5}
    scarce = built(PAIR, "sample = 1\nsystems = ['a']\ntop = 2", "made = true")
    assert Counter(item.kind for item in scarce) == {"work": 1, "control": 2}


@pytest.mark.parametrize("reference", [False, True])
def test_a_or_b_is_the_reference_itself(study: Study, built: Build, reference: bool) -> None:
    lines = "pairs = 30\nreference = 'photos'" if reference else "systems = ['a']\npairs = 30"
    items = built(TRIPLET, lines, "made = true\npages = 2\nof = 4")
    checks = [item.slots[0] for item in items if item.kind == "control"]
    # 120 are wanted; with photos, 4 prompts x 12 images x 2 sides make 96.
    assert len(checks) == (96 if reference else 120)
    assert len({check.ids for check in checks}) == len(checks)
    for check in checks:
        _, _, shown_reference, a, b = check.ids
        assert a != b and shown_reference in (a, b)
        assert check.expected == {"closer": 1.0 if a == shown_reference else 0.0}
    assert 0.3 < sum(check.expected["closer"] for check in checks) / len(checks) < 0.7


def test_every_check_has_the_same_chance(tmp_path: Path) -> None:
    with filled(tmp_path, 2, {"a": 3}) as study:
        told = settings_of(study, TRIPLET, "", "made = true")
        drawn = Counter(
            item.slots[0].ids
            for seed in range(250)
            for item in build(study, told.model_copy(update={"seed": seed}))
            if item.kind == "control"
        )
    # 2 prompts x 3 references x 2 others x 2 sides = 24, of which 5 are drawn each time.
    assert len(drawn) == 24 and sum(drawn.values()) == 1250
    assert chisquare(list(drawn.values())).pvalue > 1e-4


# -- whole rounds -------------------------------------------------------------------------------------------


def test_a_plan_counts_what_is_built(study: Study) -> None:
    (study.home / "controls.csv").write_text(KNOWN)
    lines = "systems = ['a', 'b']\nper_item = 2\nprice = 0.5\nfee = 0.1"
    settings = settings_of(study, GRID, lines, "file = 'controls.csv'\nimages = 1")
    found = workload_of(settings, build(study, settings))
    # 10, 12, 11 and 12 images; 4, 5, 4 and 5 a page: 3 pages each, those of prompts 0 and 2 with a control.
    assert (found.items, found.tasks, found.control_images) == (12, 24, 12)
    # 24 x 0.5 x 1.1 = 13.20, and 24 minutes.
    assert str(found.cost) == "13.20"


def test_pairs_of_many_images_take_no_longer(tmp_path: Path) -> None:
    """A thousand images make 166 million triplets; ten of them are drawn without writing them all down."""
    with create_study(tmp_path / "study") as study:
        path = drawing(tmp_path, 1)
        key = PromptKey("s", "0")
        records: list[Record] = [Prompt(key, "text")]
        for n in range(1000):
            records += [Image(ImageKey("a", str(n)), path), Answer(key, "a", n, ImageKey("a", str(n)))]
        more(study, *records)
        items = build(study, settings_of(study, TRIPLET, "pairs = 10", "made = true"))
        assert Counter(item.kind for item in items) == {"work": 10, "control": 5}
