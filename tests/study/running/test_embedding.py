"""Embedding: once a content, in any order, overlapped, bounded, and on from where it was killed."""

from __future__ import annotations

import signal
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from processes import start

from sightline import registry
from sightline.errors import ExtensionError
from sightline.extension import Configured, Picture
from sightline.study import reading
from sightline.study.running import embedding
from sightline.study.running.embedding import Cached, embed_images, embed_texts, images_embedded
from sightline.study.running.progress import Progress
from sightline.study.study import Study, open_study

Counting = Callable[..., Configured]
Tally = Callable[[], Counter[str]]
Plugin = Callable[[str, str], object]
COUNTING = """
import os

import numpy as np

from sightline.extension import encoder


@encoder(encodes=("text", "image"), source="test", licence="Apache-2.0")
def {name}(*, scale: float = 1.0):
    '''Mean colours and letter counts; everything it is given is written down.'''
    return Encoder(scale)


class Encoder:
    def __init__(self, scale):
        self.scale = scale

    def image(self, images):
        note([image.sha256 for image in images])
        rows = [image.rgb.mean(axis=(0, 1)) * self.scale for image in images]
        return np.array(rows).reshape(-1, 3)

    def text(self, texts):
        note(texts)
        return np.array([[len(text), text.count("a"), 1.0] for text in texts]).reshape(-1, 3)


def note(lines):
    with open(os.environ["TALLY"], "a") as file:
        file.writelines(f"{{line}}\\n" for line in lines)
"""
COMPOSED = """
from sightline.extension import encoder, needs


@encoder(encodes=("text", "image"), source="test", licence="Apache-2.0")
def twice(*, inner=needs("encoder", "inside")):
    '''Twice what another encoder says.'''
    return Encoder(inner)


class Encoder:
    def __init__(self, inner):
        self.inner = inner

    def image(self, images):
        return 2 * self.inner.image(images)

    def text(self, texts):
        return 2 * self.inner.text(texts)
"""
EMBED = """
import os, signal, sys
from sightline import registry
from sightline.study.running import embedding
from sightline.study import reading
from sightline.study.study import open_study
from sightline.study.vectors import Vectors

home, nth = sys.argv[1], int(sys.argv[2])
embedding.BATCH["image"], embedding.SHARD_ROWS = 4, 8
put, left = Vectors.put, nth

def ending(self, *told):
    global left
    left -= 1
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    put(self, *told)

if nth:
    Vectors.put = ending
with open_study(home) as study:
    shas = reading.images(study)["sha256"].to_list()
    embedding.embed_images(study, registry.configure("encoder", "killed_encoder"), shas)
"""


@pytest.fixture
def tally(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tally:
    log = tmp_path / "log"
    log.touch()
    monkeypatch.setenv("TALLY", str(log))
    return lambda: Counter(log.read_text().splitlines())


@pytest.fixture
def counting(plugin: Plugin, tally: object) -> Counting:
    def make(name: str) -> Configured:
        plugin(name, COUNTING.format(name=name))
        return registry.configure("encoder", name)

    return make


@pytest.fixture
def study(tmp_path: Path, filled: Callable[..., Study], grey_png: Callable[..., bytes]) -> Study:
    return filled(tmp_path / "study", {f"{n:03}.png": grey_png(n + 10, n) for n in range(40)})


def contents(study: Study) -> list[str]:
    found: list[str] = reading.images(study)["sha256"].to_list()
    return found


def test_images_are_computed_once_and_come_in_the_order_asked_for(
    study: Study, counting: Counting, tally: Tally
) -> None:
    shas = contents(study)
    encoder = counting("once")
    expected = np.array([study.files.picture(sha).rgb.mean(axis=(0, 1)) for sha in shas])
    asked = [*shas[::-1], shas[3]]
    found = embed_images(study, encoder, asked)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected[[*range(39, -1, -1), 3]], rtol=1e-6)
    assert tally() == Counter(shas)
    embed_images(study, encoder, shas[:7])
    embed_images(study, registry.configure("encoder", "once(scale=2)"), shas[:2])
    assert tally() == Counter(shas) + Counter(shas[:2]), "other parameters, other vectors"


