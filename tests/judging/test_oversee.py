"""What the owner does while people judge: each action does what it says, is logged, and loses nothing."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image as Pillow

from sightline.errors import ConflictError, DataError, UsageError
from sightline.judging import oversee
from sightline.judging.annotate import annotate
from sightline.judging.labels import categories_by_query, labels_by_system
from sightline.judging.overview import overview
from sightline.judging.reopening import Reopened, reopen
from sightline.judging.store import rounds, tokens
from sightline.judging.truth import truth
from sightline.records import (
    AnnotatorKey,
    Answer,
    Image,
    ImageKey,
    Item,
    Judgement,
    Prompt,
    PromptKey,
    Record,
)
from sightline.samples.annotators import Annotator
from sightline.samples.judging import judge_round
from sightline.study import listing, reading
from sightline.study.schema import database
from sightline.study.study import Study, create_study, open_study
from sightline.study.writing.loading import load

NOW = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
PEOPLE = tuple(Annotator(name, "careful", noise=0.3, speed=5.0) for name in ("ann", "bob", "cat"))
SETTINGS = '[screening]\nrules = []\n[annotate.fits]\nmode = "yes_no"\nper_item = 2\nlanguages = ["de"]\n'


def make(folder: Path, prompts: int = 10, address: str = "") -> Study:
    """A study with a round of yes or no on one image a prompt."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    picture = folder.parent / f"{folder.name}.png"
    Pillow.new("RGB", (8, 8), (10, 90, 200)).save(picture)
    study = create_study(folder, settings=SETTINGS, database_address=address)
    records: list[Record] = []
    for number in range(prompts):
        prompt, image = PromptKey("s", f"p{number}"), ImageKey("c", f"{number}.png")
        records += [Prompt(prompt, f"prompt {number}"), Image(image, str(picture))]
        records.append(Answer(prompt, "system", 0, image))
    load(study, records, importer="test", path="test", digest="1")
    annotate(study)
    return study


@pytest.fixture
def study(tmp_path: Path) -> Iterator[Study]:
    with make(tmp_path / "study") as made:
        yield made


@pytest.fixture
def judged(study: Study) -> Study:
    """All work done: 10 items, two judgements each."""
    right = {key: float(key % 2) for (key,) in reading.images(study).select("image_id").iter_rows()}
    judge_round(study, "fits", PEOPLE, right, 10, NOW)
    return study


def log(study: Study) -> list[tuple[str, dict[str, Any]]]:
    return [(what, dict(told)) for what, told in listing.events(study, "owner")]


def rows(study: Study, query: str) -> list[tuple[Any, ...]]:
    with database.reading(study.engine) as connection:
        return database.fetch(connection, query)


def table_of(study: Study) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(oversee.judgements_csv(study, "fits"))))


def take_in(study: Study, table: list[dict[str, str]], name: str = "t.csv") -> oversee.AddedJudgements:
    out = io.StringIO()
    writer = csv.DictWriter(out, list(table[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(table)
    return oversee.take_in(study, out.getvalue().encode(), name)


# -- links --------------------------------------------------------------------------------------------------


def test_an_invitation_lets_in_until_it_is_revoked(study: Study) -> None:
    made = oversee.invite(study, "fits", " ann ", days=2)
    key = tokens.signing_key(study)
    holder = tokens.token_holder(study, key, made.token)
    assert isinstance(holder, tokens.Holder)
    assert (holder.role, holder.round_id) == ("annotator", rounds.get_round(study, "fits").id)
    second = oversee.invite(study, "fits", "ann")
    assert oversee.revoke(study, "fits", "ann") == 2
    for token in (made.token, second.token):
        assert tokens.token_holder(study, key, token) == "this link was revoked"
    assert oversee.revoke(study, "fits", "ann") == 0
    noted = log(study)
    assert [what for what, _ in noted] == ["invite", "invite", "revoke", "revoke"]
    assert noted[0][1]["name"] == "ann" and noted[2][1]["links"] == 2
    # The log can be read by more people than may judge: it must not hold what lets them in.
    assert made.token not in json.dumps(noted) and second.token not in json.dumps(noted)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda s: oversee.invite(s, "fit", "ann"), "fits"),
        (lambda s: oversee.invite(s, "fits", "ann", "anotator"), "annotator"),
        (lambda s: oversee.invite(s, "fits", "ann", language="dee"), "de"),
        (lambda s: oversee.invite(s, "fits", "  "), "Give one"),
        (lambda s: oversee.invite(s, "fits", "ann", days=0), "Between"),
        (lambda s: oversee.revoke(s, "fits", "bobb"), "bob"),
        (lambda s: oversee.pause(s, "fitz"), "fits"),
        (lambda s: oversee.exclude(s, "bobb", "why"), "bob"),
        (lambda s: oversee.exclude(s, "bob", "  "), "Say why"),
        (lambda s: oversee.restore(s, "bob"), "nothing to restore"),
        (lambda s: oversee.adjudicate(s, "matchs", 1, 1), "match"),
        (lambda s: oversee.again(s, "fits", by="others"), "other"),
        (lambda s: oversee.again(s, "fits", share=0), "Above 0"),
        (lambda s: oversee.judgements_csv(s, "fitts"), "fits"),
    ],
)
def test_what_is_wrong_is_told_with_what_would_be_right(judged: Study, call: Any, said: str) -> None:
    before = len(log(judged))
    with pytest.raises(UsageError) as told:
        call(judged)
    assert said in told.value.remedy
    assert len(log(judged)) == before


