"""How every extension must behave, checked for every extension there is, ours and others' alike.

Adding an extension adds its tests. Each of ours also has a golden value in golden.json: its result on a
fixed input, under its identity. If arithmetic changes, the value differs and the test fails until `version`
is raised in the extension's declaration; its new identity then has no value yet, and

    SIGHTLINE_GOLDEN=add python -m pytest tests/test_conformance.py tests/test_registry.py

adds the missing ones. Nothing ever overwrites a value. A golden value holds on every processor: how far a
result may be from it is said by kind in TOLERANCE.
"""

from __future__ import annotations

import atexit
import io
import itertools
import json
import math
import os
import shlex
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from scipy.sparse import csr_matrix

from sightline import records as records_of
from sightline import registry
from sightline.encoders.fit_bridge import fit_bridge
from sightline.errors import MissingPackage
from sightline.extension import KINDS, Configured, Extension
from sightline.pictures import Picture, decode
from sightline.records import (
    AnnotatorKey,
    Candidates,
    Controls,
    Examples,
    Exclusion,
    Failure,
    ImageKey,
    Mode,
    NewPrompt,
    NoValue,
    Prompt,
    PromptKey,
    Question,
    Rankings,
    Settled,
    Votes,
)
from sightline.study.running.validate import gate
from sightline.study.scores import Outcome
from sightline.study.study import create_study
from sightline.study.writing.loading import load

# Whose golden values are kept here; other packages have their own tests.
OURS = ("sightline", "sightline-example")
GOLDEN = Path(__file__).with_name("golden.json")
# Relative. Float32 networks, solvers and iterations end differently on processors with other instructions.
TOLERANCE = {
    kind: 1e-3
    for kind in ("encoder", "consensus", "distance", "of_answer", "of_set", "predictor", "retriever")
}
FLOAT64 = 1e-5
# These kinds need files or a study as input; their behaviour is tested in the folder named here.
ELSEWHERE = {"importer": "tests/importers", "check": "tests/checks"}

EXTENSIONS = [
    each for each in registry.everything() if isinstance(each, Extension) and each.spec.kind not in ELSEWHERE
]
every_extension = pytest.mark.parametrize(
    "extension",
    [
        pytest.param(
            each,
            id=f"{each.spec.kind}-{each.spec.name}",
            marks=[pytest.mark.slow] if each.spec.name == "fine_tuned" else [],
        )
        for each in EXTENSIONS
    ],
)


def configured(extension: Extension) -> Configured:
    name = extension.spec.name
    settings = {**SETTINGS.get(name, {}), **({BRIDGED[name]: small_bridge()} if name in BRIDGED else {})}
    if name == "bridge":
        settings = dict(small_bridge().arguments)
    return registry.configure(extension.spec.kind, name, **settings)


DRAWING = (
    "import sys, hashlib, PIL.Image as I; c = hashlib.sha256(' '.join(sys.argv[1:3]).encode()).digest(); "
    "I.new('RGB', (4, 4), tuple(c[:3])).save(sys.argv[3])"
)
# What an extension cannot do without has no useful default, such as the user's own program.
SETTINGS: dict[str, dict[str, Any]] = {
    "command": {
        "line": f"{shlex.quote(sys.executable)} -c {shlex.quote(DRAWING)} {{prompt}} {{seed}} {{output}}"
    }
}


# These need a joint space, and only a fitted bridge needs no weights.
BRIDGED = {"embedding_similarity": "encoder", "exact": "encoder", "image_text_head": "encoder"}


