"""Scoring a study: each content once, only what changed, and no value without its reason."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text
from studies import put

from sightline import pictures
from sightline.errors import ExtensionError, SightlineError, UsageError
from sightline.extension import Configured
from sightline.pictures import decode
from sightline.records import Answer, Image, ImageKey, Prompt, PromptKey
from sightline.registry import find_measure
from sightline.study import reading
from sightline.study.running.place import Place
from sightline.study.running.progress import Progress
from sightline.study.running.run import run, run_together
from sightline.study.schema import database
from sightline.study.scores import ERROR
from sightline.study.study import Study

Define = Callable[..., Configured]
Greys = Callable[[Iterable[int]], Study]
Seen = Callable[[], list[str]]
Filled = Callable[..., Study]
Png = Callable[..., bytes]

# Mean brightness; every picture it is given is written down.
LEVEL = """
with open(os.environ["SEEN"], "a") as log:
    log.writelines(image.sha256 + "\\n" for image in images)
return [Value(float(image.rgb.mean()), {"first": int(image.rgb[0, 0, 0])}) for image in images]
"""


@pytest.fixture
def seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Seen:
    log = tmp_path / "seen"
    log.touch()
    monkeypatch.setenv("SEEN", str(log))
    return lambda: log.read_text().split()


def rows(study: Study, table: str) -> list[tuple[Any, ...]]:
    kept = reading.fetch_rows(study, f"SELECT * FROM {table} ORDER BY 1, 2, 3, 4")
    return [tuple(json.dumps(v) if isinstance(v, dict) else v for v in row) for row in kept]


def values(study: Study, measure: Configured) -> list[float | None]:
    return reading.scores(study, measure.identity)["value"].to_list()


def change(study: Study, statement: str) -> None:
    with database.writing(study.engine) as connection:
        connection.execute(text(statement))


def test_one_content_is_computed_once_and_its_evidence_goes_to_every_twin(
    tmp_path: Path, define: Define, greys: Greys, grey_png: Png, seen: Seen
) -> None:
    measure = define("of_image", "level_once", LEVEL)
    study = greys([100, 200, 100, 200, 100])
    ran = run(study, measure, batch=1)
    assert Counter(Counter(seen()).values()) == {1: 2}
    assert (ran.total, ran.computed) == (5, 2)
    first = rows(study, "score")
    assert len(first) == 5 and len({row[5] for row in first}) == 2
    assert len(rows(study, "evidence")) == 5

    # A twin that comes later gets the score and what it rests on, without being computed.
    late = tmp_path / "late.png"
    late.write_bytes(grey_png(100))
    put(study, [Image(ImageKey("pictures", "late.png"), str(late))], "2")
    ran = run(study, measure)
    assert (ran.total, ran.known, ran.computed) == (6, 6, 0)
    assert len(seen()) == 2
    scores, evidence = rows(study, "score"), rows(study, "evidence")
    assert scores[-1][4:] == scores[0][4:]
    assert evidence[-1][4] == evidence[0][4] and '"first"' in evidence[0][4]

    # Nothing is left to do.
    assert run(study, measure).computed == 0
    assert rows(study, "score") == scores and len(seen()) == 2


def test_another_measure_does_not_repeat_the_first(define: Define, greys: Greys, seen: Seen) -> None:
    study = greys(range(5, 125, 20))
    run(study, define("of_image", "level_first", LEVEL))
    before = rows(study, "score")
    run(study, define("of_image", "level_second", LEVEL))
    assert Counter(Counter(seen()).values()) == {2: 6}
    after = rows(study, "score")
    assert after[:6] == before and [row[5] for row in after[6:]] == [row[5] for row in before]


def test_several_measures_decode_a_picture_once(
    tmp_path: Path, filled: Filled, grey_png: Png, monkeypatch: pytest.MonkeyPatch
) -> None:
    decoded: list[str] = []
    monkeypatch.setattr(
        pictures, "decode", lambda data, where="": decoded.append(where) or decode(data, where)
    )
    files = {f"{n}.png": grey_png(10 * n) for n in range(6)} | {"twin.png": grey_png(0)}
    names = ["brightness", "contrast", "sharpness"]
    with filled(tmp_path / "together", files) as study:
        run(study, find_measure("contrast"))
        decoded.clear()
        ran = run_together(study, [find_measure(name) for name in names], batch=2)
        assert len(decoded) == 6, "one look at each content, however many measures want it"
        assert [each.computed for each in ran] == [6, 0, 6]
        assert [each.known for each in ran] == [0, 7, 0]
        together = rows(study, "score")
    with filled(tmp_path / "apart", files) as study:
        for name in ("contrast", "brightness", "sharpness"):
            run(study, find_measure(name))
        assert rows(study, "score") == together


def test_measures_of_images_and_answers_decode_a_picture_once(
    tmp_path: Path, filled: Filled, grey_png: Png, monkeypatch: pytest.MonkeyPatch
) -> None:
    decoded: list[str] = []
    monkeypatch.setattr(
        pictures, "decode", lambda data, where="": decoded.append(where) or decode(data, where)
    )
    files = {f"{n}.png": grey_png(10 * n) for n in range(7)}
    both = [find_measure("colour_match"), find_measure("brightness"), find_measure("contrast")]
    with filled(tmp_path / "together", files, Image(ImageKey("pictures", "0.png"))) as study:
        ran = run_together(study, both, batch=2)
        assert len(decoded) == 7, "one look at each image, whether it is measured by itself or as an answer"
        assert [each.computed for each in ran] == [7, 7, 7]
        assert ran[0].reasons == {"the prompt names no colour": 7} and None not in values(study, both[1])
        decoded.clear()
        assert [each.computed for each in run_together(study, both)] == [0, 0, 0] and not decoded


def test_only_what_changed_is_computed_again(define: Define, greys: Greys, seen: Seen) -> None:
    letters = define(
        "of_answer",
        "letters",
        """
        with open(os.environ["SEEN"], "a") as log:
            log.writelines(prompt.key.ref + "\\n" for prompt in prompts)
        return [float(len(prompt.text)) for prompt in prompts]
        """,
    )
    how_many = define(
        "of_set",
        "how_many",
        """
        with open(os.environ["SEEN"], "a") as log:
            log.write(f"set_of_{len(images)}\\n")
        return len(images)
        """,
    )
    study = greys(range(5, 85, 20))
    run(study, letters)
    run(study, how_many)
    assert Counter(seen()) == {"0": 1, "1": 1, "2": 1, "3": 1, "set_of_1": 4}
    assert run(study, letters).computed == 0

    change(study, "UPDATE prompt SET text = 'changed' WHERE ref = '2'")
    assert run(study, letters).computed == 1
    assert Counter(seen())["2"] == 2
    # "prompt number 0" has 15 letters, "changed" 7.
    assert values(study, letters) == [15, 15, 7, 15]
    # The wording of a prompt is not among what a measure of a set is given.
    assert run(study, how_many).computed == 0

    more = Answer(PromptKey("p", "1"), "one", 1, ImageKey("pictures", "03.png"))
    put(study, [more], "more")
    ran = run(study, how_many)
    assert (ran.known, ran.computed) == (3, 1)
    assert values(study, how_many) == [1, 2, 1, 1]
    # The new answer is a new pair of prompt and image; the other four stay.
    assert run(study, letters).computed == 1


def test_a_score_that_is_replaced_takes_its_evidence_along(define: Define, greys: Greys) -> None:
    # Evidence only for prompts that ask for it.
    body = 'return [Value(1.0, {"text": p.text}) if "number" in p.text else 2.0 for p in prompts]'
    seldom = define("of_answer", "seldom", body)
    study = greys([5, 50])
    run(study, seldom)
    assert len(rows(study, "evidence")) == 2
    change(study, "UPDATE prompt SET text = 'other' WHERE ref = '0'")
    run(study, seldom)
    assert [(row[1], json.loads(row[4])) for row in rows(study, "evidence")] == [
        (2, {"text": "prompt number 1"})
    ]


# Raises on dark pictures while it is in a bad mood.
FUSSY = """
for image in images:
    if image.rgb.mean() < 50 and os.path.exists(os.environ["MOOD"]):
        raise {error}
