"""How a round stands: counts checked by hand, people whose character is known, and a large round."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
from PIL import Image as Pillow

from sightline.judging import oversee
from sightline.judging.annotate import annotate
from sightline.judging.assignment import assign
from sightline.judging.labels import CATEGORIES, categories_by_query, category_of, labels_by_system
from sightline.judging.overview import Vote, overview, round_up
from sightline.judging.store import answering, rounds, tokens
from sightline.judging.store.answering import SubmittedAnswer
from sightline.judging.store.rounds import NewItem, NewSlot
from sightline.judging.store.tasks import Task
from sightline.judging.truth import truth
from sightline.records import Answer, Image, ImageKey, Prompt, PromptKey, Question, Record
from sightline.samples.annotators import Annotator, panel
from sightline.samples.judging import judge_round
from sightline.study import reading
from sightline.study.schema import database, tables
from sightline.study.study import Study, create_study
from sightline.study.writing.loading import load

NOW = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
YES_NO = Question("fits", "nominal", 0, 1, 1, {"1": "yes", "0": "no"}, "Does it fit?")
BETTER = Question("better", "ordinal", 0, 1, labels={"0": "A", "1": "B"}, direction="none")
SETTINGS = {
    "per_item": 2, "ahead": 1, "session_pages": 100, "rest_minutes": 0, "hold_hours": 10_000, "price": 0.2,
    "fee": 0.1, "repeat": 0.0, "controls": {"pages": 0, "of": 5},
}  # fmt: skip


def small(folder: Path, items: int, settings: dict[str, object] | None = None, toml: str = "") -> Study:
    """A round of single images with a yes-or-no question; image n of prompt n by the system odd or even."""
    study = create_study(folder, settings=toml or "[screening]\nrules = []\n")
    records: list[Record] = []
    for number in range(items):
        prompt, image = PromptKey("s", str(number)), ImageKey("c", f"{number}.png")
        records += [Prompt(prompt, f"prompt {number}"), Image(image)]
        records.append(Answer(prompt, "even" if number % 2 == 0 else "odd", 0, image))
    load(study, records, importer="test", path="test", digest="1")
    ids = reading.answers(study).sort("prompt_id").select("prompt_id", "image_id").rows()
    made = [NewItem("work", [NewSlot((prompt, 0, image, 0, 0))]) for prompt, image in ids]
    rounds.open_round(study, "r", "yes_no", [YES_NO], {**SETTINGS, **(settings or {})}, 0, made)
    return study


Choose = Callable[[str, int], float | None]


def work(
    study: Study, who: str, choose: Choose, pages: int, began: datetime = NOW, took: float = 10.0
) -> None:
    """Somebody does pages, one every `took` seconds; `choose` answers by the prompt's text, None skips."""
    texts = dict(reading.prompts(study).select("prompt_id", "text").rows())
    round_ = rounds.get_round(study, "r")
    at = began
    for number in range(pages):
        with database.writing(study.engine, durable=False) as connection:
            key = tokens.annotator(connection, who)
            assigned = assign(connection, round_, key, "annotator", at)
            if not assigned.tasks:
                return
            page: Task = assigned.tasks[0]
            at += timedelta(seconds=took)
            slot = page.slots[0]
            value = choose(texts[slot.prompt_id], slot.repetition)
            why = "cannot say" if value is None else None
            sent = f"{who}-{page.key[:20]}-{number:04d}"
            told = SubmittedAnswer(sent, page.key, 0, "fits", value, why, int(took * 1000))
            answering.record_answers(connection, round_, key, [told], at.strftime("%Y-%m-%dT%H:%M:%SZ"))


def yes(text: str, repetition: int) -> float:
    return 1.0


def even(text: str, repetition: int) -> float:
    """Yes for even numbers."""
    return float(int(text.split()[1]) % 2 == 0)


def one_off(text: str, repetition: int) -> float:
    """As `even`, but wrong on prompt 0."""
    return 0.0 if text == "prompt 0" else even(text, repetition)


def skips_three(text: str, repetition: int) -> float | None:
    return None if text == "prompt 3" else even(text, repetition)


@pytest.fixture
def ten(tmp_path: Path) -> Iterator[Study]:
    with small(tmp_path / "study", 10) as study:
        yield study