@cache
def small_bridge() -> Configured:
    """A bridge fitted on 24 painted halves and what captions say of them."""
    paints = {"red": (220, 20, 20), "green": (20, 200, 20), "blue": (20, 20, 220), "white": (240, 240, 240)}
    folder = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    records = []
    for (left, one), (right, two) in itertools.permutations(paints.items(), 2):
        for wide in (10, 20):
            pixels = np.tile(np.array(two, dtype=np.uint8), (32, 32, 1))
            pixels[:, :wide] = one
            name = f"{left}-{right}-{wide}.png"
            Image.fromarray(pixels).save(folder / name)
            captions = [f"{left} beside {right}", f"a {right} thing with some {left}"]
            records.append(records_of.Image(ImageKey("halves", name), str(folder / name), captions))
    with create_study(folder / "study") as study:
        load(study, records, importer="test", path="halves", digest="1")
        fitted = fit_bridge(study, "halves", image="colour_layout", text="hashed_words", folds=3)
    encoders = {"image_encoder": "colour_layout", "text_encoder": "hashed_words"}
    return registry.configure("encoder", "bridge", path=str(fitted.path), **encoders)


def runnable(extension: Extension) -> Configured:
    ready = configured(extension)
    absent = [name for inner in ready.nested() for name in inner.spec.missing()]
    if absent:
        pytest.skip(f"not needed here: {extension.spec.name} wants {', '.join(absent)}")
    try:
        ready.load()
    except MissingPackage as error:
        pytest.skip(f"not needed here: {extension.spec.name}: {error.what}")
    return ready


@pytest.fixture(autouse=True)
def nothing_is_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SIGHTLINE_OFFLINE", "1")


def test_every_kind_is_checked_somewhere() -> None:
    assert set(BEHAVIOUR) | set(ELSEWHERE) == set(KINDS)


# Inputs: small, real, and drawn by formula, so that they are the same on every machine.


def encoded(image: Image.Image) -> Picture:
    file = io.BytesIO()
    image.save(file, "PNG")
    return Picture(file.getvalue())


