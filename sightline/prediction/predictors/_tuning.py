"""Training a pretrained text encoder further: its network, descent with early stopping, and checkpoints.

Imported only by what is about to train or to predict, since it imports torch. All on the processor, in single
precision. Every random number comes from the seed and the number of the epoch alone, so that going on from a
checkpoint draws what an uninterrupted run would have drawn. Sums of floating-point numbers depend on how many
threads share them: a seed gives the same bits only for the same number of threads and the same torch.
"""

from __future__ import annotations

import copy
import os
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from torch import nn

from sightline.errors import DataError, UsageError
from sightline.prediction.predictors._network import Descent

Arrays = dict[str, np.ndarray]
HIDDEN = 512
DROPOUT = 0.3
ADAPTER_SCALE = 2.0
PART = 16
"""So many texts go through the network together: of like length, so that little is padded."""


class Adapter(nn.Module):
    """A dense layer that stays as it is, and a product of two thin matrices that is learned and added to it.

    W x + 2 B A x with A of `rank` rows; B starts at 0. Source: Hu et al., LoRA (2022).
    """

    def __init__(self, dense: nn.Linear, rank: int) -> None:
        super().__init__()
        self.dense = dense
        self.down = nn.Parameter(torch.zeros(rank, dense.in_features))
        self.up = nn.Parameter(torch.zeros(dense.out_features, rank))

    def forward(self, x: Any) -> Any:
        return self.dense(x) + ADAPTER_SCALE * (x @ self.down.T) @ self.up.T


class Given(nn.Module):
    """Stands where an encoder looks up its words, and hands on the states of the layers below it."""

    def forward(self, inputs_embeds: Any, **_: Any) -> Any:
        return inputs_embeds