def test_progress_cost_and_time_by_hand(ten: Study) -> None:
    work(ten, "ann", even, 10)
    work(ten, "bob", skips_three, 6, took=20.0)
    found = overview(ten, "r", NOW + timedelta(minutes=10))
    skipped = sum(person.skipped for person in found.people)
    done = 16 - skipped
    assert (found.progress.items, found.progress.wanted, found.progress.done) == (10, 20, done)
    # One image a page and one question: a judgement a page.
    assert (found.progress.judgements_wanted, found.progress.judgements) == (20, done)
    # 0.20 a finished page and a tenth on top: 0.22 each; the round ends after 20 of them.
    assert found.cost.so_far == (done * Decimal("0.22")).quantize(Decimal("0.01"))
    assert (found.cost.tasks_at_end, found.cost.at_end) == (20, Decimal("4.40"))
    # 10 pages of 10 s and 6 of 20 s: the eight and ninth of sixteen are 10, a quarter lies above 20.
    assert (found.times.value, found.times.low, found.times.high, found.times.n) == (10.0, 10.0, 20.0, 16)
    ann, bob = found.people
    assert (ann.name, ann.done, ann.skipped, ann.seconds) == ("ann", 10, 0, 10.0)
    assert (bob.name, bob.done + bob.skipped, bob.seconds) == ("bob", 6, 20.0)


def test_the_end_is_predicted_from_the_last_hour(ten: Study) -> None:
    # Two pages the day before, six in the last hour: six an hour, twelve of twenty left, two hours.
    work(ten, "ann", even, 2, NOW - timedelta(days=1))
    work(ten, "bob", even, 6, NOW - timedelta(minutes=30))
    found = overview(ten, "r", NOW).progress
    assert (found.rate.value, found.rate.n) == (6.0, 6)
    assert found.expected == "2026-03-02T14:00:00Z"
    # Garwood's limits of a count of 6, as tables have them: 2.202 to 13.06.
    assert found.rate.low == pytest.approx(2.2019, abs=1e-4)
    assert found.rate.high == pytest.approx(13.0595, abs=1e-4)
    assert found.earliest < found.expected < found.latest
    oversee.pause(ten, "r")
    paused = overview(ten, "r", NOW)
    assert (paused.state, paused.progress.expected) == ("paused", None)


def test_a_round_that_just_began_is_timed_from_its_first_page(ten: Study) -> None:
    # Pages end after 1, 2, ... 6 minutes; at 6 minutes five have followed the first: sixty an hour.
    work(ten, "ann", even, 6, took=60.0)
    assert overview(ten, "r", NOW + timedelta(minutes=6)).progress.rate.value == pytest.approx(60.0)
    early = overview(ten, "r", NOW + timedelta(days=2)).progress
    assert (early.rate.value, early.expected) == (None, None)
    assert early.rate.reason is not None and "last hour" in early.rate.reason


def test_controls_and_repeats_are_part_of_the_cost_at_the_end(tmp_path: Path) -> None:
    more = {"controls": {"pages": 1, "of": 5}, "repeat": 0.1}
    with small(tmp_path / "study", 10, more) as study:
        found = overview(study, "r", NOW)
    # 20 pages of work, 2 of them again, and one control page for every four others: 22 x 5/4 = 27.5.
    assert (found.cost.tasks, found.cost.tasks_at_end) == (0, 28)
    assert round_up(27.5) == 28 and round_up(0.1 * 3 * 10) == 3


def test_agreement_and_disputes_by_hand(ten: Study) -> None:
    work(ten, "ann", even, 10)
    work(ten, "bob", one_off, 10)
    found = overview(ten, "r", NOW + timedelta(hours=1))
    # Ten pairs, one differs. Votes: ann 5 yes, bob 4: 9 yes and 11 no of 20. Nominal alpha is
    # 1 - (20 - 1) * 2 / (20^2 - 9^2 - 11^2) = 1 - 38 / 198.
    alpha = found.agreement["fits"]
    assert alpha.value == pytest.approx(1 - 38 / 198)
    assert alpha.n == 10 and alpha.low is None
    assert alpha.reason == "5 items have the rarer of the two labels; an interval needs 10"
    (dispute,) = found.disputes["fits"]
    assert (dispute.prompt, len(dispute.votes), dispute.decided) == ("prompt 0", 2, None)
    assert dispute.votes == [Vote("bob", 0.0), Vote("ann", 1.0)]
    # Half and half is one bit.
    assert dispute.spread == pytest.approx(1.0)
    # Each has only the other: the alpha of both is that of each, under the same name.
    for person in found.people:
        assert person.agreement["fits"].value == pytest.approx(1 - 38 / 198)
        assert person.agreement["fits"].name == alpha.name == "Krippendorff's alpha (nominal)"