return [float(image.rgb.mean()) if image.rgb.mean() < 200 else NoValue("too bright") for image in images]
"""


@pytest.mark.parametrize(
    ("name", "error", "said"),
    [
        ("fussy_value", "ValueError('no dark\\n  pictures \\0\\udc80')", "ValueError: no dark pictures ?"),
        ("fussy_exit", "SystemExit(3)", "SystemExit: 3"),
    ],
)
def test_one_bad_input_does_not_lose_its_batch_and_is_tried_again(
    tmp_path: Path,
    define: Define,
    greys: Greys,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    error: str,
    said: str,
) -> None:
    mood = tmp_path / "mood"
    mood.touch()
    monkeypatch.setenv("MOOD", str(mood))
    measure = define("of_image", name, FUSSY.format(error=error))
    study = greys([100, 20, 120, 230, 140])
    ran = run(study, measure)
    assert ran.reasons == {f"{ERROR}{name} raised {said}": 1, "too bright": 1}
    found = reading.scores(study, measure.identity)
    assert [value is None for value in found["value"]] == [False, True, False, True, False]
    assert found["reason"][1] == f"{ERROR}{name} raised {said}"

    # Still in a bad mood: tried again, to no avail; what has a value or a lasting reason is left alone.
    assert (run(study, measure).known, run(study, measure).computed) == (4, 1)
    mood.unlink()
    ran = run(study, measure)
    assert (ran.known, ran.computed, ran.reasons) == (4, 1, {"too bright": 1})
    assert reading.scores(study, measure.identity)["value"][1] == pytest.approx(20, abs=3)


def test_images_that_cannot_be_decoded_have_a_reason(
    tmp_path: Path, define: Define, filled: Filled, grey_png: Png, seen: Seen
) -> None:
    measure = define("of_image", "level_broken", LEVEL)
    whole = grey_png(90)
    half = whole[: len(whole) // 2]
    files = {"a.png": whole, "b.png": b"no image at all", "c.png": half, "d.png": grey_png(1)}
    study = filled(tmp_path / "s", files)
    ran = run(study, measure)
    found = reading.scores(study, measure.identity)
    assert [value is None for value in found["value"]] == [False, True, True, False]
    assert found["reason"][1] == "not a readable image (unknown format)"
    assert str(found["reason"][2]).startswith("not a readable image (")
    assert sum(ran.reasons.values()) == 2
    # Bytes that are no image never become one: not tried again, and told again all the same.
    again = run(study, measure)
    assert again.computed == 0 and again.reasons == ran.reasons


def test_image_files_that_are_gone_are_tried_again(
    tmp_path: Path, define: Define, greys: Greys, seen: Seen
) -> None:
    measures = [define("of_image", "level_gone", LEVEL), define("of_set", "set_gone", "return len(images)")]
    study = greys([90, 120])
    sha = reading.images(study)["sha256"][0]
    file = tmp_path / "s" / "images" / sha[:2] / sha
    kept = file.read_bytes()
    file.unlink()
    for measure in measures:
        ran = run(study, measure)
        ((reason, n),) = ran.reasons.items()
        assert n == 1 and reason.startswith(ERROR) and "missing from the study" in reason
    file.write_bytes(kept)
    for measure in measures:
        ran = run(study, measure)
        assert (ran.known, ran.computed, ran.reasons) == (1, 1, {})


@pytest.mark.parametrize("workers", [1, 2])
def test_a_broken_promise_stops_the_run_and_keeps_what_was_done(
    define: Define, greys: Greys, workers: int
) -> None:
    name = f"promise_{workers}"
    # Right, but for the darkest picture.
    body = "return [2.0 if image.rgb.mean() < 10 else 0.5 for image in images]"
    measure = define("of_image", name, body, within="0, 1")
    study = greys([*range(100, 115), 4])
    with pytest.raises(ExtensionError, match=f"{name}: result 0 is 2.0, outside its range"):
        run(study, measure, place=Place(workers), batch=1, worth=0)
    assert values(study, measure) == [0.5] * 15


DEADLY = """
    for image in images:
        if image.rgb.mean() < {limit}:
            os._exit(7)
    return [float(image.rgb.mean()) for image in images]
    """


def test_an_item_that_ends_its_workers_is_quarantined_and_the_rest_computed(
    define: Define, greys: Greys
) -> None:
    deadly = define("of_image", "deadly", DEADLY.format(limit=10))
    study = greys([*range(100, 120), 4, 130])
    ran = run(study, deadly, place=Place(2), batch=4, worth=0)
    found = reading.scores(study, deadly.identity)
    assert found.height == 22 and found["value"].null_count() == 1
    ((reason, n),) = ran.reasons.items()
    assert n == 1 and reason == "quarantined: its worker ended 3 times while it was computed (exit code 7)"
    # Known by now: it ends no worker again.
    again = run(study, deadly, place=Place(2), batch=4, worth=0)
    assert again.known == 22 and again.computed == 0 and again.reasons == ran.reasons


@pytest.mark.slow
def test_a_measure_that_ends_every_worker_stops_the_run(define: Define, greys: Greys) -> None:
    deadly = define("of_image", "deadlier", DEADLY.format(limit=100))
    study = greys([200, *range(20, 40)])
    with pytest.raises(SightlineError, match=r"ended unexpectedly \(exit code 7\) on 5 items") as raised:
        run(study, deadly, place=Place(2), batch=1, worth=0)
    assert "What was computed is kept" in raised.value.remedy
    computed = [value for value in values(study, deadly) if value is not None]
    assert computed == pytest.approx([200], abs=0.1)


def test_results_do_not_depend_on_workers_or_batches(tmp_path: Path, filled: Filled, grey_png: Png) -> None:
    files = {f"{n:02}.png": grey_png(5 * n, side=6 + n % 3) for n in range(40)} | {
        "tiny.png": grey_png(9, side=2)
    }
    tables = []
    for n, (workers, batch) in enumerate([(1, 1), (1, 7), (1, None), (2, 3), (3, 1)]):
        study = filled(tmp_path / f"s{n}", files)
        ran = run(study, find_measure("sharpness"), place=Place(workers), batch=batch, worth=0)
        assert ran.computed == 41 and sum(ran.reasons.values()) == 1
        tables.append((rows(study, "score"), rows(study, "evidence"), ran.reasons))
    assert len(tables[0][0]) == 41
    assert all(table == tables[0] for table in tables[1:])


def test_progress_reaches_the_end(greys: Greys) -> None:
    study = greys(40 + n // 2 for n in range(12))
    heard: list[Progress] = []
    run(study, find_measure("brightness"), batch=2, listener=heard.append)
    assert (heard[-1].done, heard[-1].total, heard[-1].seconds_left) == (12, 12, 0)
    assert heard[-1].rate > 0 and heard[-1].what == "brightness"
    heard.clear()
    run(study, find_measure("brightness"), listener=heard.append)
    # All was known: nothing was computed that a rate could be told of.
    assert (heard[-1].done, heard[-1].rate, heard[-1].seconds_left) == (12, 0, None)


def test_measures_of_other_things(tmp_path: Path, filled: Filled, grey_png: Png) -> None:
    study = filled(tmp_path / "s", {"a.png": grey_png(9)}, Prompt(PromptKey("q", "1"), "two words"))
    ran = run(study, find_measure("words"))
    assert (ran.total, ran.computed) == (2, 2)
    assert values(study, find_measure("words")) == [3, 2]
    with pytest.raises(UsageError, match="precision is not scored item by item"):
        run(study, find_measure("precision"))


def test_the_same_on_postgresql(
    tmp_path: Path, define: Define, filled: Filled, grey_png: Png, seen: Seen, postgres_url: str
) -> None:
    measure = define("of_image", "level_server", LEVEL)
    files = {f"{n:02}.png": grey_png(40 + n) for n in range(12)} | {"twin.png": grey_png(40), "no.png": b"no"}
    studies = [filled(tmp_path / "here", files), filled(tmp_path / "there", files, database=postgres_url)]
    late = tmp_path / "late.png"
    late.write_bytes(grey_png(41))
    for study, workers in zip(studies, (1, 2), strict=True):
        ran = run(study, measure, place=Place(workers), batch=2, worth=0)
        assert (ran.computed, ran.reasons) == (13, {"not a readable image (unknown format)": 1})
        put(study, [Image(ImageKey("pictures", "late"), str(late))], "2")
        assert run(study, measure).computed == 0
    assert rows(studies[0], "score") == rows(studies[1], "score")
    told = [[(*row[:4], json.loads(row[4])) for row in rows(study, "evidence")] for study in studies]
    assert told[0] == told[1] and len(told[0]) == 14
    for study in studies:
        study.close()


def test_an_image_is_embedded_once_a_study_in_however_many_sets_it_is(
    tmp_path: Path, plugin: Callable[[str, str], None], filled: Filled, grey_png: Png, seen: Seen
) -> None:
    plugin(
        "seeing",
        """
        import numpy as np

        from sightline.extension import encoder


        @encoder(encodes=("image",), source="test", licence="Apache-2.0")
        def seeing():
            '''Mean colours; everything it is given is written down.'''
            return Encoder()


        class Encoder:
            def image(self, images):
                with open(os.environ["SEEN"], "a") as file:
                    file.writelines(f"{image.sha256}\\n" for image in images)
                return np.array([image.rgb.mean(axis=(0, 1)) for image in images]).reshape(-1, 3)
        """,
    )
    # Three images; `two` answers the first prompt with the second and third, `all` with every one of them.
    files = {f"{n}.png": grey_png(40 * n + 9) for n in range(3)}
    told = [
        Answer(PromptKey("p", "0"), system, position, ImageKey("pictures", f"{n}.png"))
        for system, chosen in (("two", (1, 2)), ("all", (0, 1, 2)))
        for position, n in enumerate(chosen)
    ]
    study = filled(tmp_path / "s", files, *told)
    for name in ("pairwise_mean", "k_expected"):
        measure = find_measure(f"{name}(distance=embedding(encoder=seeing))")
        run(study, measure, place=Place(2), worth=0)
        assert reading.scores(study, measure.identity).height == 5
    assert len(seen()) == len(set(seen())) == 3