def test_texts_are_computed_once(study: Study, counting: Counting, tally: Tally) -> None:
    encoder = counting("texts")
    texts = ["banana", "", "a cat", "banana", "ü"]
    assert embed_texts(study, encoder, texts).tolist() == [
        [6, 3, 1],
        [0, 0, 1],
        [5, 2, 1],
        [6, 3, 1],
        [1, 0, 1],
    ]
    assert embed_texts(study, encoder, ["new", "a cat"]).tolist() == [[3, 0, 1], [5, 2, 1]]
    assert max(tally().values()) == 1 and len(tally()) == 5


def test_nothing_asked_for_has_the_right_width(study: Study, counting: Counting) -> None:
    encoder = counting("width")
    assert embed_images(study, encoder, []).shape == (0, 3)
    assert embed_texts(study, encoder, []).shape == (0, 3)


def test_unreadable_images_have_a_reason_and_no_numbers(
    tmp_path: Path,
    filled: Callable[..., Study],
    grey_png: Callable[..., bytes],
    counting: Counting,
) -> None:
    study = filled(tmp_path / "broken", {"a.png": grey_png(30), "b.png": grey_png(40)})
    torn = study.files.put(b"no image at all")
    shas = [contents(study)[0], torn, "0" * 64, contents(study)[1]]
    encoder = counting("torn")
    found = images_embedded(study, encoder, shas)
    assert np.isnan(found.vectors).all(axis=1).tolist() == [False, True, True, False]
    assert "not a readable image" in found.without[torn] and "missing" in found.without["0" * 64]
    assert len(found.without) == 2
    only = images_embedded(study, encoder, [torn])
    assert only.vectors.shape == (1, 3) and np.isnan(only.vectors).all()


def test_progress_tells_known_and_computed(study: Study, counting: Counting) -> None:
    shas, encoder = contents(study), counting("told")
    embed_images(study, encoder, shas[:10])
    seen: list[Progress] = []
    embed_images(study, encoder, shas, seen.append)
    assert [(each.done, each.total) for each in (seen[0], seen[-1])] == [(10, 40), (40, 40)]
    assert seen[-1].what == "told: images"


def test_an_encoder_of_texts_does_not_encode_images(study: Study) -> None:
    with pytest.raises(ExtensionError, match="encodes text, not images"):
        embed_images(study, registry.configure("encoder", "hashed_words"), contents(study))


def test_a_wrong_number_of_rows_is_refused(study: Study, plugin: Plugin) -> None:
    source = """
    import numpy as np
    from sightline.extension import encoder

    @encoder(encodes=("image",), source="test", licence="MIT")
    def short_of_rows():
        '''One row too few.'''
        return type("E", (), {"image": lambda self, images: np.ones((max(len(images) - 1, 0), 2))})()
    """
    plugin("short_of_rows", source)
    with pytest.raises(ExtensionError, match=r"array of \(31, 2\) for 32 images"):
        embed_images(study, registry.configure("encoder", "short_of_rows"), contents(study))


class Slow:
    """Notes which thread prepares what, and how much was prepared while the model was at work."""

    def __init__(self) -> None:
        self.threads: set[str] = set()
        self.prepared = 0
        self.begun = threading.Condition()
        self.seen: list[int] = []

    def prepare(self, picture: Picture) -> np.ndarray:
        with self.begun:
            self.threads.add(threading.current_thread().name)
            self.prepared += 1
            self.begun.notify_all()
        return picture.rgb.mean(axis=(0, 1))

    def encode(self, prepared: Sequence[np.ndarray]) -> np.ndarray:
        before = self.prepared
        with self.begun:
            # The model waits until threads have prepared the next batch: else it waits for nothing.
            self.begun.wait_for(lambda: self.prepared >= min(40, before + 8 - before % 8), timeout=60)
            self.seen.append(self.prepared)
        return np.stack(prepared)

    def image(self, pictures: Sequence[Picture]) -> np.ndarray:
        raise AssertionError("prepared in threads, encoded here")