def test_a_name_that_two_panels_have(judged: Study) -> None:
    item = Item(PromptKey("s", "p0"), image=ImageKey("c", "0.png"))
    votes = [Judgement("match", item, 1.0, AnnotatorKey(panel, "zoe")) for panel in ("lab", "crowd")]
    load(judged, votes, importer="test", path="more", digest="2")
    with pytest.raises(UsageError, match="2 annotators are called 'zoe'") as error:
        oversee.exclude(judged, "zoe", "why")
    assert "crowd/zoe or lab/zoe" in error.value.remedy
    oversee.exclude(judged, "lab/zoe", "why")
    left = dict(reading.annotators(judged).filter(name="zoe").select("panel", "left_out").rows())
    assert left == {"lab": "why", "crowd": None}


# -- pausing, excluding, deciding ---------------------------------------------------------------------------


def test_pause_and_resume_before_anything_is_finished(study: Study) -> None:
    oversee.pause(study, "fits")
    assert rounds.get_round(study, "fits").state == "paused"
    oversee.pause(study, "fits")
    oversee.resume(study, "fits")
    assert rounds.get_round(study, "fits").state == "open"
    assert [what for what, _ in log(study)] == ["pause", "resume"]
    with pytest.raises(UsageError, match="finished"):
        oversee.again(study, "fits")


def test_excluding_deletes_nothing_and_can_be_taken_back(judged: Study) -> None:
    everything = rows(judged, "SELECT * FROM judgement ORDER BY id")
    before = truth(judged, "match").questions[0]
    oversee.exclude(judged, "cat", " too fast ")
    assert rows(judged, "SELECT * FROM judgement ORDER BY id") == everything
    (settled,) = truth(judged, "match").questions
    assert [(out.annotator, out.rule, out.reason) for out in settled.excluded] == [
        ("cat", "owner", "too fast")
    ]
    assert settled.judgements < before.judgements
    with pytest.raises(UsageError, match="excluded"):
        oversee.invite(judged, "fits", "cat")
    oversee.restore(judged, "cat")
    assert truth(judged, "match").questions[0].judgements == before.judgements
    assert log(judged) == [
        ("exclude", {"panel": "people", "name": "cat", "reason": "too fast"}),
        ("restore", {"panel": "people", "name": "cat"}),
    ]


def test_a_decision_stands_above_the_votes_and_can_be_revised(judged: Study) -> None:
    subject = rows(judged, "SELECT item_id FROM judgement ORDER BY id LIMIT 1")[0][0]
    votes = len(rows(judged, "SELECT id FROM judgement"))
    first = oversee.adjudicate(judged, "match", subject, 1)
    assert (first.revision, first.fresh) == (0, True)
    assert oversee.adjudicate(judged, "match", subject, 1.0) == first._replace(fresh=False)
    assert oversee.adjudicate(judged, "match", subject, 0).revision == 1
    kept = rows(
        judged,
        "SELECT a.panel, a.name, a.role, j.revision, j.value FROM judgement j "
        "JOIN annotator a ON a.id = j.annotator_id WHERE a.role = 'adjudicator' ORDER BY j.id",
    )
    assert kept == [("owner", "owner", "adjudicator", 0, 1.0), ("owner", "owner", "adjudicator", 1, 0.0)]
    assert len(rows(judged, "SELECT id FROM judgement")) == votes + 2
    (settled,) = truth(judged, "match").questions
    assert settled.adjudicated == 1
    assert dict(reading.truths(judged, "match").select("item_id", "value").rows())[subject] == 0.0
    assert [told["revision"] for what, told in log(judged) if what == "adjudicate"] == [0, 1]
    with pytest.raises(UsageError, match="decides"):
        oversee.exclude(judged, "owner/owner", "why")


