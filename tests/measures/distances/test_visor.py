"""On images of real generators: those of one prompt are closer than those of different prompts."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from sightline import registry
from sightline.errors import MissingPackage
from sightline.extension import Picture
from sightline.weights import find

BEST = "embedding(encoder=efficientnet_lite0(stages=(6, 7, 8)), metric=cosine)"


def rows_of(data: Path, system: str) -> list[dict[str, str]]:
    with (data / "visor" / "images.csv").open(encoding="utf-8", newline="") as file:
        return [row for row in csv.DictReader(file) if row["model"] == system]


# Ten prompts of the hundred keep this quick; benchmarks/visor_auc.py takes all of them.
@pytest.mark.parametrize(("system", "least"), [("glide", 0.75), ("stable-diffusion", 0.90)])
def test_images_of_one_prompt_are_closer(data: Path, system: str, least: float) -> None:
    ready = registry.configure("distance", BEST)
    try:
        ready.require()
        find("efficientnet_lite0", ready.arguments["encoder"].spec.weights)
    except MissingPackage as error:
        pytest.skip(error.what)
    rows = rows_of(data, system)[:40]
    found = ready.load()([Picture(path=data / "visor" / row["path"]) for row in rows])
    prompts = np.array([row["prompt_id"] for row in rows])
    one, two = np.triu_indices(len(rows), 1)
    assert roc_auc_score(prompts[one] == prompts[two], -found[one, two]) >= least


@pytest.mark.parametrize("text", ["colour_histogram", "ssim", "ms_ssim", "embedding(metric=cosine)"])
def test_black_images_are_copies_of_each_other_and_far_from_what_shows_something(
    data: Path, text: str
) -> None:
    pictures = [Picture(path=data / "visor" / row["path"]) for row in rows_of(data, "glide")]
    black = [picture for picture in pictures if not picture.rgb.any()]
    assert len(black) >= 2, "GLIDE's filter gave some"
    found = registry.configure("distance", text).load()([*black, pictures[0]])
    assert (found[:-1, :-1] <= 1e-9).all()
    assert (found[-1, :-1] > 0.3).all()