def test_preparing_overlaps_with_the_model_and_stays_one_batch_ahead(
    study: Study, counting: Counting, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = Slow()
    monkeypatch.setattr(embedding, "loaded_over", lambda *told: slow)
    monkeypatch.setitem(embedding.BATCH, "image", 8)
    found = embed_images(study, counting("overlap"), contents(study))
    assert np.isfinite(found).all()
    # While batch n was with the model all of batch n + 1 was prepared, and nothing of batch n + 2.
    assert slow.seen == [16, 24, 32, 40, 40]
    assert threading.current_thread().name not in slow.threads


def test_a_cached_encoder_answers_like_the_encoder(study: Study, counting: Counting, tally: Tally) -> None:
    encoder = counting("remembering")
    pictures = [study.files.picture(sha) for sha in contents(study)[:5]]
    plain = encoder.load()
    expected = plain.image(pictures)
    before = tally().total()
    for _ in range(2):
        np.testing.assert_allclose(Cached(study, encoder).image(pictures), expected, rtol=1e-6)
        np.testing.assert_allclose(Cached(study, encoder).text(["aa"]), [[2, 2, 1]])
    assert tally().total() == before + 6


LIMITED = """
import numpy as np

from sightline.extension import encoder


@encoder(encodes=("text", "image"), source="test", licence="Apache-2.0")
def limited():
    '''Reads 64 bytes of a text, each a token.'''
    return Encoder()


class Encoder:
    def image(self, images):
        return np.ones((len(images), 2))

    def text(self, texts):
        return np.ones((len(texts), 2))

    def unread(self, texts):
        return [max(0, len(text.encode()) - 64) for text in texts]
"""


def test_what_a_model_does_not_read_is_told(study: Study, plugin: Plugin) -> None:
    """Tokens may be bytes: 40 characters of Chinese are 120 of them, though they look short."""
    plugin("limited", LIMITED)
    limited = registry.configure("encoder", "limited")
    assert Cached(study, limited).unread(["a" * 60, "short"]) == [0, 0]
    assert Cached(study, limited).unread(["a" * 70]) == [6]
    assert Cached(study, limited).unread(["\u732b" * 40, "a" * 70, ""]) == [56, 6, 0]
    assert Cached(study, limited).unread([]) == []
    # Those inside another encoder are asked through it; one that reads any length leaves nothing out.
    assert Cached(study, registry.configure("encoder", "hashed_words")).unread(["a " * 500]) == [0]


def test_encoders_inside_an_encoder_are_asked_once(
    study: Study, counting: Counting, plugin: Plugin, tally: Tally
) -> None:
    inner = counting("inside")
    plugin("twice", COMPOSED)
    outer = registry.configure("encoder", "twice")
    torn = study.files.put(b"no image at all")
    shas = [*contents(study), torn]
    first = embed_images(study, inner, shas)
    before = tally()
    found = images_embedded(study, outer, shas)
    np.testing.assert_allclose(found.vectors[:-1], 2 * first[:-1], rtol=1e-6)
    assert np.isnan(found.vectors[-1]).all() and list(found.without) == [torn]
    assert embed_texts(study, outer, ["ab"]).tolist() == [[4, 2, 2]]
    assert tally() - before == Counter(["ab"])


@pytest.mark.parametrize("kills", [pytest.param((1, 2), marks=pytest.mark.slow), (3,)])
def test_killed_in_the_middle_it_goes_on_where_it_was(
    study: Study, counting: Counting, tally: Tally, kills: tuple[int, ...]
) -> None:
    encoder = counting("killed_encoder")
    shas = contents(study)
    study.close()

    def run(nth: int) -> int:
        process = start(EMBED, study.home, nth)
        process.communicate(timeout=300)
        return process.returncode

    kept = 0
    for nth in kills:
        assert run(nth) == -signal.SIGKILL
        # Killed at its n-th commit of 8 rows: those before it are kept.
        kept += 8 * (nth - 1)
        with open_study(study.home) as again:
            known = again.vectors.known(encoder.identity, shas)
        assert len(known) == kept
    before = tally()
    assert run(0) == 0
    assert tally() - before == Counter(set(shas) - known), "nothing kept is computed again"
    with open_study(study.home) as again:
        expected = np.array([again.files.picture(sha).rgb.mean(axis=(0, 1)) for sha in shas])
        np.testing.assert_allclose(embed_images(again, encoder, shas), expected, rtol=1e-6)
