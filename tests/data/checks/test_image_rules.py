"""Rules about pixels and files: each finds what was planted and is silent where nothing is wrong."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image as Pillow
from PIL import ImageFilter

from sightline.records import Answer, Image, ImageKey, PromptKey, System

Find = Callable[..., list[Any]]
Answers = Callable[..., list[Any]]
Picture = Callable[..., str]
A, B, C = (PromptKey("suite", ref) for ref in "abc")


def scene(seed: int) -> Pillow.Image:
    """Soft blobs: the coarse shapes of a photograph without anything fine."""
    rng = np.random.default_rng(seed)
    coarse = Pillow.fromarray(rng.integers(0, 256, (7, 7, 3), dtype=np.uint8))
    return coarse.resize((96, 80), Pillow.Resampling.BICUBIC)


def saved(tmp_path: Path, name: str, image: Pillow.Image, **how: Any) -> str:
    path = tmp_path / name
    image.save(path, **how)
    return str(path)


@pytest.fixture
def twins(tmp_path: Path) -> dict[str, str]:
    """One scene as it is, and as it comes out of the hands of people."""
    plain = scene(1)
    noisy = np.asarray(plain) + np.random.default_rng(0).normal(0, 8, (80, 96, 3))
    return {
        "plain": saved(tmp_path, "plain.png", plain),
        "jpeg": saved(tmp_path, "jpeg.jpg", plain, quality=30),
        "half": saved(tmp_path, "half.png", plain.resize((48, 40))),
        "blurred": saved(tmp_path, "blurred.png", plain.filter(ImageFilter.GaussianBlur(1))),
        "noisy": saved(tmp_path, "noisy.png", Pillow.fromarray(np.clip(noisy, 0, 255).astype(np.uint8))),
    }


@pytest.mark.parametrize("as_what", ["jpeg", "half", "blurred", "noisy"])
def test_a_twin_is_found_however_it_was_saved(
    find: Find, answer: Answers, twins: dict[str, str], as_what: str
) -> None:
    records = [*answer(A, "one", 0, twins["plain"]), *answer(A, "two", 0, twins[as_what])]
    (found,) = find("near_identical_images", records)
    assert found.finding.n == 2
    assert found.finding.what == "images of different systems that look the same"
    assert found.finding.examples[0].startswith("one/a-0 and two/a-0 (")


def test_twins_are_told_apart_by_what_they_share(
    find: Find, answer: Answers, twins: dict[str, str], tmp_path: Path
) -> None:
    other, another = scene(2), scene(3)
    records = [
        *answer(A, "one", 0, twins["plain"]),
        *answer(A, "two", 0, twins["jpeg"]),
        *answer(B, "one", 0, saved(tmp_path, "b.png", other)),
        *answer(C, "one", 0, saved(tmp_path, "c.jpg", other, quality=60)),
        *answer(C, "two", 0, saved(tmp_path, "d.png", another)),
        *answer(C, "two", 1, saved(tmp_path, "e.jpg", another, quality=60)),
    ]
    told = {found.finding.what: found.finding.n for found in find("near_identical_images", records)}
    assert told == {
        "images of different systems that look the same": 2,
        "images that a system gave for different prompts and that look the same": 2,
        "images that a system gave for one prompt and that look the same": 2,
    }


def test_unlike_images_and_equal_files_are_no_twins(
    find: Find, answer: Answers, twins: dict[str, str], tmp_path: Path
) -> None:
    records = [*answer(A, "one", 0, twins["plain"]), *answer(A, "two", 0, twins["plain"])]
    for number in range(2, 12):
        records += answer(B, "one", number, saved(tmp_path, f"{number}.png", scene(number)))
    # Byte-identical ones are told by identical_images alone.
    assert find("near_identical_images", records) == []


def test_a_red_ball_is_no_blue_one(find: Find, answer: Answers, tmp_path: Path) -> None:
    """Two images of equal greys: their hashes are equal, their colours are not."""
    y, x = np.mgrid[:64, :64]
    inside = (x - 24) ** 2 + (y - 36) ** 2 < 200
    records: list[Any] = []
    # 0.299 * 200 = 59.8 and 0.114 * 255 + 0.587 * 52 = 59.6: as bright as each other.
    for prompt, ball in ((A, (200, 0, 0)), (B, (0, 52, 255))):
        pixels = np.where(inside[:, :, None], np.array(ball), 230).astype(np.uint8)
        path = saved(tmp_path, f"{prompt.ref}.png", Pillow.fromarray(pixels))
        records += answer(prompt, "one", 0, path)
    assert find("near_identical_images", records) == []


def test_a_collection_may_hold_twins(find: Find, twins: dict[str, str]) -> None:
    records = [System("search", "retriever", "photos")]
    for n, name in enumerate(("plain", "jpeg")):
        key = ImageKey("photos", name)
        records += [Image(key, twins[name]), Answer(A, "search", n, key, 1.0 - n)]
    assert find("near_identical_images", records) == []


def test_tiny_images(find: Find, answer: Answers, tmp_path: Path) -> None:
    for name, size in {"icon": (16, 16), "strip": (200, 31), "small": (32, 32)}.items():
        saved(tmp_path, f"{name}.png", scene(5).resize(size))
    records = [
        *answer(A, "one", 0, str(tmp_path / "icon.png")),
        *answer(B, "one", 0, str(tmp_path / "strip.png")),
        *answer(C, "one", 0, str(tmp_path / "small.png")),
    ]
    (found,) = find("tiny_images", records)
    assert (found.finding.n, found.finding.severity) == (2, "warning")
    assert list(found.finding.examples) == ["one/a-0: 16 x 16", "one/b-0: 200 x 31"]


def test_broken_images(find: Find, answer: Answers, picture: Picture, tmp_path: Path) -> None:
    whole = Path(picture("whole")).read_bytes()
    photo = io.BytesIO()
    scene(4).resize((400, 300)).save(photo, "JPEG", quality=95)
    (tmp_path / "cut.png").write_bytes(whole[:500])
    (tmp_path / "cut.jpg").write_bytes(photo.getvalue()[:3000])
    (tmp_path / "page.png").write_text("<html>not found</html>")
    records = [
        *answer(A, "one", 0, str(tmp_path / "whole.png")),
        *answer(A, "one", 1, str(tmp_path / "cut.png")),
        *answer(A, "one", 2, str(tmp_path / "page.png")),
        *answer(A, "one", 3, str(tmp_path / "cut.jpg")),
    ]
    cut, unreadable = find("broken_images", records, keep_broken=True)
    assert (cut.finding.what, cut.finding.n) == ("image files that end too early", 2)
    assert [example.partition(":")[0] for example in cut.finding.examples] == ["one/a-1", "one/a-3"]
    assert (unreadable.finding.n, unreadable.finding.severity) == (1, "error")
    assert unreadable.finding.examples[0].startswith("one/a-2: ")