def paired(folder: Path, items: int) -> Study:
    """A round of pairs: odd's image of a prompt is A, even's B; as they are shown, sides change at random."""
    study = create_study(folder, settings="[screening]\nrules = ['one_value(least=4)']\n")
    records: list[Record] = []
    for number in range(items):
        prompt = PromptKey("s", str(number))
        records.append(Prompt(prompt, f"prompt {number}"))
        for system in ("odd", "even"):
            image = ImageKey("c", f"{system}-{number}.png")
            records += [Image(image), Answer(prompt, system, 0, image)]
    load(study, records, importer="test", path="test", digest="1")
    answers = reading.answers(study).sort("prompt_id", "image_id")
    made = []
    for prompt in answers["prompt_id"].unique().sort().to_list():
        one, other = answers.filter(answers["prompt_id"] == prompt)["image_id"].to_list()
        made.append(NewItem("work", [NewSlot((prompt, 0, one, other, 0))]))
    rounds.open_round(study, "r", "preference", [BETTER], {**SETTINGS, "swaps": True}, 0, made)
    return study


def prefer(study: Study, who: str, choose: Callable[[str, bool], float], took: float = 10.0) -> None:
    """Somebody does all pairs; `choose` is given the prompt and whether the sides are swapped."""
    texts = dict(reading.prompts(study).select("prompt_id", "text").rows())
    round_, at = rounds.get_round(study, "r"), NOW
    while True:
        with database.writing(study.engine, durable=False) as connection:
            key = tokens.annotator(connection, who)
            assigned = assign(connection, round_, key, "annotator", at)
            if not assigned.tasks:
                return
            task = assigned.tasks[0]
            at += timedelta(seconds=took)
            (slot,) = task.slots
            value = choose(texts[slot.prompt_id], slot.swapped)
            told = SubmittedAnswer(
                f"{who}-{task.key[:24]}", task.key, 0, "better", value, None, int(took * 1000)
            )
            answering.record_answers(connection, round_, key, [told], at.strftime("%Y-%m-%dT%H:%M:%SZ"))


def odd_wins(text: str, swapped: bool) -> float:
    """Odd's image, which is A unless the sides are swapped."""
    return float(swapped)


def odd_wins_but_once(text: str, swapped: bool) -> float:
    return float(swapped) if text != "prompt 0" else float(not swapped)


def test_agreement_on_pairs_does_not_depend_on_which_image_came_first(tmp_path: Path) -> None:
    with paired(tmp_path / "one", 4) as study:
        prefer(study, "ann", odd_wins)
        prefer(study, "bob", odd_wins)
        # Both prefer odd's images throughout, which is perfect agreement, not a lack of variety.
        assert overview(study, "r", NOW).agreement["better"].value == 1
    with paired(tmp_path / "two", 4) as study:
        prefer(study, "ann", odd_wins)
        prefer(study, "bob", odd_wins_but_once)
        found = overview(study, "r", NOW)
        # Every item both ways round: 16 votes, half of them 1; one item of four differs, twice. Alpha is
        # 1 - (16 - 1) x (2 + 2) / (16^2 - 8^2 - 8^2), as `truth` has it.
        assert found.agreement["better"].value == pytest.approx(1 - 15 * 4 / 128)
        assert found.people[0].agreement["better"].value == pytest.approx(1 - 15 * 4 / 128)
        (settled,) = truth(study).questions
        assert settled.agreement.value == found.agreement["better"].value


def test_always_the_left_image_is_told_and_always_the_same_system_is_not(tmp_path: Path) -> None:
    with paired(tmp_path / "study", 14) as study:
        prefer(study, "ann", odd_wins)
        prefer(study, "bob", lambda text, swapped: 0.0, took=0.2)
        found = overview(study, "r", NOW)
    assert {(each.annotator, each.question, each.kind) for each in found.alerts} == {
        ("bob", "", "speed"),
        ("bob", "better", "constant"),
    }
    texts = {each.kind: each.text for each in found.alerts}
    assert texts["constant"].startswith("gave “A” in all of 14 answers; though sides are drawn at random")
    assert texts["speed"] == (
        "takes 0.2 s per task (median of 14); to look and choose takes 0.5 s at the very least"
    )
    # The rule of study.toml sees what was given, too.
    risks = {person.name: [each.rule for each in person.risks] for person in found.people}
    assert risks == {"ann": [], "bob": ["one_value(least=4)"]}