@pytest.mark.parametrize(
    ("value", "subject", "said"),
    [(2.0, None, "off the scale"), (0.5, None, "none of"), (1.0, 10**9, "nobody")],
)
def test_a_decision_that_makes_no_sense(judged: Study, value: float, subject: int | None, said: str) -> None:
    known = rows(judged, "SELECT item_id FROM judgement LIMIT 1")[0][0]
    with pytest.raises(UsageError, match=said):
        oversee.adjudicate(judged, "match", subject or known, value)
    assert rows(judged, "SELECT 1 FROM annotator WHERE role = 'adjudicator'") == []


# -- judging again ------------------------------------------------------------------------------------------


def test_a_share_of_the_finished_work_is_judged_again(judged: Study) -> None:
    drawn = oversee.again(judged, "fits", share=0.2, by="other", seed=3)
    assert (drawn.done, drawn.before, drawn.drawn) == (10, 0, 2)
    made = rows(judged, "SELECT again_of, wanted, given, done FROM round_item WHERE kind = 'again'")
    assert [row[1:] for row in made] == [(1, 0, 0)] * 2
    for key, of in rows(judged, "SELECT id, again_of FROM round_item WHERE kind = 'again'"):
        shown = [
            rows(judged, f"SELECT slot, item_id, control FROM round_item_slot WHERE round_item_id = {i}")
            for i in (key, of)
        ]
        assert shown[0] == shown[1] and shown[0]
    # Asked for once more, the same share is there already; a larger one draws the difference.
    assert oversee.again(judged, "fits", share=0.2).drawn == 0
    more = oversee.again(judged, "fits", share=0.5)
    assert (more.before, more.drawn) == (2, 3)
    again_of = [row[0] for row in rows(judged, "SELECT again_of FROM round_item WHERE kind = 'again'")]
    assert len(set(again_of)) == 5
    assert oversee.again(judged, "fits", share=0.1, by="same").drawn == 1
    assert [told["items"] for what, told in log(judged) if what == "again"] == [2, 0, 3, 1]


def test_the_same_seed_draws_the_same(tmp_path: Path) -> None:
    def drawn(name: str, seed: int) -> list[tuple[Any, ...]]:
        with make(tmp_path / name) as made:
            judge_round(made, "fits", PEOPLE, {}, 10, NOW)
            oversee.again(made, "fits", share=0.4, seed=seed)
            return rows(made, "SELECT again_of FROM round_item WHERE kind = 'again' ORDER BY id")

    first = drawn("one", 1)
    assert drawn("two", 1) == first != drawn("three", 2)


def test_somebody_else_gets_what_is_judged_again(judged: Study) -> None:
    oversee.again(judged, "fits", share=1.0, by="other")
    judge_round(judged, "fits", PEOPLE, {}, 10, NOW)
    done = "FROM task p JOIN round_item i ON i.id = p.round_item_id WHERE p.state = 'done' AND i.kind ="
    pairs = rows(judged, f"SELECT p.annotator_id, i.again_of {done} 'again'")
    earlier = rows(judged, f"SELECT p.annotator_id, i.id {done} 'work'")
    assert len(pairs) == 10 and set(earlier).isdisjoint(pairs)


# -- tables -------------------------------------------------------------------------------------------------


def test_a_downloaded_table_is_known_when_it_comes_back(judged: Study) -> None:
    told = oversee.judgements_csv(judged, "fits")
    read = list(csv.DictReader(io.StringIO(told)))
    assert len(read) == 20 and {row["annotator"] for row in read} <= {"ann", "bob", "cat"}
    before = rows(judged, "SELECT * FROM judgement")
    back = oversee.take_in(judged, told.encode(), "back.csv")
    assert (back.added, back.known, back.open, back.tasks) == (0, 20, 0, 0)
    assert rows(judged, "SELECT * FROM judgement") == before
    assert log(judged)[-1][0] == "take in"


