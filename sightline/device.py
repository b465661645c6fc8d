"""Where networks run and how precisely: one setting for everything that uses torch.

SIGHTLINE_DEVICE (`--device`) is auto, cpu, cuda, cuda:1 or mps; auto takes the first CUDA device where there
is one. SIGHTLINE_PRECISION (`--precision`) is float32, or bfloat16 or float16 for mixed precision, which is
part of the identity of what is computed with it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from sightline.errors import SightlineError, UsageError, near

if TYPE_CHECKING:
    import numpy as np

DEVICE, PRECISION = "SIGHTLINE_DEVICE", "SIGHTLINE_PRECISION"
PRECISIONS = ("float32", "bfloat16", "float16")
DEVICES = ("auto", "cpu", "cuda", "mps")
USED = 0.7
"""The proportion of the free memory of a device that a batch may take."""
FEW, MOST = 32, 256
T = TypeVar("T")


def precision() -> str:
    """The precision that networks run in: float32 unless mixed precision is asked for."""
    given = os.environ.get(PRECISION) or "float32"
    if given not in PRECISIONS:
        raise UsageError(f"there is no precision {given!r}", remedy=near(given, PRECISIONS))
    return given


def device() -> str:
    """The device that networks run on; one that is asked for and not there is an error."""
    import torch

    given = os.environ.get(DEVICE) or "auto"
    kind, _, number = given.partition(":")
    if kind not in DEVICES or (number and not (kind == "cuda" and number.isdecimal())):
        raise UsageError(f"there is no device {given!r}", remedy="One of auto, cpu, cuda, cuda:1, mps.")
    devices = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if kind == "auto":
        return "cuda" if devices else "cpu"
    if kind == "cuda" and int(number or 0) >= devices:
        found = f"this machine has {devices}" if devices else "torch finds none on this machine"
        raise UsageError(f"there is no CUDA device {number or 0}: {found}", remedy="Use --device cpu.")
    if kind == "mps" and not torch.backends.mps.is_available():
        raise UsageError("torch finds no Apple GPU on this machine", remedy="Use --device cpu.")
    return given


def at_once() -> int:
    """How many inputs are worth handing over together; what does not fit is cut further."""
    return FEW if device() == "cpu" else MOST


def placed(model: Any) -> Any:
    """A network on the device, ready to run; single precision there is single precision."""
    import torch

    # TensorFloat-32 has 10 bits where float32 has 23: it would be mixed precision that nobody asked for.
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    # Checkpoints in half precision stay as they are where mixed precision is asked for: half the memory.
    whole = model.float() if precision() == "float32" else model
    return whole.to(device()).eval()


@contextmanager
def inference() -> Iterator[None]:
    """Within this networks run without gradients, in the precision that is set."""
    import torch

    chosen = precision()
    with torch.inference_mode():
        if chosen == "float32":
            yield
        else:
            with torch.autocast(device().partition(":")[0], dtype=getattr(torch, chosen)):
                yield


def numbers(tensor: Any) -> np.ndarray:
    """A tensor of any device and precision as a float32 array."""
    import numpy as np

    return np.asarray(tensor.detach().float().cpu().numpy())


class Batches:
    """Runs a network over inputs in batches that fit the memory of its device.

    On a CUDA device the first input is run alone, and what it took says how many fit; elsewhere a batch has
    `size` inputs. Where memory is short all the same, the batch is halved and the work goes on; the smaller
    size is kept.
    """

    def __init__(self, size: int = FEW) -> None:
        self.size = size
        self._known = False

    def run(self, call: Callable[[Sequence[T]], Any], inputs: Sequence[T]) -> list[Any]:
        """What `call` gives for each batch of inputs, in order."""
        made: list[Any] = []
        start = 0
        if inputs and not self._known:
            start = 1 if self._measured(call, inputs, made) else 0
            self._known = True
        while start < len(inputs):
            try:
                made.append(call(inputs[start : start + self.size]))
            except RuntimeError as error:
                if not _out_of_memory(error):
                    raise
                self._halve()
                continue
            start += self.size
        return made

    def _measured(self, call: Callable[[Sequence[T]], Any], inputs: Sequence[T], made: list[Any]) -> bool:
        """Whether the first input was run alone, and with it was found how many fit."""
        import torch

        where = device()
        if not where.startswith("cuda"):
            return False
        torch.cuda.reset_peak_memory_stats(where)
        before = torch.cuda.memory_allocated(where)
        try:
            made.append(call(inputs[:1]))
        except RuntimeError as error:
            if not _out_of_memory(error):
                raise
            self.size = 1
            self._halve()
        taken = max(torch.cuda.max_memory_allocated(where) - before, 1)
        free = torch.cuda.mem_get_info(where)[0]
        self.size = max(1, min(MOST, int(USED * free / taken)))
        return True

    def _halve(self) -> None:
        import torch

        if self.size <= 1:
            raise SightlineError(
                f"one input at a time does not fit into the memory of {device()}",
                remedy="Use a smaller model, --precision bfloat16, another --device, or --device cpu.",
            ) from None
        self.size = max(1, self.size // 2)
        if torch.cuda.is_available():
            torch.cuda.empty_cache()


def _out_of_memory(error: RuntimeError) -> bool:
    import torch

    # The processor's allocator has no error of its own.
    return isinstance(error, torch.OutOfMemoryError) or "can't allocate memory" in str(error)