def test_a_decision_is_shown_and_sinks_below_what_is_open(ten: Study) -> None:
    work(ten, "ann", even, 10)
    work(ten, "bob", yes, 10)
    before = overview(ten, "r", NOW).disputes["fits"]
    assert [each.prompt for each in before] == [f"prompt {number}" for number in (1, 3, 5, 7, 9)]
    oversee.adjudicate(ten, "fits", before[0].item, 0.0)
    after = overview(ten, "r", NOW).disputes["fits"]
    assert [each.prompt for each in after] == [f"prompt {number}" for number in (3, 5, 7, 9, 1)]
    assert (after[-1].decided, after[0].decided) == (0.0, None)
    # The decision is no vote: nobody's numbers change by it.
    assert after[-1].votes == before[0].votes
    assert {person.name for person in overview(ten, "r", NOW).people} == {"ann", "bob"}


def test_whoever_is_excluded_counts_no_more_but_stays_in_sight(ten: Study) -> None:
    work(ten, "ann", even, 10)
    work(ten, "bob", one_off, 10)
    oversee.exclude(ten, "bob", "did not read")
    found = overview(ten, "r", NOW)
    assert found.agreement["fits"].value is None
    assert found.disputes["fits"] == []
    bob = found.people[1]
    assert (bob.excluded, bob.done, bob.judgements) == ("did not read", 10, 10)


def test_work_judged_again_by_others_and_by_the_same(tmp_path: Path) -> None:
    with small(tmp_path / "study", 20, {"per_item": 1}) as study:
        work(study, "ann", even, 20)
        assert oversee.again(study, "r", share=0.5, by="other").drawn == 10
        assert oversee.again(study, "r", share=0.25, by="same").drawn == 5
        waiting = overview(study, "r", NOW)
        assert (waiting.progress.again, waiting.progress.again_done, waiting.rejudged) == (15, 0, [])
        work(study, "bob", yes, 10)
        # The second time ann says yes to everything.
        work(study, "ann", yes, 5, NOW + timedelta(hours=2))
        found = overview(study, "r", NOW)
        with database.reading(study.engine) as connection:
            rows = database.fetch(
                connection,
                "SELECT p.text FROM round_item i JOIN round_item_slot s ON s.round_item_id = i.id "
                "JOIN item u ON u.id = s.item_id JOIN prompt p ON p.id = u.prompt_id WHERE i.kind = 'again'",
            )
        drawn_even = sum(even(text, 0) for (text,) in rows)
    checked = {each.by: each for each in found.rejudged}
    assert (found.progress.again_done, found.progress.wanted, found.progress.done) == (15, 20, 20)
    for by, n in (("other", 10), ("same", 5)):
        assert (checked[by].agreement.n, checked[by].same.n) == (n, n)
        # Always yes against a mixture agrees as often as the mixture says yes, and no better than chance.
        assert checked[by].agreement.value in (None, 0.0)
        assert checked[by].same.low < checked[by].same.value
    # Bob agrees with ann's first vote exactly on the even prompts among those that were drawn.
    assert checked["other"].same.value == pytest.approx(drawn_even / 10)


def test_screening_rules_say_who_is_at_risk(tmp_path: Path) -> None:
    toml = '[screening]\nrules = ["one_value(least=5)", "control_kappa"]\n'
    with small(tmp_path / "study", 10, toml=toml) as study:
        work(study, "ann", even, 10)
        work(study, "bob", yes, 10)
        found = overview(study, "r", NOW)
    ann, bob = found.people
    assert ann.risks == ()
    assert [(risk.rule, risk.question) for risk in bob.risks] == [("one_value(least=5)", "fits")]
    assert bob.risks[0].reason == "gave 1 in all of 10 judgements"
    # A rule that needs control items says so instead of stopping the page.
    assert any("control_kappa" in said for said in found.notes)
    with small(tmp_path / "wrong", 4, toml='[screening]\nrules = ["one_valu"]\n') as study:
        (said,) = overview(study, "r", NOW).notes
    assert "one_valu" in said and "one_value" in said


def test_nothing_was_judged_yet(ten: Study) -> None:
    oversee.invite(ten, "r", "ann")
    found = overview(ten, "r", NOW)
    assert (found.progress.done, found.times.n) == (0, 0)
    (ann,) = found.people
    assert ann.link_expires is not None
    assert (ann.done, ann.seconds, ann.reference.value, ann.passed + ann.failed) == (0, None, None, 0)
    assert found.agreement["fits"].value is None