def test_a_half_finished_table_goes_on_where_it_ended(tmp_path: Path) -> None:
    with make(tmp_path / "here") as here, make(tmp_path / "there") as there:
        judge_round(here, "fits", PEOPLE[:1], {}, 10, NOW)
        whole = table_of(here)
        for row in whole[4:]:
            row["value"] = ""
        taken = take_in(there, whole)
        assert (taken.added, taken.known, taken.open, taken.tasks) == (4, 0, 6, 4)
        assert "4 judgements added" in taken.sentence and "6 rows without an answer" in taken.sentence
        assert rows(there, "SELECT state, count(*) FROM task GROUP BY state") == [("done", 4)]
        # Ann goes on with the six that are left, and is asked nothing twice.
        judge_round(there, "fits", PEOPLE[:1], {}, 20, NOW)
        assert rows(there, "SELECT count(*), count(DISTINCT item_id) FROM judgement") == [(10, 10)]
        # The same table again adds nothing; the finished one conflicts nowhere it agrees.
        assert take_in(there, whole).known == 4


def test_a_table_without_any_answer_yet(judged: Study) -> None:
    table = table_of(judged)
    taken = take_in(judged, [{**row, "value": "", "annotator": "dora"} for row in table])
    assert (taken.added, taken.known, taken.open) == (0, 0, 20)
    assert rows(judged, "SELECT 1 FROM annotator WHERE name = 'dora'") == []


def test_a_row_that_disagrees_is_named(judged: Study) -> None:
    table = table_of(judged)
    table[6]["value"] = "0" if float(table[6]["value"]) else "1"
    before = rows(judged, "SELECT * FROM judgement")
    with pytest.raises(ConflictError) as error:
        take_in(judged, table, "folder/the table.csv")
    # The header is line 1, so the seventh row is line 8.
    assert error.value.where == "the_table.csv:8"
    assert table[6]["annotator"] in error.value.what
    assert rows(judged, "SELECT * FROM judgement") == before


def test_a_changed_mind_comes_in_as_a_revision(judged: Study) -> None:
    table = table_of(judged)[:1]
    table[0] |= {"revision": "1", "value": "0" if float(table[0]["value"]) else "1"}
    assert take_in(judged, table).added == 1
    assert rows(judged, "SELECT max(revision) FROM judgement") == [(1,)]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"value": "7"}, "off the scale"),
        ({"value": "maybe"}, "value"),
        ({"question": "matchez"}, "no question"),
        ({"annotator": ""}, "nobody"),
        ({"prompt_id": "p99"}, "p99"),
    ],
)
def test_a_wrong_row_is_named_and_nothing_comes_in(judged: Study, change: dict[str, str], said: str) -> None:
    table = table_of(judged)
    # An unanswered row before it does not move the count of lines.
    table[0] |= {"annotator": "dora", "value": ""}
    table[1] |= {"annotator": "dora", **change}
    with pytest.raises(DataError) as error:
        take_in(judged, table)
    assert said in str(error.value) and "t.csv:3" in error.value.where
    assert rows(judged, "SELECT 1 FROM annotator WHERE name = 'dora'") == []


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "nothing|empty|no header"),
        (b"\xff\xfe\x00", "UTF-8"),
        (b"annotator,question,value\n", "no rows"),
        (b"some,other\n1,2\n", "question|value"),
    ],
)
def test_what_is_no_table_of_judgements(judged: Study, data: bytes, said: str) -> None:
    with pytest.raises(DataError, match=said):
        oversee.take_in(judged, data, "x.csv")


def test_formulas_are_guarded_on_the_way_out_and_back(tmp_path: Path) -> None:
    evil = '=HYPERLINK("http://evil","x")'
    with make(tmp_path / "study") as here:
        judge_round(here, "fits", (Annotator(evil, "careful"), Annotator("'=x", "careful")), {}, 3, NOW)
        told = oversee.judgements_csv(here, "fits")
        names = {row["annotator"] for row in csv.DictReader(io.StringIO(told))}
        assert names == {f"'{evil}", "''=x"}
        assert oversee.take_in(here, told.encode(), "t.csv").known == 6
        with make(tmp_path / "other") as other:
            assert oversee.take_in(other, told.encode(), "t.csv").added == 6
            assert set(reading.annotators(other)["name"]) == {evil, "'=x"}


@settings(max_examples=15, suppress_health_check=list(HealthCheck))
@given(name=st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), min_size=1, max_size=20))
def test_any_name_survives_the_table(tmp_path_factory: pytest.TempPathFactory, name: str) -> None:
    folder = tmp_path_factory.mktemp("any")
    if not name.strip():
        return
    with make(folder / "here", 2) as here, make(folder / "there", 2) as there:
        judge_round(here, "fits", (Annotator(name.strip(), "careful"),), {}, 2, NOW)
        told = oversee.judgements_csv(here, "fits")
        assert oversee.take_in(there, told.encode(), "t.csv").added == 2
        assert oversee.take_in(there, told.encode(), "t.csv").known == 2
        assert reading.annotators(there)["name"].to_list() == [name.strip()]


