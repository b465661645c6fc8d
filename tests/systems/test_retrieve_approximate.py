"""Retrieving with an index: recall with every result, the index kept with the study, parts run by others."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image as Pillow
from studies import put, rankings

import sightline
from sightline.errors import ExtensionError, StudyError, UsageError
from sightline.records import Image, ImageKey
from sightline.study import listing, reading
from sightline.study.cache import cache
from sightline.study.study import Study
from sightline.systems.retrieve import Elsewhere, Part

pytest.importorskip("faiss")
HNSW = "hnsw(encoder=colours, from_size=2)"


@pytest.mark.parametrize("engine", [HNSW, "ivf_pq(encoder=colours, from_size=2)"])
def test_recall_comes_with_the_result_and_stays_with_the_answers(painted: Study, engine: str) -> None:
    done = sightline.retrieve(painted, "index", engine, collection="paints", k=1)
    sightline.retrieve(painted, "all", "exact(encoder=colours)", collection="paints", k=1)
    assert rankings(painted, "index") == rankings(painted, "all")
    # One of the three queries chose the effort, two were checked: two of two, with an interval by mid-P.
    assert done.recall is not None and (done.recall.value, done.recall.high, done.recall.n) == (1, 1, 2)
    assert 0 < done.recall.low < 0.5
    assert done.sentence.startswith("Recall@1 against exact search is 1") and "n = 2" in done.sentence
    assert f"Searched {engine.partition('(')[0]}, 1 shard of 4 vectors, too few" in done.notes[-1]
    (row,) = json.loads(done.to_json())["rows"]
    assert row["recall"]["value"] == 1 and row["recall"]["n"] == 2
    answers, settings = listing.named_answers(painted)
    kept = [each for each, system in zip(settings, answers["system"], strict=True) if system == "index"]
    assert all(each is not None and each["recall"]["n"] == 2 and each["recall"]["k"] == 1 for each in kept)
    assert all(each is not None and each["searched"] == list(done.how) for each in kept)


def test_few_images_are_searched_exactly_and_it_says_so(painted: Study) -> None:
    done = sightline.retrieve(painted, "index", "hnsw(encoder=colours)", collection="paints", k=1)
    assert done.recall is None and done.sentence == ""
    assert "Searched exact: 4 images are fewer than from_size=50,000." in done.notes
    assert not (painted.home / "indexes").exists()


def test_an_index_is_used_again_until_the_collection_changes(painted: Study, tmp_path: Path) -> None:
    first = sightline.retrieve(painted, "index", HNSW, collection="paints", k=1)
    (file,) = (painted.home / "indexes").rglob("*.faiss")
    made = file.stat().st_mtime_ns
    again = sightline.retrieve(painted, "index", HNSW, collection="paints", k=1)
    assert again.already and again.number == first.number and file.stat().st_mtime_ns == made
    use = cache(painted).files["indexes"]
    assert use.files == 3 and use.bytes >= file.stat().st_size
    assert cache(painted, prune=True).files["indexes"].files == 3
    path = tmp_path / "night.png"
    Pillow.new("RGB", (16, 16), (0, 0, 90)).save(path)
    put(painted, [Image(ImageKey("paints", "night"), str(path))], "more")
    sightline.retrieve(painted, "index", HNSW, collection="paints", k=1, replace=True)
    assert cache(painted).files["indexes"].files == 6
    cleaned = cache(painted, prune=True)
    assert cleaned.removed is not None and cleaned.removed.files == 3
    assert cleaned.files["indexes"].files == 3 and not file.exists()


def test_a_file_that_is_gone_is_counted_each_time(painted: Study) -> None:
    sha = reading.images(painted)["sha256"][0]
    (painted.home / "images" / sha[:2] / sha).unlink()
    for system in ("first", "second"):
        done = sightline.retrieve(painted, system, HNSW, collection="paints", k=1)
        assert sum(done.unread.values()) == 1 and done.candidates == 4
    assert rankings(painted, "first") == rankings(painted, "second")


def test_an_index_is_in_no_backup(painted: Study, tmp_path: Path) -> None:
    sightline.retrieve(painted, "index", HNSW, collection="paints", k=1)
    sightline.backup(painted, tmp_path / "backups")
    assert list((painted.home / "indexes").rglob("*.faiss"))
    assert not list((tmp_path / "backups").rglob("*.faiss"))


@pytest.mark.slow
def test_processes_find_what_threads_find(painted: Study) -> None:
    sightline.retrieve(painted, "threads", HNSW, collection="paints", k=1)
    done = sightline.retrieve(painted, "processes", HNSW, collection="paints", k=1, workers=2)
    assert rankings(painted, "processes") == rankings(painted, "threads")
    assert done.recall is not None and done.recall.value == 1


@pytest.mark.slow
def test_a_cluster_finds_what_threads_find(painted: Study) -> None:
    from sightline.study.running.on_ray import leave

    sightline.retrieve(painted, "threads", HNSW, collection="paints", k=1)
    try:
        sightline.retrieve(painted, "cluster", HNSW, collection="paints", k=1, on="ray", workers=2)
    finally:
        leave()
    assert rankings(painted, "cluster") == rankings(painted, "threads")


def test_workers_and_clusters_are_checked_first(painted: Study) -> None:
    for options, said in (({"on": "somewhere"}, "cannot read --on"), ({"workers": 0}, "0 workers")):
        with pytest.raises(UsageError, match=said):
            sightline.retrieve(painted, "index", HNSW, collection="paints", k=1, **options)  # type: ignore[arg-type]


def test_a_part_that_cannot_be_done_is_no_part_left_out() -> None:
    from sightline.study.running.place import HERE

    assert Elsewhere(HERE)(abs, [-3, -1, -2]) == [3, 1, 2]
    with pytest.raises(StudyError, match="part 4 of the search cannot be done: out of memory"):
        Part(abs).quarantined((4, None), "out of memory")


@pytest.mark.parametrize("recall", ["[0.5]", "[0.5, 1.5, 0.0]", "[-0.1, 1, 1]"])
def test_a_recall_that_is_none_is_refused(painted: Study, plugins: Path, recall: str) -> None:
    (plugins / "boastful.py").write_text(
        "import numpy as np\n"
        "from sightline.extension import retriever\n"
        "from sightline.records import Retrieved\n\n"
        '@retriever(source="me", licence="MIT")\n'
        "def boastful(candidates, queries, k):\n"
        '    """Says what it likes."""\n'
        "    found = np.zeros((len(queries), k), dtype=int), np.zeros((len(queries), k))\n"
        f"    return Retrieved(*found, np.array({recall}))\n"
    )
    with pytest.raises(ExtensionError, match="not one proportion per query"):
        sightline.retrieve(painted, "odd", "boastful", collection="paints", k=1)


def test_a_query_without_own_captions_has_its_recall(painted: Study) -> None:
    done = sightline.retrieve(painted, "index", HNSW, collection="paints", k=1, without_own=True)
    assert done.recall is not None and done.recall.value == 1 and not np.isnan(done.recall.value)