class Tunable(nn.Module):
    """A network of which something is learned: where it begins, and what was learned, as arrays.

    `dense_layers` are the layers of its head before the last, which is called out.
    """

    dense_layers: tuple[str, ...] = ("dense",)
    _pretrained: dict[str, Any]

    def remember(self) -> None:
        """Know the weights as they are now as those that every descent begins with."""
        self._pretrained = {name: part.detach().clone() for name, part in self.tuned().items()}

    def tuned(self) -> dict[str, Any]:
        """What is learned, by name."""
        return {name: part for name, part in self.named_parameters() if part.requires_grad}

    def begin(self, rng: np.random.Generator, means: np.ndarray) -> None:
        """Forget what was learned: adapters that add nothing, a head that says the means (0 to 1) of all."""
        first = {}
        for name, pretrained in self._pretrained.items():
            shape = tuple(pretrained.shape)
            if name.endswith(".down"):
                first[name] = rng.normal(size=shape) / np.sqrt(shape[1])
            elif name.removesuffix(".weight") in self.dense_layers:
                first[name] = rng.normal(size=shape) * np.sqrt(2 / shape[1])
            elif name == "out.bias":
                inside = np.clip(means, 0.01, 0.99)
                first[name] = np.log(inside / (1 - inside))
            elif (
                name.endswith(".up")
                or name.removesuffix(".bias") in self.dense_layers
                or name == "out.weight"
            ):
                first[name] = np.zeros(shape)
            else:
                first[name] = pretrained.cpu().numpy()
        self.take(first)

    def take(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Put learned arrays in place."""
        mine = self.tuned()
        if set(arrays) != set(mine) or any(arrays[n].shape != tuple(mine[n].shape) for n in mine):
            raise DataError(
                "what was learned does not fit this network",
                remedy="Restore it with the model, rank, frozen and targets that it was learned with.",
            )
        with torch.no_grad():
            for name, part in mine.items():
                part.copy_(torch.from_numpy(np.asarray(arrays[name], dtype=np.float32)))

    def arrays(self) -> Arrays:
        """What is learned, copied."""
        return {name: part.detach().cpu().numpy().copy() for name, part in self.tuned().items()}


class Network(Tunable):
    """An encoder, cut in two where something of it stays fixed, under the head of the paper.

    The mean over a text's word pieces of the last layer, dropout 0.3, a dense layer of 512 with ReLU, and one
    logistic unit a target. Source: Poesina et al., PQPP (2025).
    """

    def __init__(self, model: Any, targets: int, *, rank: int, frozen: int) -> None:
        super().__init__()
        layers = model.encoder.layer
        if frozen > len(layers):
            raise UsageError(
                f"fine_tuned: {frozen} layers cannot be frozen", remedy=f"The encoder has {len(layers)}."
            )
        self.lower = None
        if rank or frozen:
            self.lower = copy.deepcopy(model).requires_grad_(False)
            self.lower.encoder.layer = self.lower.encoder.layer[:frozen]
            model.encoder.layer = layers[frozen:]
            model.embeddings = Given()
            # What all layers share, such as MPNet's bias for distance, stays as the fixed ones know it.
            model.requires_grad_(False)
            model.encoder.layer.requires_grad_(rank == 0)
        if rank:
            adapt(model.encoder.layer, rank)
        self.upper = model
        # First weights are drawn by begin(); those of the library would be drawn from the user's chance.
        with torch.random.fork_rng(devices=[]):
            self.dense = nn.Linear(int(model.config.hidden_size), HIDDEN)
            self.out = nn.Linear(HIDDEN, targets)
        self.remember()

    def train(self, mode: bool = True) -> Network:
        super().train(mode)
        if self.lower is not None:
            self.lower.eval()
        return self

    def below(self, pieces: Any, mask: Any) -> Any:
        """The states of the layers that stay as they are; the pieces themselves where there are none."""
        if self.lower is None:
            return pieces
        with torch.no_grad():
            return self.lower(input_ids=pieces, attention_mask=mask).last_hidden_state

    def hidden(self, given: Any, mask: Any) -> Any:
        """The dense layer below the units: the space in which the targets are told apart."""
        name = "input_ids" if self.lower is None else "inputs_embeds"
        states = self.upper(**{name: given}, attention_mask=mask).last_hidden_state
        weight = mask[:, :, None].to(states.dtype)
        mean = (states * weight).sum(dim=1) / weight.sum(dim=1)
        return torch.relu(self.dense(nn.functional.dropout(mean, DROPOUT, self.training)))

    def forward(self, given: Any, mask: Any) -> Any:
        return torch.sigmoid(self.out(self.hidden(given, mask)))


def adapt(module: nn.Module, rank: int) -> None:
    """Have every dense layer of a module stay as it is, with an adapter on top of it."""
    for name, child in list(module.named_children()):
        if isinstance(child, nn.Linear):
            setattr(module, name, Adapter(child, rank))
        else:
            adapt(child, rank)


class Inputs(Protocol):
    """What a network learns from, by rows: `length` says which go through it together."""

    length: np.ndarray

    def batch(self, rows: np.ndarray) -> tuple[Any, ...]:
        """What the network is given for these rows."""

    def said(self, rows: np.ndarray) -> np.ndarray:
        """The network's outputs for these rows, one column per target."""


class Texts:
    """Texts as word pieces; with `keep`, what the fixed layers say of them is worked out once and kept."""

    def __init__(
        self, network: Network, pieces: Sequence[Sequence[int]], padding: int, *, keep: bool
    ) -> None:
        self._network = network
        self._pieces = [torch.tensor(each) for each in pieces]
        self._padding = padding
        self.length = np.array([len(each) for each in pieces])
        self._kept: list[Any] | None = None
        if keep:
            found: list[Any] = [None] * len(pieces)
            for part in self.alike(np.arange(len(pieces))):
                for row, states in zip(part.tolist(), self.batch(part)[0], strict=True):
                    found[row] = states.clone()
            self._kept = found

    def alike(self, rows: np.ndarray) -> Iterator[np.ndarray]:
        """The rows in parts of one length each: nothing is padded, so that neighbours hardly matter."""
        for length in np.unique(self.length[rows]):
            mine = rows[self.length[rows] == length]
            yield from (mine[start : start + PART] for start in range(0, len(mine), PART))

    def batch(self, rows: np.ndarray) -> tuple[Any, Any]:
        """What the network is given for these rows, and which places of it are filled."""
        chosen = self._pieces if self._kept is None else self._kept
        given = nn.utils.rnn.pad_sequence(
            [chosen[row] for row in rows.tolist()],
            batch_first=True,
            padding_value=self._padding if self._kept is None else 0.0,
        )
        places = torch.arange(given.shape[1])[None, :]
        mask = (places < torch.from_numpy(self.length[rows])[:, None]).long()
        return (given if self._kept is not None else self._network.below(given, mask)), mask

    def said(self, rows: np.ndarray) -> np.ndarray:
        """The network's outputs for these rows, one column per target."""
        self._network.eval()
        found = np.zeros((int(rows.max(initial=-1)) + 1, self._network.out.out_features))
        with torch.no_grad():
            for part in self.alike(rows):
                found[part] = self._network(*self.batch(part)).double().numpy()
        return found[rows]

    def hidden(self, rows: np.ndarray) -> np.ndarray:
        """What the dense layer below the units says of these rows."""
        self._network.eval()
        found = np.zeros((int(rows.max(initial=-1)) + 1, HIDDEN))
        with torch.no_grad():
            for part in self.alike(rows):
                found[part] = self._network.hidden(*self.batch(part)).double().numpy()
        return found[rows]


class Epoch(NamedTuple):
    """What a listener hears after every epoch, once its checkpoint is written."""

    setting: Descent
    number: int
    learned: float
    held: float
    seconds: float


@dataclass(frozen=True)
class Task:
    """What is learned: targets from 0 to 1, where they are settled, and the rows to learn from or to hold."""

    wanted: np.ndarray
    settled: np.ndarray
    learn: np.ndarray
    held: np.ndarray

    def means(self) -> np.ndarray:
        count = np.maximum(self.settled[self.learn].sum(axis=0), 1)
        return (self.wanted * self.settled)[self.learn].sum(axis=0) / count


@dataclass
class Course:
    """How far a descent is, and the best weights so far."""

    epochs: int = 0
    waited: int = 0
    least: float = np.inf
    best: Arrays = field(default_factory=dict)
    history: list[tuple[float, float]] = field(default_factory=list)

    def over(self, how: Descent) -> bool:
        return self.epochs >= how.epochs or self.waited >= how.patience

    def note(self, learned: float, held: float, network: Tunable) -> None:
        """Count an epoch; without held-out rows the last is the best."""
        self.epochs += 1
        self.history.append((learned, held))
        if np.isnan(held) or held < self.least:
            self.best, self.waited = network.arrays(), 0
            self.least = self.least if np.isnan(held) else held
        else:
            self.waited += 1


def tune(
    network: Tunable,
    texts: Inputs,
    task: Task,
    how: Descent,
    file: Path,
    listener: Callable[[Epoch], None] | None = None,
) -> Course:
    """Tune from the start, or from where the checkpoint at `file` ends, and keep what came out there."""
    network.begin(np.random.default_rng([how.seed, 0]), task.means())
    optimiser = torch.optim.AdamW(network.tuned().values(), lr=how.learning_rate, weight_decay=how.decay)
    course = _resume(file, network, optimiser)
    with _settled_chance():
        while not course.over(how):
            started = time.monotonic()
            learned = _descend(network, texts, task, how, optimiser, course.epochs + 1)
            held = _error(texts, task)
            if not np.isfinite(learned) or (len(task.held) and not np.isfinite(held)):
                raise UsageError(
                    f"fine_tuned: with learning_rate={how.learning_rate:g} the error grew beyond all numbers",
                    remedy="Take a lower learning_rate.",
                )
            course.note(learned, held, network)
            _keep(file, course, None if course.over(how) else (network, optimiser))
            if listener is not None:
                spent = time.monotonic() - started
                listener(Epoch(how, course.epochs, *course.history[-1], spent))
    return course


def _descend(network: Tunable, texts: Inputs, task: Task, how: Descent, optimiser: Any, epoch: int) -> float:
    """One pass over the rows to learn from, in random batches; the mean squared error on the way."""
    network.train()
    rng = np.random.default_rng([how.seed, epoch])
    order = rng.permutation(task.learn)
    torch.manual_seed(int(rng.integers(2**31)))
    lost = count = 0.0
    for start in range(0, len(order), how.batch):
        batch = order[start : start + how.batch]
        # A batch goes through in parts of like length; their gradients add up to that of the whole batch.
        batch = batch[np.argsort(texts.length[batch], kind="stable")]
        known = max(float(task.settled[batch].sum()), 1.0)
        optimiser.zero_grad()
        for at in range(0, len(batch), PART):
            part = batch[at : at + PART]
            wanted, settled = (torch.from_numpy(each[part]) for each in (task.wanted, task.settled))
            loss = ((network(*texts.batch(part)) - wanted) ** 2 * settled).sum()
            (loss / known).backward()
            lost += loss.item()
        optimiser.step()
        count += known
    return lost / count


def _error(texts: Inputs, task: Task) -> float:
    """The mean squared error on the rows held out; NaN where there are none."""
    if not len(task.held):
        return float("nan")
    settled = task.settled[task.held]
    wrong = (texts.said(task.held) - task.wanted[task.held]) ** 2
    return float((wrong * settled).sum() / settled.sum())


@contextmanager
def _settled_chance() -> Iterator[None]:
    """Deterministic algorithms only, and the user's own chance left as it was."""
    # CUDA's own sums are the same every time only with this.
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    before = torch.are_deterministic_algorithms_enabled()
    torch.use_deterministic_algorithms(True)
    try:
        with torch.random.fork_rng(devices=[]):
            yield
    finally:
        torch.use_deterministic_algorithms(before)


MOMENTS = ("step", "exp_avg", "exp_avg_sq")


def _keep(file: Path, course: Course, live: tuple[Tunable, Any] | None) -> None:
    """Write a checkpoint in one step; of a descent that is over the best weights alone."""
    arrays: Arrays = {
        "counts": np.array([course.epochs, course.waited]),
        "least": np.array(course.least),
        "history": np.array(course.history),
        **{f"best.{name}": array for name, array in course.best.items()},
    }
    if live is not None:
        network, optimiser = live
        for name, part in network.tuned().items():
            arrays[f"live.{name}"] = part.detach().cpu().numpy()
            for moment in MOMENTS:
                # What no text has reached yet has no moments.
                if moment in optimiser.state[part]:
                    arrays[f"{moment}.{name}"] = optimiser.state[part][moment].cpu().numpy()
    file.parent.mkdir(parents=True, exist_ok=True)
    # Two processes may learn the same: each writes its own file, and either is as good.
    fresh = file.with_name(f"{file.name}.{os.getpid()}")
    try:
        with fresh.open("wb") as opened:
            np.savez(opened, allow_pickle=False, **arrays)
            opened.flush()
            os.fsync(opened.fileno())
        os.replace(fresh, file)
    finally:
        fresh.unlink(missing_ok=True)


def _resume(file: Path, network: Tunable, optimiser: Any) -> Course:
    """The course that a checkpoint tells of, network and optimiser brought to where they were."""
    if not file.is_file():
        return Course()
    try:
        with np.load(file, allow_pickle=False) as opened:
            arrays = {name: opened[name] for name in opened.files}
        epochs, waited = (int(count) for count in arrays["counts"])
        history = [(float(learned), float(held)) for learned, held in arrays["history"]]
        course = Course(epochs, waited, float(arrays["least"]), _under(arrays, "best"), history)
    except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
        raise DataError(
            f"the checkpoint cannot be read: {error}", where=str(file), remedy="Remove it to begin again."
        ) from None
    live = _under(arrays, "live")
    if live:
        network.take(live)
        state = optimiser.state_dict()
        for number, name in enumerate(network.tuned()):
            state["state"][number] = {
                moment: torch.from_numpy(arrays[f"{moment}.{name}"])
                for moment in MOMENTS
                if f"{moment}.{name}" in arrays
            }
        optimiser.load_state_dict(state)
    return course


def _under(arrays: Mapping[str, np.ndarray], first: str) -> Arrays:
    start = f"{first}."
    return {name.removeprefix(start): array for name, array in arrays.items() if name.startswith(start)}