def test_all_of_it_on_postgresql(tmp_path: Path, postgres_url: str) -> None:
    with make(tmp_path / "study", address=postgres_url) as shared, make(tmp_path / "local") as local:
        for made in (shared, local):
            right = {key: float(key % 2) for (key,) in reading.images(made).select("image_id").iter_rows()}
            oversee.invite(made, "fits", "ann")
            judge_round(made, "fits", PEOPLE, right, 10, NOW)
            oversee.exclude(made, "cat", "why")
            oversee.again(made, "fits", share=0.5)
            oversee.revoke(made, "fits", "ann")
        told = [overview(made, "fits", NOW) for made in (shared, local)]
        assert told[0].progress == told[1].progress and told[0].cost == told[1].cost
        assert [(p.name, p.excluded, p.link_expires) for p in told[0].people] == [
            ("ann", None, None), ("bob", None, None), ("cat", "why", None),
        ]  # fmt: skip
        subject = rows(shared, "SELECT min(item_id) FROM judgement")[0][0]
        assert oversee.adjudicate(shared, "match", subject, 1).fresh
        assert {each.label for each in labels_by_system(shared, "fits")} == {"yes", "no"}
        assert categories_by_query(shared, "fits") is not None
        table = oversee.judgements_csv(shared, "fits")
        assert oversee.take_in(shared, table.encode(), "t.csv").known == 20


def test_whom_a_rule_excludes_loses_their_places_to_others(tmp_path: Path) -> None:
    with make(tmp_path / "study") as study:
        settings_file = study.home / "study.toml"
        settings_file.write_text(SETTINGS.replace("rules = []", 'rules = ["one_value(least=4)"]'))
    with open_study(tmp_path / "study") as study:
        right = {key: float(key % 2) for (key,) in reading.images(study).select("image_id").iter_rows()}
        careless = Annotator("bob", "careless", bias=5.0)
        judge_round(study, "fits", (PEOPLE[0], careless), right, 10, NOW)
        before = overview(study, "fits", NOW).progress
        assert (before.done, before.wanted, before.judgements) == (20, 20, 20)
        found = reopen(study, "fits")
        assert (list(found.out), list(found.back)) == (["bob"], [])
        assert reopen(study, "fits") == Reopened(), "it is done once"
        after = overview(study, "fits", NOW)
        # Ten items have one valid judgement each, and two are wanted.
        assert (after.progress.done, after.progress.judgements, after.progress.people_missing) == (10, 10, 1)
        assert {person.name: person.screened for person in after.people} == {"ann": False, "bob": True}
        (settled,) = truth(study).questions
        assert dict(settled.reopened) == {"fits": 10}
        assert any("10 judgements are wanted again in the round fits" in note for note in settled.notes)
        judge_round(study, "fits", (PEOPLE[2],), right, 10, NOW)
        whole = overview(study, "fits", NOW).progress
        assert (whole.done, whole.judgements, whole.people_missing) == (20, 20, 0)
        assert not truth(study).questions[0].reopened
        assert [what for what, _ in log(study)].count("screen") == 1
        # Without the rule, the places come back; the third judgement of an item is one more than wanted.
        settings_file.write_text(SETTINGS)
    with open_study(tmp_path / "study") as study:
        assert list(reopen(study, "fits").back) == ["bob"]
        assert overview(study, "fits", NOW).progress.done == 20


def test_where_rules_would_exclude_everybody_nothing_is_reopened(tmp_path: Path) -> None:
    with make(tmp_path / "study") as study:
        (study.home / "study.toml").write_text(
            SETTINGS.replace("rules = []", 'rules = ["one_value(least=4)"]')
        )
    with open_study(tmp_path / "study") as study:
        right = dict.fromkeys(reading.images(study)["image_id"].to_list(), 1.0)
        judge_round(
            study, "fits", [Annotator(n, "careless", bias=5.0) for n in ("ann", "bob")], right, 10, NOW
        )
        assert reopen(study, "fits") == Reopened()
        assert overview(study, "fits", NOW).progress.done == 20


def test_control_annotators_are_invited_with_the_round(study: Study) -> None:
    found = annotate(study, invite=["ann"], control=["carla"])
    assert [(each.name, each.role) for each in found.invitations] == [
        ("ann", "annotator"),
        ("carla", "control"),
    ]
    assert {each.name: each.role for each in overview(study, "fits", NOW).people} == {
        "ann": "annotator",
        "carla": "control",
    }