@cache
def pictures() -> tuple[Picture, ...]:
    """A photo-like gradient, a tile pattern, one pixel, and what else a file may hold."""
    y, x = np.mgrid[:48, :64]
    smooth = np.stack([x * 4, y * 5, 255 - x * 2 - y], axis=2).astype(np.uint8)
    tiles = (((x // 4 + y // 4) % 2)[:, :, None] * np.array([200, 30, 40]) + 20).astype(np.uint8)
    clear = np.dstack([smooth, (x * 4).astype(np.uint8)])
    deep = (x * 1000 + y).astype(np.uint16)
    return (
        encoded(Image.fromarray(smooth)),
        encoded(Image.fromarray(tiles)),
        encoded(Image.new("RGB", (1, 1), (10, 200, 30))),
        encoded(Image.fromarray(smooth[:, :, 0])),
        encoded(Image.fromarray(clear)),
        encoded(Image.fromarray(tiles).convert("P", palette=Image.Palette.ADAPTIVE, colors=4)),
        encoded(Image.fromarray(deep)),
        encoded(Image.new("RGB", (300, 2), (0, 0, 0))),
        encoded(Image.new("1", (5, 9), 1)),
    )


@cache
def prompts() -> tuple[Prompt, ...]:
    texts = (
        "a red ball", "", "two blue cars next to an orange cat", "  \n ", "\u732b\u3068\u8d64\u3044\u82b1",
        "A photo of NASA's rocket, 8k, highly detailed", "green " * 50, "<script>alert(1)</script>", "?!",
    )  # fmt: skip
    wanted = {"objects": [{"kind": "ball", "count": 1, "colour": "red"}]}
    return tuple(
        Prompt(PromptKey("suite", str(number)), text, expects=wanted if number == 0 else None)
        for number, text in enumerate(texts)
    )


@cache
def rankings() -> tuple[tuple[list[float], list[float]], ...]:
    """Ranked gains and all known gains of a few queries; None of the last is known."""
    nan = float("nan")
    return (
        ([0, 1, nan, 2, 0, 1], [2, 2, 1, 1, 0, 0]),
        ([1], [1]),
        ([], [1, 1]),
        ([nan, nan], [2]),
        ([0, 0], [0, 0]),
    )


def as_run(queries: Sequence[tuple[list[float], list[float]]]) -> Rankings:
    """Two engines in turn, so that a prompt has two rankings; the image at place n is image n of six."""
    beside = Searched([len(gains) for gains, _ in queries])
    number = np.arange(len(queries))
    return Rankings(
        np.cumsum([0, *beside.lengths]),
        np.array([gain for gains, _ in queries for gain in gains], dtype=np.float64),
        np.cumsum([0, *(len(known) for _, known in queries)]),
        np.array([gain for _, known in queries for gain in known], dtype=np.float64),
        scores=3 / (beside.rank + 1), images=beside.rank, prompts=number // 2, systems=number % 2,
        beyond=beside,
    )  # fmt: skip


class Searched:
    """What lies beyond rankings of these lengths: as of one engine over six images with captions."""

    def __init__(self, lengths: Sequence[int]) -> None:
        self.lengths = lengths
        self.rank = np.array([place for length in lengths for place in range(length)], dtype=np.int64)

    def texts(self) -> list[str]:
        return ["a red ball" + " and the sea" * length for length in self.lengths]

    def caption_words(self) -> tuple[Any, np.ndarray]:
        words = [[2, 0, 1], [0, 1, 1], [1, 1, 0], [0, 0, 0], [1, 0, 0], [0, 3, 0]]
        return csr_matrix(np.array(words, dtype=np.float64)), self.rank

    def collection_scores(self) -> list[float]:
        return [0.5] * len(self.lengths)

    def asked_again(self, k: int, *, noise: str, share: float, seed: int) -> tuple[Any, Any, list[None]]:
        found = [np.arange(length + 1)[seed % 2 :] for length in self.lengths]
        offsets = np.cumsum([0, *map(len, found)])
        return np.concatenate([*found, self.rank[:0]]), offsets, [None] * len(found)

    def relevance(self, *models: Any, **settings: Any) -> np.ndarray:
        return np.asarray(1 / (self.rank + 2))


def cast(seed: int | None = None, rows: slice = slice(None)) -> Votes:
    """Thirteen items, the last without votes; six annotators, one of whom always says 1; anonymous votes."""
    table = [
        (item, who, float((item * 7 + who * who * 3) % 4 - 1) if who < 5 else 1.0, 1)
        for item in range(12)
        for who in range(6)
        if (item + who) % 7
    ] + [(item, -1, float(item % 4 - 1), 1 + item % 3) for item in range(0, 12, 3)]
    order = np.random.default_rng(seed).permutation(len(table)) if seed is not None else range(len(table))
    chosen = [table[int(number)] for number in order][rows]
    item, who, value, count = (np.array([row[column] for row in chosen]) for column in range(4))
    return Votes(
        item.astype(np.int64), who.astype(np.int64), value.astype(np.float64), count.astype(np.int64),
        np.zeros(len(chosen), np.int64), np.full(len(chosen), np.nan), np.zeros(len(chosen), np.bool_),
        np.zeros(len(chosen), np.int64), 13,
        [AnnotatorKey("panel", f"a{number}") for number in range(6)],
        Question("relevance", "ordinal", -1, 2, 1), pairs=np.array([[n % 4, 4 + n % 3] for n in range(13)]),
    )  # fmt: skip


def examples(n: int = 30) -> Examples:
    row = np.arange(n, dtype=np.float64)
    features = np.stack([np.sin(row), np.cos(row * 2), row % 5], axis=1)
    features[::7, 2] = np.nan
    texts = [f"{('a red', 'two blue', 'an old')[number % 3]} thing number {number}" for number in range(n)]
    return Examples(
        [Prompt(PromptKey("s", str(number)), text) for number, text in enumerate(texts)],
        features, ["sine", "cosine", "rest"], [list(pictures()[:2])] * n,
    )  # fmt: skip


def truths(n: int = 30) -> np.ndarray:
    row = np.arange(n, dtype=np.float64)
    return np.stack([np.sin(row) * 2 + row % 3, np.cos(row * 2)], axis=1)


def candidates() -> Candidates:
    cars = ["two cars", "blue cars in a street"]
    said = [["a red ball", "a ball on grass"], cars, [], ["a cat"], ["a red car"]]
    keys = [ImageKey("c", str(number)) for number in range(5)]
    return Candidates(keys, said, pictures()[:5])


# Behaviour: one function a kind.


def plain(results: Any) -> Any:
    """Results of any shape as JSON values: numbers with 9 digits, no value as its reason."""
    match results:
        case np.ndarray():
            return plain(results.tolist())
        case bool() | str() | None | int():
            return results
        case float() | np.floating():
            return None if math.isnan(results) else float(f"{results:.9g}")
        case NoValue() | Failure():
            return results.reason
        case bytes():
            return decode(results).mean(axis=(0, 1)).tolist()
        case dict():
            return {str(key): plain(value) for key, value in results.items()}
        case Outcome():
            return [results.value, results.reason, plain(results.evidence)]
        case tuple() if hasattr(results, "_asdict"):
            return plain(results._asdict())
        case list() | tuple():
            return [plain(each) for each in results]
    raise AssertionError(f"{type(results).__name__} is no result")


def same(one: Any, two: Any, kind: str) -> bool:
    """Whether two plain results agree, numbers within what their kind allows."""
    relative = TOLERANCE.get(kind, FLOAT64)

    def agree(one: Any, two: Any, absolute: float) -> bool:
        match one, two:
            case (bool() | str() | None, _):
                return type(one) is type(two) and one == two
            case (int(), int()):
                return one == two
            case (int() | float(), int() | float()):
                return math.isclose(one, two, rel_tol=relative, abs_tol=absolute)
            case list(), list():
                if kind == "encoder":
                    # A direction of a vector may be near zero by cancellation: its neighbours give the scale.
                    absolute = relative * max((abs(x) for x in one if isinstance(x, float)), default=0)
                return len(one) == len(two) and all(map(agree, one, two, [absolute] * len(one)))
            case dict(), dict():
                return one.keys() == two.keys() and all(agree(one[key], two[key], absolute) for key in one)
        return False

    return agree(one, two, relative / 100)


def near(one: Any, two: Any) -> bool:
    """Whether two arrays are equal but for the order in which a network or a solver adds up."""
    one, two = np.asarray(one), np.asarray(two)
    return one.shape == two.shape and bool((np.abs(one - two) <= 1e-4 * np.abs(two).max(initial=0)).all())


def each_by_itself(ready: Configured, *columns: Sequence[Any]) -> Any:
    """Whole column, gated; must not depend on what else is in the batch, nor on the run."""
    function = ready.load()
    n = len(columns[0])
    together = gate(ready.spec, function(*columns), n)
    assert gate(ready.spec, function(*([] for _ in columns)), 0) == []
    alone = [gate(ready.spec, function(*([column[k]] for column in columns)), 1)[0] for k in range(n)]
    assert same(plain(together), plain(alone), ready.spec.kind)
    assert same(plain(gate(ready.spec, function(*columns), n)), plain(together), ready.spec.kind)
    json.dumps([outcome.evidence for outcome in together], allow_nan=False)
    return [outcome.reason if outcome.value is None else outcome.value for outcome in together]


def of_prompt(ready: Configured) -> Any:
    return each_by_itself(ready, prompts())


def of_image(ready: Configured) -> Any:
    return each_by_itself(ready, pictures())


def of_answer(ready: Configured) -> Any:
    pairs = list(itertools.product(prompts()[:6], pictures()[:4]))
    return each_by_itself(ready, [prompt for prompt, _ in pairs], [picture for _, picture in pairs])


def of_set(ready: Configured) -> Any:
    function = ready.load()
    sets = [pictures()[:size] for size in (0, 1, 2, 5)] + [(pictures()[0],) * 3]
    results = [gate(ready.spec, function(images), 1)[0] for images in sets]
    assert results[0].value is None, "nothing cannot have a value"
    (turned,) = gate(ready.spec, function(pictures()[:5][::-1]), 1)
    assert same(plain(turned), plain(results[3]), ready.spec.kind), "a set has no order"
    return [result.reason if result.value is None else result.value for result in results]


def of_ranking(ready: Configured) -> Any:
    function = ready.load()

    def gated(queries: Sequence[tuple[list[float], list[float]]]) -> list[Any]:
        nan = NoValue(ready.spec.details["nan"])
        values = list(function(as_run(queries)))
        told = [each if isinstance(each, NoValue) else nan if math.isnan(each) else each for each in values]
        return [outcome.reason or outcome.value for outcome in gate(ready.spec, told, len(queries))]

    together = gated(rankings())
    assert same(together, gated(rankings()), ready.spec.kind)
    # Nothing but what it says it rests on may count: its own ranking, those of its prompt, or all.
    size = {"runs": 2, "everything": len(together)}.get(ready.spec.details["rests_on"], 1)
    parts = [gated(rankings()[start : start + size]) for start in range(0, len(together), size)]
    assert same(together, [value for part in parts for value in part], ready.spec.kind)
    assert gated([]) == []
    return together


def distance(ready: Configured) -> Any:
    function = ready.load()
    matrix = np.asarray(function(pictures()))
    n = len(pictures())
    assert matrix.shape == (n, n)
    assert np.isfinite(matrix).all()
    assert (matrix == matrix.T).all() and (np.diag(matrix) == 0).all()
    low, high = ready.spec.range
    assert low == 0 and matrix.min() >= 0 and (high is None or matrix.max() <= high)
    order = np.array([3, 0, 8, 1, 7, 2, 6, 4, 5])
    assert near(function([pictures()[k] for k in order]), matrix[np.ix_(order, order)])
    assert np.asarray(function([])).shape == (0, 0)
    assert np.asarray(function(pictures()[:1])).tolist() == [[0]]
    assert np.allclose(function([pictures()[0]] * 2), 0, atol=1e-6), "an image and itself"
    return matrix


def encoder(ready: Configured) -> Any:
    encoder = ready.load()
    results = {}
    inputs: dict[str, Sequence[Any]] = {"text": [prompt.text for prompt in prompts()], "image": pictures()}
    assert set(ready.spec.details["encodes"]) <= set(inputs)
    for what in ready.spec.details["encodes"]:
        encode: Callable[[Sequence[Any]], np.ndarray] = getattr(encoder, what)
        vectors = encode(inputs[what])
        assert vectors.ndim == 2 and len(vectors) == len(inputs[what])
        assert np.issubdtype(vectors.dtype, np.floating) and np.isfinite(vectors).all()
        assert ready.spec.details["dimensions"] in (None, vectors.shape[1])
        assert encode([]).shape == (0, vectors.shape[1])
        alone = np.concatenate([encode([each]) for each in inputs[what]])
        assert near(alone, vectors)
        # A few directions of the whole instead of every number: the file stays readable.
        results[what] = vectors @ np.cos(np.outer(np.arange(vectors.shape[1]), [0, 1, 2, 3]))
    assert results, "it encodes nothing"
    return results


def predictor(ready: Configured) -> Any:
    x, truth = examples(), truths()
    before = (x.features.copy(), truth.copy(), list(x.prompts))
    model = ready.load().fit(x, truth)
    predicted = np.asarray(model.predict(x))
    assert predicted.shape == truth.shape and np.isfinite(predicted).all()
    state = model.state()
    assert all(isinstance(array, np.ndarray) and array.dtype != object for array in state.values())
    again = ready.load().restore(state)
    assert near(again.predict(x), predicted), "restored, it must predict the same"
    rows = np.array([4, 0])
    assert near(model.predict(x.take(rows)), predicted[rows])
    assert np.asarray(model.predict(x.take(np.array([], dtype=np.int64)))).shape == (0, 2)
    told = model.explain(x)
    assert len(told) == len(x) and all(math.isfinite(part) for parts in told for part in parts.values())
    assert np.array_equal(x.features, before[0], equal_nan=True) and (truth == before[1]).all()
    assert list(x.prompts) == before[2]
    other = ready.load().fit(x, truth[::-1])
    assert other is not model
    assert near(model.predict(x), predicted), "two models share what they learned"
    assert near(ready.load().fit(x, truth).predict(x), predicted)
    assert np.asarray(ready.load().fit(x, truth[:, :1]).predict(x)).shape == (30, 1)
    return predicted[:5]


def consensus(ready: Configured) -> Any:
    function = ready.load()
    settled: Settled = function(cast())
    votes = cast()
    columns = (settled.value, settled.low, settled.high, settled.n, settled.reason)
    assert [len(column) for column in columns] == [13] * 5
    everything = np.bincount(votes.item, weights=votes.n, minlength=13)
    assert (settled.n <= everything).all()
    assert settled.left_out or (settled.n == everything).all(), "whose votes were not used?"
    assert all(any(letter.isdigit() for letter in each.reason) for each in settled.left_out)
    for value, low, high, _, reason in zip(*columns, strict=True):
        assert np.isnan(value) == (reason is not None)
        assert reason is None or reason.strip()
        assert np.isnan(low) == np.isnan(high)
        assert np.isnan(low) or low <= value <= high
    assert settled.reason[12] is not None, "nobody judged the last item"
    # Taking a bias off may carry a score past the votes, but never further than votes can differ.
    some = ~np.isnan(settled.value)
    assert (np.abs(settled.value[some] - 0.5) <= 3).all()
    lowest, highest = ready.spec.range
    assert lowest is None or settled.value[some].min() >= lowest
    assert highest is None or settled.value[some].max() <= highest
    for seed in (1, 2):
        mixed = function(cast(seed))
        assert np.allclose(mixed.value, settled.value, equal_nan=True, atol=1e-6)
        assert list(mixed.reason) == list(settled.reason)
    nothing = function(cast(rows=slice(0)))
    assert np.isnan(nothing.value).all() and len(nothing.value) == 13
    assert set(ready.spec.details["scales"]) <= {"nominal", "ordinal", "interval"}
    return [settled.value, settled.low, settled.n]


def screening(ready: Configured) -> Any:
    function = ready.load()
    controls = Controls(
        np.arange(8), np.array([1.0, 0, 2, -1, 1, 0, 2, -1]), np.zeros(8), ["known"] * 8, ["known"] * 8
    )
    results = []
    for known in (None, controls):
        excluded = list(function(cast(), known))
        assert all(isinstance(each, Exclusion) and each.annotator in cast().annotators for each in excluded)
        numbered = [any(character.isdigit() for character in each.reason) for each in excluded]
        assert all(numbered), "on which numbers?"
        assert len({each.annotator for each in excluded}) == len(excluded)
        assert set(function(cast(3), known)) == set(excluded)
        assert list(function(cast(rows=slice(0)), known)) == []
        results.append([f"{each.annotator.name}: {each.reason}" for each in excluded])
    return results


def annotation_mode(ready: Configured) -> Any:
    mode: Mode = ready.load()()
    assert mode.layout and mode.images >= 1 and mode.questions and mode.instructions.endswith(".")
    assert len({question.name for question in mode.questions}) == len(mode.questions)
    for question in mode.questions:
        assert question.wording.endswith("?")
        assert question.scale in ("nominal", "ordinal", "interval")
        assert question.low is not None and question.high is not None and question.low < question.high
        assert all(question.low <= float(value) <= question.high for value in question.labels)
    return [mode.layout, mode.images, list(mode.questions), dict(mode.keys)]


def task(ready: Configured) -> Any:
    function = ready.load()
    made: list[NewPrompt] = list(function(np.random.default_rng(5), 12))
    assert len(made) == len({prompt.text for prompt in made}) == 12
    assert list(function(np.random.default_rng(5), 12)) == made
    assert list(function(np.random.default_rng(5), 0)) == []
    assert ready.spec.details["skill"]
    for prompt in made:
        assert prompt.text.strip() == prompt.text != ""
        assert prompt.expects, "without it no check could tell right from wrong"
        json.dumps(prompt.expects)
        assert all(isinstance(value, str) for value in prompt.tags.values())
    return [made[:3]]


def generator(ready: Configured) -> Any:
    function = ready.load()
    asked = prompts()[:3]
    made = list(function(asked, [1, 2, 3]))
    assert len(made) == 3 and all(isinstance(each, bytes | Failure) for each in made)
    assert any(isinstance(each, bytes) for each in made)
    without_first = plain(list(function(asked[1:], [2, 3])))
    assert same(without_first, plain(made[1:]), "generator"), "the seed decides, not the batch"
    assert list(function([], [])) == []
    return made


def retriever(ready: Configured) -> Any:
    function = ready.load()
    indices, scores = function(candidates(), prompts(), 7)
    assert indices.shape == scores.shape == (len(prompts()), 7)
    assert np.issubdtype(indices.dtype, np.integer)
    assert indices.min() >= -1 and indices.max() < 5
    assert (np.isnan(scores) == (indices < 0)).all()
    for row, of_row in zip(indices, scores, strict=True):
        found = row[row >= 0]
        assert len(set(found.tolist())) == len(found) and (row[: len(found)] >= 0).all()
        assert (np.diff(of_row[: len(found)]) <= 0).all()
    first, _ = function(candidates(), prompts(), 2)
    assert (first == indices[:, :2]).all()
    alone, _ = function(candidates(), prompts()[2:3], 7)
    assert (alone[0] == indices[2]).all()
    assert function(candidates(), [], 3)[0].shape == (0, 3)
    assert (function(Candidates([], [], []), prompts(), 3)[0] == -1).all()
    return [indices, scores]


def exporter(ready: Configured, folder: Path) -> Any:
    import polars as pl

    tables = {
        "scores": pl.DataFrame({"text": ["a", "=1", None], "value": [1.5, None, 3.0]}),
        "none": pl.DataFrame({"x": []}),
    }
    suffix = ready.spec.details["suffix"]
    if not suffix:
        # An exporter with a layout of its own takes the tables of a study that it has a place for.
        ranking = {"suite": "s", "prompt_id": "q", "system": "find", "kind": "retriever", "position": 0}
        tables["answers"] = pl.DataFrame([{**ranking, "collection": "c", "image": "i", "score": 0.5}])
    written = [Path(path) for path in ready.load()(tables, folder)]
    assert written and all(path.is_file() and path.suffix.endswith(suffix) for path in written)
    assert sorted(folder.iterdir()) == sorted(written), "nothing else is left behind"
    first = {path.name: path.read_bytes() for path in written}
    ready.load()(tables, folder)
    assert {path.name: path.read_bytes() for path in written} == first
    return sorted(first)


BEHAVIOUR: dict[str, Callable[..., Any]] = {
    function.__name__: function
    for function in (
        of_prompt, of_image, of_answer, of_set, of_ranking, distance, encoder, predictor, consensus,
        screening, annotation_mode, task, generator, retriever, exporter,
    )
}  # fmt: skip


@every_extension
def test_behaviour_and_golden_value(extension: Extension, tmp_path: Path) -> None:
    ready = runnable(extension)
    check = BEHAVIOUR[extension.spec.kind]
    result = plain(check(ready, tmp_path) if extension.spec.kind == "exporter" else check(ready))
    # Settings name this machine's Python; the defaults stand for them in the golden file.
    identity = registry.configure(extension.spec.kind, extension.spec.name).identity
    golden = json.loads(GOLDEN.read_text(encoding="utf-8")) if GOLDEN.exists() else {}
    wanted = os.environ.get("SIGHTLINE_GOLDEN") == "add" and extension.spec.origin in OURS
    if identity not in golden and wanted:
        said = f"{extension.spec.kind} {extension.spec.name} version {extension.spec.version}"
        golden[identity] = {"of": said, "result": result}
        ordered = dict(sorted(golden.items(), key=lambda entry: entry[1]["of"]))
        lines = [
            f"{json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}" for key, value in ordered.items()
        ]
        GOLDEN.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    if extension.spec.origin not in OURS:
        return
    assert identity in golden, "it has no golden value yet: the top of this file says how to add it"
    unchanged = same(golden[identity]["result"], result, extension.spec.kind)
    assert unchanged, "its arithmetic changed: raise its version"
