"""Lengths of CLIP's text embeddings, against the library's own call on a small checkpoint."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sightline.checkpoints import content_hash
from sightline.variability.wording import text_norms


def test_lengths_are_those_of_the_librarys_own_rows(clip_checkpoint: Path) -> None:
    import torch
    from transformers import AutoTokenizer, CLIPModel

    texts = ["a red ball", "two cars in the snow", "a"]
    model = CLIPModel.from_pretrained(clip_checkpoint).eval()
    told = AutoTokenizer.from_pretrained(clip_checkpoint)(texts, padding=True, return_tensors="pt")
    with torch.inference_mode():
        found = model.get_text_features(**told)
    rows = found if isinstance(found, torch.Tensor) else found.pooler_output
    norms = text_norms(f"clip(model={str(clip_checkpoint)!r}, sha256={content_hash(clip_checkpoint)!r})")
    expected = np.linalg.norm(rows.numpy(), axis=1)
    assert norms(texts) == pytest.approx(expected, rel=1e-5)
    assert np.ptp(expected) > 0 and norms([]).shape == (0,)
