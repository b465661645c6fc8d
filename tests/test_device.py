"""One device and one precision for all networks, and batches that become smaller where memory is short."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from images import picture

from sightline import registry
from sightline.checkpoints import content_hash
from sightline.device import Batches, at_once, device, precision
from sightline.errors import SightlineError, UsageError

torch = pytest.importorskip("torch", reason="the extra torch is not installed")


def pictures(n: int) -> list[Any]:
    rng = np.random.default_rng(1)
    return [picture(rng.integers(0, 256, (20, 20, 3), dtype=np.uint8)) for _ in range(n)]


def encoder(folder: Path) -> Any:
    return registry.configure("encoder", "dinov2", model=str(folder), sha256=content_hash(folder))


def test_what_is_not_there_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SIGHTLINE_DEVICE", "gpu")
    with pytest.raises(UsageError, match="there is no device 'gpu'"):
        device()
    monkeypatch.setenv("SIGHTLINE_DEVICE", f"cuda:{torch.cuda.device_count()}")
    with pytest.raises(UsageError, match="there is no CUDA device"):
        device()
    monkeypatch.setenv("SIGHTLINE_DEVICE", "cpu")
    assert device() == "cpu"
    monkeypatch.setenv("SIGHTLINE_PRECISION", "half")
    with pytest.raises(UsageError, match="there is no precision 'half'"):
        precision()


def test_mixed_precision_is_another_measure(
    small_checkpoint: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = small_checkpoint("dinov2")
    monkeypatch.setenv("SIGHTLINE_DEVICE", "cpu")
    whole, shown = encoder(folder), pictures(3)
    over = registry.configure("of_answer", "clipscore").identity
    plain = registry.configure("of_image", "sharpness").identity
    before, vectors = whole.identity, whole.load().image(shown)
    monkeypatch.setenv("SIGHTLINE_PRECISION", "float32")
    assert whole.identity == before
    monkeypatch.setenv("SIGHTLINE_PRECISION", "bfloat16")
    assert whole.identity != before
    assert registry.configure("of_answer", "clipscore").identity != over, "by the encoder inside it"
    assert registry.configure("of_image", "sharpness").identity == plain, "no network runs in it"
    mixed = whole.load().image(shown)
    assert mixed.dtype == np.float32
    # bfloat16 has 8 bits: near the whole, and not equal to it.
    assert 0 < np.abs(mixed - vectors).max() < 0.05


class Short:
    """A device with room for so many inputs at once: a real network that runs out of memory above them."""

    def __init__(self, model: Any, room: int) -> None:
        self.room, self.sizes = room, []
        self._forward = model.forward
        model.forward = self

    def __call__(self, *args: Any, pixel_values: Any, **more: Any) -> Any:
        self.sizes.append(len(pixel_values))
        if len(pixel_values) > self.room:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")
        return self._forward(*args, pixel_values=pixel_values, **more)


def test_out_of_memory_halves_the_batch_and_goes_on(
    small_checkpoint: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    from transformers import Dinov2Model

    from sightline.encoders.models._transformers import Images
    from sightline.encoders.models.dino import DEFAULT_V2
    from sightline.preprocessing import Preprocessing

    monkeypatch.setenv("SIGHTLINE_DEVICE", "cpu")
    folder, shown = small_checkpoint("dinov2"), pictures(40)
    expected = encoder(folder).load().image(shown)
    model = Dinov2Model.from_pretrained(folder)
    network = Images(model, Preprocessing.read(folder, DEFAULT_V2))
    short = Short(model, room=9)
    np.testing.assert_allclose(network.image(shown), expected, atol=1e-5)
    # 32 do not fit, 16 do not, 8 do: five batches of 8, and the next call begins with 8.
    assert short.sizes == [32, 16, 8, 8, 8, 8, 8]
    network.image(shown[:10])
    assert short.sizes[7:] == [8, 2]
    short.room = 0
    with pytest.raises(SightlineError, match="one input at a time does not fit") as caught:
        network.image(shown)
    assert "--precision bfloat16" in caught.value.remedy


def test_other_errors_of_a_network_are_not_swallowed() -> None:
    def broken(part: Sequence[int]) -> None:
        raise RuntimeError("mat1 and mat2 shapes cannot be multiplied")

    with pytest.raises(RuntimeError, match="cannot be multiplied"):
        Batches().run(broken, [1, 2])


def test_a_cuda_device_is_asked_how_much_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    """The arithmetic of the first batch; the device itself is not here, its numbers are given."""
    monkeypatch.setattr("sightline.device.device", lambda: "cuda")
    taken = iter((1_000, 1_000 + 500))
    monkeypatch.setattr(torch.cuda, "reset_peak_memory_stats", lambda where: None)
    monkeypatch.setattr(torch.cuda, "memory_allocated", lambda where: next(taken))
    monkeypatch.setattr(torch.cuda, "max_memory_allocated", lambda where: next(taken))
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda where: (10_000, 20_000))
    batches = Batches()
    sizes = batches.run(len, range(40))  # type: ignore[arg-type]
    # One took 500 bytes of 10,000 that are free: 0.7 x 10,000 / 500 = 14 fit.
    assert sizes == [1, 14, 14, 11]
    assert at_once() == 256


def test_the_command_line_sets_both_wherever_they_stand(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from sightline.cli import main

    monkeypatch.delenv("SIGHTLINE_DEVICE", raising=False)
    seen: list[tuple[str | None, str | None]] = []

    def listed(*_: Any, **__: Any) -> Any:
        import os

        seen.append((os.environ.get("SIGHTLINE_DEVICE"), os.environ.get("SIGHTLINE_PRECISION")))
        raise UsageError("seen")

    monkeypatch.setattr("sightline.testing.extensions.list_extensions", listed)
    main(["list", "encoder", "--device", "cuda:1", "--precision=bfloat16"])
    main(["--device", "cpu", "list"])
    main(["list"])
    assert seen == [("cuda:1", "bfloat16"), ("cpu", None), (None, None)]
    assert main(["list", "--precision", "half"]) == 2