# -- labels and categories ----------------------------------------------------------------------------------


def test_labels_by_system_and_categories_by_query(ten: Study) -> None:
    work(ten, "ann", even, 10)
    work(ten, "bob", yes, 10)
    counts = {(each.system, each.label): each.n for each in labels_by_system(ten, "r")}
    # Five prompts each: both say yes to the even ones; of the odd ones ann says no and bob yes.
    assert counts == {("even", "no"): 0, ("even", "yes"): 10, ("odd", "no"): 5, ("odd", "yes"): 5}
    rows = {each.prompt: each.counts for each in categories_by_query(ten, "r")}
    # One yes and one no: no answer has more than half.
    assert rows["prompt 2"][CATEGORIES.index("fully relevant")] == 1
    assert rows["prompt 3"][CATEGORIES.index("unsure")] == 1
    assert list(rows)[:5] == [f"prompt {number}" for number in (1, 3, 5, 7, 9)]


@pytest.mark.parametrize(
    ("relevant", "irrelevant", "unsure", "category"),
    [
        (3, 0, 0, "fully relevant"),
        (0, 3, 0, "fully irrelevant"),
        (2, 1, 0, "majority relevant"),
        (2, 0, 1, "majority relevant"),
        (0, 2, 1, "majority irrelevant"),
        (1, 1, 1, "unsure"),
        (2, 2, 0, "unsure"),
        (2, 1, 1, "unsure"),
        (0, 0, 3, "unsure"),
        (1, 0, 0, None),
        (0, 0, 0, None),
    ],
)
def test_the_rule_of_categories(relevant: int, irrelevant: int, unsure: int, category: str | None) -> None:
    (found,) = category_of(np.array([relevant]), np.array([irrelevant]), np.array([unsure])).tolist()
    assert (CATEGORIES[found] if found >= 0 else None) == category


def test_every_released_pair_of_conqa_has_one_category(data: Path) -> None:
    votes = json.loads((data / "conqa" / "mturk.json").read_text("utf-8"))
    counts = np.array([pair for images in votes.values() for pair in images.values()])
    found = category_of(counts[:, 0], counts[:, 1], counts[:, 2])
    # 8,407 pairs with three votes or more; by the rule spelled out one by one they fall as numpy says.
    assert len(counts) == 8407 and (found >= 0).all()
    for (r, i, u), place in zip(counts[:500].tolist(), found[:500].tolist(), strict=True):
        total = r + i + u
        more = "relevant" if r > total / 2 else "irrelevant" if i > total / 2 else ""
        how = "fully" if total in (r, i) else "majority"
        assert CATEGORIES[place] == (f"{how} {more}" if more else "unsure")


# -- people of known character ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Study]:
    """48 prompts of four images and a photo each, judged by the panel; every sixth prompt is a control."""
    folder = tmp_path_factory.mktemp("simulated")
    study = create_study(
        folder / "study",
        settings='[screening]\nrules = ["control_kappa", "reference_photos"]\n'
        '[annotate.r]\nmode = "graded_relevance"\nreference = "photos"\n'
        '[annotate.r.controls]\ntag = "control"\n',
    )
    rng = np.random.default_rng(5)
    picture = folder / "one.png"
    Pillow.new("RGB", (8, 8), (10, 90, 200)).save(picture)
    records: list[Record] = []
    truth: dict[str, float] = {}
    for number in range(48):
        prompt = PromptKey("s", str(number))
        records.append(Prompt(prompt, f"prompt {number}", {"control": "yes"} if number % 6 == 0 else {}))
        for system in ("a", "b", "c", "d", "photos"):
            image = ImageKey("c", f"{number}-{system}.png")
            truth[image.name] = 1.0 if system == "photos" else float(rng.random())
            records += [Image(image, str(picture)), Answer(prompt, system, 0, image)]
    load(study, records, importer="test", path="test", digest="1")
    annotate(study)
    right = {key: truth[name] for key, name in reading.images(study).select("image_id", "name").iter_rows()}
    trusted = [Annotator(f"control-{n}", "careful", noise=0.03, speed=8.0) for n in (1, 2)]
    judge_round(study, "r", trusted, right, 8, NOW - timedelta(days=1), role="control")
    judge_round(study, "r", panel(), right, 16, NOW - timedelta(minutes=30))
    yield study
    study.close()


