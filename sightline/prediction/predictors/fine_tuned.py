"""A text encoder trained further on the truth itself."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from sightline.errors import DataError, UsageError
from sightline.extension import predictor
from sightline.prediction.predictors._encoders import Read, located
from sightline.prediction.predictors._network import Descent
from sightline.prediction.predictors._parts import marks, settled_columns
from sightline.records import Examples
from sightline.statistics.folds import grouped_k_fold
from sightline.weights import cache_folder

if TYPE_CHECKING:
    from sightline.prediction.predictors._tuning import Arrays, Course, Epoch, Network

RATES = (1e-3, 1e-4, 1e-5, 1e-6)
DECAYS = (0.0, 0.1, 0.01)
HELD = 10
"""One example of so many is held out to stop early; with fewer different prompts none is."""
AT_ONCE = 1024
REST = "words together"


@predictor(
    sees="prompt", extra="torch", source="Poesina et al. 2025 (PQPP); Hu et al. 2022", licence="Apache-2.0"
)
class fine_tuned:
    """A pretrained text encoder tuned on the truth, with a dense layer of 512 and a logistic unit a target.

    The mean over the word pieces (at most 128) of the last layer goes through dropout of 0.3, a dense layer
    of 512 with ReLU and one unit a target; every target is scaled to [0, 1] by its least and largest value,
    and the mean squared error over what is settled is least. `model` is minilm (all-MiniLM-L6-v2), mpnet
    (all-mpnet-base-v2) or a folder with a checkpoint of BERT, MPNet or RoBERTa and the `sha256` of its files.

    AdamW with `learning_rate` and weight decay `decay` in batches of `batch` prompts, for at most
    `epochs` epochs; a tenth of the examples (prompts of the same words together) is held out, and after
    `patience` epochs without progress on them the best weights are taken. With `grid` all of the rates 1e-3
    to 1e-6 and decays 0, 0.1 and 0.01 are tried, and the pair with the least held-out error is taken;
    `learning_rate` and `decay` count where too few examples are there to hold any out. The mean over
    `seeds` networks is predicted, each with other first weights and other examples held out, counted from
    `seed`. With `shared` one network learns all targets, otherwise each has its own.

    With `rank` above 0 every dense layer of the encoder stays as it is and a product of two matrices of that
    rank is learned and added to it: the file is small. With 0 all weights are tuned, and the file is as
    large as the encoder. The first `frozen` layers, and with them the words, stay as they are; what they say
    is worked out once. A fit writes a checkpoint below the user's cache folder after every epoch: one that
    was interrupted goes on there when it is asked for again, to the same bits, and one that is finished is
    not done again. The same seed gives the same bits with the same number of threads and the same torch.
    """

    def __init__(
        self,
        *,
        model: str = "minilm",
        sha256: str = "",
        rank: int = 8,
        frozen: int = 0,
        learning_rate: float = 0.001,
        decay: float = 0.01,
        grid: bool = False,
        epochs: int = 15,
        batch: int = 256,
        patience: int = 3,
        seeds: int = 1,
        shared: bool = True,
        seed: int = 0,
    ) -> None:
        if min(epochs, batch, patience, seeds) < 1 or min(rank, frozen, decay) < 0 or learning_rate <= 0:
            raise UsageError(
                f"fine_tuned: epochs={epochs}, batch={batch}, patience={patience}, seeds={seeds}, "
                f"rank={rank}, frozen={frozen}, learning_rate={learning_rate:g}, decay={decay:g}",
                remedy="epochs, batch, patience, seeds from 1; rank, frozen, decay from 0; rate above 0.",
            )
        self._source = located("fine_tuned", model, sha256)
        self._rank, self._frozen = rank, frozen
        self._pair = (learning_rate, decay)
        self._grid = grid
        self._course = (epochs, batch, patience)
        self._seeds = range(seed, seed + seeds)
        self._shared = shared
        self._networks: dict[int, tuple[Network, Any]] = {}
        self._low, self._span, self._mean = np.zeros(0), np.zeros(0), np.zeros(0)
        # Which targets a network predicts, and what it learned with each seed.
        self._learned: list[tuple[list[int], list[Arrays]]] = []
        self.chosen: list[tuple[float, float]] = []
        """Rate and decay of every network."""
        self.listener: Callable[[Epoch], None] | None = None
        """Called after every epoch, once its checkpoint is written; what it raises ends the fit."""

    def fit(self, x: Examples, truth: np.ndarray) -> Self:
        truth = np.asarray(truth, dtype=np.float64)
        list(settled_columns(truth))
        self._low, self._mean = np.nanmin(truth, axis=0), np.nanmean(truth, axis=0)
        self._span = np.nanmax(truth, axis=0) - self._low
        self._learned, self.chosen = [], []
        varied = np.flatnonzero(self._span > 0).tolist()
        for targets in [varied] if self._shared and varied else [[target] for target in varied]:
            rows = np.flatnonzero(np.isfinite(truth[:, targets]).any(axis=1))
            found, pair = self._fit_one(x.take(rows), truth[rows][:, targets], targets)
            self._learned.append((targets, found))
            self.chosen.append(pair)
        return self

    def _fit_one(
        self, x: Examples, truth: np.ndarray, targets: list[int]
    ) -> tuple[list[Arrays], tuple[float, float]]:
        from sightline.prediction.predictors._tuning import Task, Texts, tune

        network, pieces = self._network(len(targets))
        read = [pieces.read(prompt.text).pieces for prompt in x.prompts]
        settled = np.isfinite(truth)
        wanted = np.where(settled, (truth - self._low[targets]) / self._span[targets], 0.0)
        texts = Texts(network, read, pieces.padding, keep=self._frozen > 0)
        folder = cache_folder() / "tuning" / self._key(x, truth)
        cuts = [_held(x, seed) for seed in self._seeds]

        def tuned(setting: Descent, held: np.ndarray) -> Course:
            rows = np.arange(len(x))
            task = Task(wanted.astype(np.float32), settled.astype(np.float32), rows[~held], rows[held])
            file = folder / f"{setting.learning_rate!r}-{setting.decay!r}-{setting.seed}.npz"
            return tune(network, texts, task, setting, file, self.listener)

        pair = self._pair
        if self._grid and cuts[0].any():
            tried = [(learning_rate, decay) for learning_rate in RATES for decay in DECAYS]
            errors = [tuned(self._setting(each, self._seeds[0]), cuts[0]).least for each in tried]
            pair = tried[int(np.argmin(errors))]
        found = [
            tuned(self._setting(pair, seed), held).best for seed, held in zip(self._seeds, cuts, strict=True)
        ]
        return found, pair

    def _setting(self, pair: tuple[float, float], seed: int) -> Descent:
        epochs, batch, patience = self._course
        return Descent(epochs, *pair, batch, patience, seed)

    def _key(self, x: Examples, truth: np.ndarray) -> str:
        """Everything that decides the outcome but learning_rate, decay and seed, which name the file."""
        import torch
        import transformers

        from sightline.prediction.predictors import _tuning

        described = [
            self._source.identity, self._rank, self._frozen, self._course, torch.__version__,
            transformers.__version__, [prompt.text for prompt in x.prompts], truth.shape,
        ]  # fmt: skip
        key = hashlib.sha256(json.dumps(described).encode())
        key.update(np.ascontiguousarray(truth).tobytes())
        # Another arithmetic must not take up where this one was.
        for file in (_tuning.__file__, __file__):
            key.update(Path(file).read_bytes())
        return key.hexdigest()

    def _network(self, targets: int) -> tuple[Network, Any]:
        """A network for so many targets, its encoder as it was pretrained or as it was last tuned."""
        from sightline.prediction.predictors._tuning import Network

        if targets not in self._networks:
            model, pieces = self._source.load()
            network = Network(model, targets, rank=self._rank, frozen=self._frozen)
            self._networks[targets] = (network, pieces)
        return self._networks[targets]

    def predict(self, x: Examples) -> np.ndarray:
        made = np.tile(self._mean, (len(x), 1))
        for targets, _ in self._learned:
            _, pieces = self._network(len(targets))
            read = [pieces.read(prompt.text).pieces for prompt in x.prompts]
            made[:, targets] = self._said(targets, read)
        return made

    def _said(self, targets: Sequence[int], read: Sequence[Sequence[int]]) -> np.ndarray:
        """What the networks of these targets say of texts, on the scale of the truth."""
        from sightline.prediction.predictors._tuning import Texts

        (found,) = (each for mine, each in self._learned if mine == targets)
        network, pieces = self._network(len(targets))
        made = np.zeros((len(read), len(targets)))
        for start in range(0, len(read), AT_ONCE):
            part = read[start : start + AT_ONCE]
            texts = Texts(network, part, pieces.padding, keep=self._frozen > 0 and len(found) > 1)
            for arrays in found:
                network.take(arrays)
                made[start : start + AT_ONCE] += texts.said(np.arange(len(part))) / len(found)
        return self._low[targets] + self._span[targets] * made

    def latent(self, x: Examples) -> np.ndarray:
        """The dense layer of 512 below the units, of every network of the first seed."""
        from sightline.prediction.predictors._tuning import Texts

        made = []
        for targets, found in self._learned:
            network, pieces = self._network(len(targets))
            network.take(found[0])
            read = [pieces.read(prompt.text).pieces for prompt in x.prompts]
            parts = [read[start : start + AT_ONCE] for start in range(0, len(read), AT_ONCE)]
            held = [
                Texts(network, part, pieces.padding, keep=False).hidden(np.arange(len(part)))
                for part in parts
            ]
            made.append(np.concatenate(held))
        return np.hstack(made) if made else np.zeros((len(x), 1))

    def explain(self, x: Examples) -> Sequence[Mapping[str, float]]:
        """What each word adds: the prediction less that without the word, all other words as they are.

        Words do not act by themselves, so that these differences do not add up; what is left between the base
        (the mean of the truth), the words and the prediction stands under "words together".
        """
        predicted = self.predict(x)
        reasons: list[dict[str, float]] = [{} for _ in range(len(x))]
        ends = marks(len(self._mean))
        for each in reasons:
            each |= {f"base{end}": float(mean) for end, mean in zip(ends, self._mean, strict=True)}
        for targets, _ in self._learned:
            _, pieces = self._network(len(targets))
            read = [pieces.read(prompt.text) for prompt in x.prompts]
            # Leaving out either of two equal neighbours gives the same text, which is asked about once.
            asked = {key: number for number, key in enumerate(dict.fromkeys(_without(read)))}
            said = self._said(targets, list(asked))
            for row, one in enumerate(read):
                for word, places in one.words:
                    left = predicted[row, targets] - said[asked[_less(one, places)]]
                    for target, part in zip(targets, left.tolist(), strict=True):
                        name = f"word {word}{ends[target]}"
                        reasons[row][name] = reasons[row].get(name, 0.0) + part
        for row, each in enumerate(reasons):
            for target, end in enumerate(ends):
                known = sum(part for name, part in each.items() if name.endswith(end))
                each[f"{REST}{end}"] = float(predicted[row, target]) - known
        return reasons

    def state(self) -> dict[str, np.ndarray]:
        arrays_by_name = {
            "encoder": np.array(self._source.identity),
            "low": self._low.copy(),
            "span": self._span.copy(),
            "mean": self._mean.copy(),
            "chosen": np.array(self.chosen, dtype=np.float64).reshape(-1, 2),
        }
        for number, (targets, found) in enumerate(self._learned):
            arrays_by_name[f"{number}.targets"] = np.array(targets, dtype=np.int64)
            for seed, arrays in enumerate(found):
                arrays_by_name |= {f"{number}.{seed}.{name}": array.copy() for name, array in arrays.items()}
        return arrays_by_name

    def restore(self, state: Mapping[str, np.ndarray]) -> Self:
        if str(state["encoder"]) != self._source.identity:
            raise DataError(
                "this was learned on top of another encoder",
                remedy="Give the model that it was learned with.",
            )
        self._low, self._span, self._mean = (np.array(state[name]) for name in ("low", "span", "mean"))
        self.chosen = [(float(learning_rate), float(decay)) for learning_rate, decay in state["chosen"]]
        self._learned = []
        for number in range(len(self.chosen)):
            found: dict[str, Arrays] = {}
            for name in state:
                if name.startswith(f"{number}.") and name != f"{number}.targets":
                    _, seed, inner = name.split(".", 2)
                    found.setdefault(seed, {})[inner] = np.array(state[name], dtype=np.float32)
            targets = [int(target) for target in state[f"{number}.targets"]]
            self._learned.append((targets, [found[seed] for seed in sorted(found, key=int)]))
        return self


def _held(x: Examples, seed: int) -> np.ndarray:
    """Which examples are held out: about a tenth, prompts of the same words on one side."""
    words = np.array([" ".join(prompt.text.lower().split()) for prompt in x.prompts])
    if len(np.unique(words)) < HELD:
        return np.zeros(len(x), dtype=np.bool_)
    return np.asarray(grouped_k_fold(words, HELD, seed=seed) == 0)


def _less(read: Read, places: Sequence[int]) -> tuple[int, ...]:
    gone = set(places)
    return tuple(piece for place, piece in enumerate(read.pieces) if place not in gone)


def _without(read: Sequence[Read]) -> Iterator[tuple[int, ...]]:
    """Every text without each of its words in turn."""
    for one in read:
        for _, places in one.words:
            yield _less(one, places)