def test_the_spiteful_is_told_from_the_careful(simulated: Study) -> None:
    found = overview(simulated, "r", NOW)
    people = {person.name: person for person in found.people}
    hugo, amara = people["hugo"], people["amara"]
    assert {risk.rule for risk in hugo.risks} == {"control_kappa", "reference_photos"}
    assert "control_kappa" not in {risk.rule for risk in amara.risks}
    assert hugo.failed > amara.failed and amara.passed > hugo.passed
    assert (amara.reference.value or 0) > 0.9 > 0.8 > (hugo.reference.value or 0)
    assert hugo.agreement["relevance"].value < 0.35 < amara.agreement["relevance"].value
    assert hugo.seconds < amara.seconds / 2
    # Whoever judged the controls beforehand is shown as such, and not tested against themselves.
    trusted = people["control-1"]
    assert (trusted.role, trusted.passed, trusted.failed) == ("control", 0, 0)
    # Every page of the panel holds one photo, which is a control too.
    assert amara.reference.n == amara.done


def test_controls_are_no_part_of_labels_and_disputes(simulated: Study) -> None:
    assert {each.system for each in labels_by_system(simulated, "r")} == {"a", "b", "c", "d"}
    shown = {each.prompt for each in overview(simulated, "r", NOW).disputes["relevance"]}
    assert shown and shown.isdisjoint({f"prompt {number}" for number in range(0, 48, 6)})


# -- a large round ------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_hundred_thousand_judgements_are_overseen_in_seconds(tmp_path: Path) -> None:
    items, people, per_item = 10_000, 100, 10
    with small(tmp_path / "study", items) as study:
        _fill(study, items, people, per_item)
        overview(study, "r", NOW)  # the first call loads what the arithmetic needs
        took = []
        for _ in range(3):
            # What it costs, not how long it waits for a machine that others use at the same time.
            began = time.process_time()
            found = overview(study, "r", NOW)
            took.append(time.process_time() - began)
    assert found.progress.judgements == items * per_item
    assert len(found.people) == people and len(found.disputes["fits"]) == 20
    alpha = found.agreement["fits"]
    # Votes are right with chance .8: two agree with .68 where chance gives .5, so alpha is about .36.
    assert alpha.value == pytest.approx(0.36, abs=0.02)
    # A query for each judgement would take minutes.
    assert min(took) < 10, took


def _fill(study: Study, items: int, people: int, per_item: int) -> None:
    """Write pages and judgements straight into the tables: handing them out one by one would take minutes."""
    rng = np.random.default_rng(0)
    with database.writing(study.engine, durable=False) as connection:
        round_ = rounds.get_round(study, "r")
        (question, _), *_ = round_.questions
        who = [tokens.annotator(connection, f"p{number:03d}") for number in range(people)]
        slots = database.fetch(
            connection, "SELECT round_item_id, item_id FROM round_item_slot ORDER BY round_item_id"
        )
        truth = rng.random(items) < 0.5
        pages, page_slots, judgements = [], [], []
        at, key = "2026-03-01T10:00:00Z", 0
        ordinal = dict.fromkeys(who, 0)
        for number, (item, subject) in enumerate(slots):
            for person in rng.permutation(who)[:per_item].tolist():
                key += 1
                pages.append(
                    (key, f"{key:032x}", round_.id, person, item, 1, ordinal[person], "done", 1, at, at)
                )
                ordinal[person] += 1
                page_slots.append((key, 0, subject, 0, 0, 0))
                value = float(truth[number] if rng.random() < 0.8 else not truth[number])
                judgements.append((key, f"{key:032x}", question, subject, person, key, value, at))
        columns = "id key round_id annotator_id round_item_id session ordinal state counted assigned finished"
        database.insert(connection, tables.task, columns.split(), pages)
        columns = "task_id slot item_id control swapped repetition"
        database.insert(connection, tables.task_slot, columns.split(), page_slots)
        columns = "id key question_id item_id annotator_id task_id value at"
        same = {"slot": 0, "repetition": 0, "revision": 0, "n": 1, "session": "r-1", "control": 0}
        same["took_ms"] = 9000
        rows = [(*row, *same.values()) for row in judgements]
        database.insert(connection, tables.judgement, [*columns.split(), *same], rows)
    assert len(judgements) == items * per_item and math.isclose(float(truth.mean()), 0.5, abs_tol=0.05)
