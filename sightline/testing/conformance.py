"""The conformance suite: what each kind of extension promises, checked for one extension."""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from sightline import registry
from sightline.demands import CANNOT_TELL, DEMANDS, VERDICTS, Scene, Verdict, clipped_box
from sightline.errors import ExtensionError, UsageError, near
from sightline.expects import sound
from sightline.extension import KINDS, Configured, Extension
from sightline.pictures import GeneratedImage, decode
from sightline.records import Candidates, Exclusion, Failure, NewPrompt, NoValue, Retrieved
from sightline.rendering.result import Result
from sightline.rendering.tables import Column, Table
from sightline.study.running.embedding import encoders_of
from sightline.study.running.validate import gate, validated_scene
from sightline.study.scores import Outcome
from sightline.testing import inputs
from sightline.testing.importing import check_importer

ITERATIVE = (
    *("encoder", "detector", "consensus", "distance", "of_answer", "of_set", "of_system"),
    *("predictor", "retriever"),
)
TOLERANCE = {kind: 1e-3 if kind in ITERATIVE else 1e-5 for kind in KINDS}
"""Relative, by kind: float32 networks and iterative solvers differ slightly between processors."""
JOINT = ("of_answer", "of_image", "retriever", "predictor", "verdict")
"""Kinds whose encoder is replaced by a small one, since its weights may be missing."""


@dataclass(frozen=True)
class Conformance(Result):
    """An extension that conforms to its kind, and its result on the fixed inputs."""

    kind: str
    name: str
    origin: str
    result: Any = None

    @property
    def sentence(self) -> str:
        return f"{self.kind} {self.name} ({self.origin}) conforms to what every {self.kind} promises."

    def tables(self) -> dict[str, Table]:
        columns = [Column("kind"), Column("name"), Column("origin")]
        return {"": Table(columns, [(self.kind, self.name, self.origin)])}


def check_extension(extension: str | Extension | Configured, kind: str | None = None) -> Conformance:
    """Check that an extension conforms to its kind; raises an ExtensionError that names the broken promise.

    Give its name, its name with parameters (`redness(gamma=2.2)`), or the extension itself. A name that
    several kinds have needs its `kind`.
    """
    ready = _configured(extension, kind)
    spec = ready.spec
    where = f"{spec.kind} {spec.name}"
    if not spec.source or not spec.licence:
        raise ExtensionError("it names no source or licence", where=where, remedy="Declare both.")
    if not spec.meaning.endswith("."):
        raise ExtensionError("the first line of its docstring is not a sentence", where=where)
    try:
        result = BEHAVIOUR[spec.kind](ready)
    except _Broken as broken:
        raise ExtensionError(
            f"it does not keep what every {spec.kind} promises: {broken}", where=where
        ) from None
    return Conformance(spec.kind, spec.name, spec.origin, result)


class _Broken(Exception):
    """A promise that is not kept."""


def _need(kept: Any, promise: str) -> None:
    if not kept:
        raise _Broken(promise)


def _configured(extension: str | Extension | Configured, kind: str | None) -> Configured:
    if isinstance(extension, Configured):
        return extension
    if isinstance(extension, Extension):
        arguments = {
            each.name: registry.configure(each.default.kind, each.default.spec)
            if each.nested
            else each.default
            for each in extension.spec.parameters
        }
        return Configured(extension, {**arguments, **(extension.spec.details.get("parameters") or {})})
    name = extension.partition("(")[0].partition("@")[0]
    kinds = [each for each in (KINDS if kind is None else (kind,)) if registry.has(each, name)]
    if not kinds:
        known = [each for every in KINDS for each in registry.names(every)]
        raise UsageError(f"there is no extension called {name!r}", remedy=near(name, known))
    if len(kinds) > 1:
        raise UsageError(f"{name} is several: {', '.join(kinds)}", remedy=f"Name its kind: kind={kinds[0]!r}")
    example = registry.get(kinds[0], name).spec.details.get("parameters") if name == extension else None
    return registry.configure(kinds[0], extension, **(example or {}))


def _loaded(ready: Configured) -> Any:
    """The extension, with a small joint encoder in place of one whose weights may be missing."""
    joint = {
        name: inputs.Joint()
        for name, value in encoders_of(ready)
        if set(value.spec.details["encodes"]) >= {"text", "image"}
    }
    return ready.load(joint) if joint and ready.spec.kind in JOINT else ready.load()


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
    raise _Broken(f"a {type(results).__name__} is not a result")


def same(one: Any, two: Any, kind: str) -> bool:
    """Whether two plain results agree, numbers within what their kind allows."""
    relative = TOLERANCE[kind]

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


def close(one: Any, two: Any) -> bool:
    """Whether two arrays are equal up to the order in which a network or a solver adds."""
    one, two = np.asarray(one), np.asarray(two)
    return one.shape == two.shape and bool((np.abs(one - two) <= 1e-4 * np.abs(two).max(initial=0)).all())


def _each_by_itself(ready: Configured, *columns: Sequence[Any]) -> Any:
    function, spec = _loaded(ready), ready.spec
    n = len(columns[0])
    together = gate(spec, function(*columns), n)
    _need(gate(spec, function(*([] for _ in columns)), 0) == [], "no inputs give no values")
    alone = [gate(spec, function(*([column[k]] for column in columns)), 1)[0] for k in range(n)]
    _need(same(plain(together), plain(alone), spec.kind), "a value does not depend on the rest of the batch")
    again = gate(spec, function(*columns), n)
    _need(same(plain(again), plain(together), spec.kind), "the same input gives the same value")
    json.dumps([outcome.evidence for outcome in together], allow_nan=False)
    return [outcome.reason if outcome.value is None else outcome.value for outcome in together]


def _of_answer(ready: Configured) -> Any:
    pairs = list(product(inputs.prompts()[:6], inputs.pictures()[:4]))
    return _each_by_itself(ready, [prompt for prompt, _ in pairs], [picture for _, picture in pairs])


def _of_set(ready: Configured) -> Any:
    function, pictures = _loaded(ready), inputs.pictures()
    sets = [pictures[:size] for size in (0, 1, 2, 5)] + [(pictures[0],) * 3]
    results = [gate(ready.spec, function(images), 1)[0] for images in sets]
    _need(results[0].value is None, "an empty set has no value")
    (turned,) = gate(ready.spec, function(pictures[:5][::-1]), 1)
    _need(same(plain(turned), plain(results[3]), ready.spec.kind), "a set has no order")
    return [result.reason if result.value is None else result.value for result in results]


def _of_system(ready: Configured) -> Any:
    function, pictures = _loaded(ready), inputs.pictures()
    many = [inputs.encoded(Image.new("RGB", (8, 8), (n * 7, 255 - n * 5, n * n % 256))) for n in range(24)]
    nothing, few = gate(ready.spec, [function([], many), function(pictures[:1], many)], 2)
    _need(nothing.value is None and few.value is None, "too few images have a reason instead of a value")
    if not ready.spec.details["computed"]:
        return [nothing.reason]
    (whole,) = gate(ready.spec, [function(many[:12], many[12:])], 1)
    known = whole.evidence or {}
    low, high = known.get("low"), known.get("high")
    value = float("nan") if whole.value is None else whole.value
    fits = "no interval" in str(known.get("warning")) if low is None or high is None else low <= value <= high
    _need(whole.value is not None and fits, "its value lies in its interval, or it says why there is none")
    _need(known.get("n") == 12, "n counts the images")
    (again,) = gate(ready.spec, [function(many[:12], many[12:])], 1)
    _need(same(plain(again), plain(whole), ready.spec.kind), "the same images give the same value")
    return [nothing.reason, whole.value, low, high]


def _of_ranking(ready: Configured) -> Any:
    function, spec, whole = _loaded(ready), ready.spec, inputs.queries()

    def values(queries: inputs.Queries) -> list[Any]:
        nan = NoValue(spec.details["nan"])
        raw = list(function(inputs.rankings(queries)))
        known = [each if isinstance(each, NoValue) else nan if math.isnan(each) else each for each in raw]
        return [outcome.reason or outcome.value for outcome in gate(spec, known, len(queries))]

    together = values(whole)
    _need(same(together, values(whole), spec.kind), "the same rankings give the same values")
    size = {"runs": 2, "everything": len(together)}.get(spec.details["rests_on"], 1)
    parts = [values(whole[start : start + size]) for start in range(0, len(together), size)]
    alone = [value for part in parts for value in part]
    _need(same(together, alone, spec.kind), "a value depends only on what `rests_on` names")
    _need(values([]) == [], "no rankings give no values")
    return together


def _distance(ready: Configured) -> Any:
    function, pictures = _loaded(ready), inputs.pictures()
    matrix = np.asarray(function(pictures))
    _need(matrix.shape == (len(pictures),) * 2, "one row and one column per image")
    _need(np.isfinite(matrix).all(), "distances are finite")
    _need((matrix == matrix.T).all() and (np.diag(matrix) == 0).all(), "symmetric, and 0 to itself")
    low, high = ready.spec.range
    _need(low == 0 and matrix.min() >= 0 and (high is None or matrix.max() <= high), "within its range")
    order = np.array([3, 0, 8, 1, 7, 2, 6, 4, 5])
    turned = function([pictures[k] for k in order])
    _need(close(turned, matrix[np.ix_(order, order)]), "the order of images does not matter")
    _need(np.asarray(function([])).shape == (0, 0), "no images give an empty matrix")
    _need(np.asarray(function(pictures[:1])).tolist() == [[0]], "one image is 0 from itself")
    _need(np.allclose(function([pictures[0]] * 2), 0, atol=1e-6), "a copy is 0 from its original")
    return matrix


def _encoder(ready: Configured) -> Any:
    loaded, spec = ready.load(), ready.spec
    results = {}
    given: dict[str, Sequence[Any]] = {
        "text": [prompt.text for prompt in inputs.prompts()],
        "image": inputs.pictures(),
    }
    _need(spec.details["encodes"] and set(spec.details["encodes"]) <= set(given), "it encodes text or image")
    for what in spec.details["encodes"]:
        encode: Callable[[Sequence[Any]], np.ndarray] = getattr(loaded, what)
        vectors = encode(given[what])
        _need(vectors.ndim == 2 and len(vectors) == len(given[what]), "one row per input")
        _need(np.issubdtype(vectors.dtype, np.floating) and np.isfinite(vectors).all(), "finite numbers")
        _need(spec.details["dimensions"] in (None, vectors.shape[1]), "as many columns as `dimensions`")
        _need(encode([]).shape == (0, vectors.shape[1]), "no inputs give no rows")
        alone = np.concatenate([encode([each]) for each in given[what]])
        _need(close(alone, vectors), "a row does not depend on the rest of the batch")
        # A few directions of the whole instead of every number: golden values stay readable.
        results[what] = vectors @ np.cos(np.outer(np.arange(vectors.shape[1]), [0, 1, 2, 3]))
    return results


def _detector(ready: Configured) -> Any:
    loaded, spec, pictures = ready.load(), ready.spec, inputs.pictures()
    sees = set(spec.details["sees"])
    _need(sees and sees <= {"objects", "text"}, "it sees objects or text")
    _need(list(loaded.detect([])) == [], "no images give no scenes")
    if spec.details["of_study"]:
        # What a study knows of its images cannot be had without one.
        return []
    scenes = validated_scene(spec, loaded.detect(pictures), len(pictures))
    alone = [scene for each in pictures for scene in validated_scene(spec, loaded.detect([each]), 1)]
    _need(same(plain(alone), plain(scenes), spec.kind), "a scene does not depend on the rest of the batch")
    again = validated_scene(spec, loaded.detect(pictures), len(pictures))
    _need(same(plain(again), plain(scenes), spec.kind), "the same images give the same scenes")
    return scenes


def _predictor(ready: Configured) -> Any:
    x, truth = inputs.examples(), inputs.truths()
    before = (x.features.copy(), truth.copy(), list(x.prompts))
    model = _loaded(ready).fit(x, truth)
    predicted = np.asarray(model.predict(x))
    _need(
        predicted.shape == truth.shape and np.isfinite(predicted).all(),
        "one finite number per prompt and target",
    )
    state = model.state()
    arrays = all(isinstance(array, np.ndarray) and array.dtype != object for array in state.values())
    _need(arrays, "its state is plain arrays")
    _need(close(_loaded(ready).restore(state).predict(x), predicted), "restored, it predicts the same")
    rows = np.array([4, 0])
    _need(close(model.predict(x.take(rows)), predicted[rows]), "a prediction does not depend on the batch")
    none = np.asarray(model.predict(x.take(np.array([], dtype=np.int64))))
    _need(none.shape == (0, 2), "no prompts give no predictions")
    reasons = model.explain(x)
    finite = all(math.isfinite(part) for parts in reasons for part in parts.values())
    _need(len(reasons) == len(x) and finite, "one explanation of finite parts per prompt")
    kept = np.array_equal(x.features, before[0], equal_nan=True) and (truth == before[1]).all()
    _need(kept and list(x.prompts) == before[2], "fitting leaves its inputs alone")
    other = _loaded(ready).fit(x, truth[::-1])
    _need(other is not model and close(model.predict(x), predicted), "two models share nothing they learned")
    _need(close(_loaded(ready).fit(x, truth).predict(x), predicted), "the same data gives the same model")
    one = np.asarray(_loaded(ready).fit(x, truth[:, :1]).predict(x))
    _need(one.shape == (30, 1), "one target is as good as several")
    return predicted[:5]


def _consensus(ready: Configured) -> Any:
    function, spec, given = ready.load(), ready.spec, inputs.votes()
    made = function(given)
    columns = (made.value, made.low, made.high, made.n, made.reason)
    _need([len(column) for column in columns] == [inputs.ITEMS] * 5, "one row per item")
    everything = np.bincount(given.item, weights=given.n, minlength=inputs.ITEMS)
    _need((made.n <= everything).all(), "n counts no more judgements than there are")
    _need(made.left_out or (made.n == everything).all(), "exclusions of annotators are reported")
    numbered = all(any(letter.isdigit() for letter in each.reason) for each in made.left_out)
    _need(numbered, "reasons of exclusions give their numbers")
    for value, low, high, _, reason in zip(*columns, strict=True):
        _need(np.isnan(value) == (reason is not None), "a value or a reason, never both")
        _need(np.isnan(low) == np.isnan(high), "an interval has two ends")
        _need(np.isnan(low) or low <= value <= high, "the value lies in its interval")
    _need(made.reason[-1] is not None, "an item without judgements has a reason instead of a value")
    some = ~np.isnan(made.value)
    # Taking a bias off may carry a value past the judgements, but never further than they can differ.
    _need((np.abs(made.value[some] - 0.5) <= 3).all(), "values stay near the judgements")
    lowest, highest = spec.range
    _need(lowest is None or made.value[some].min() >= lowest, "values stay in its range")
    _need(highest is None or made.value[some].max() <= highest, "values stay in its range")
    for seed in (1, 2):
        mixed = function(inputs.votes(seed))
        equal = np.allclose(mixed.value, made.value, equal_nan=True, atol=1e-6)
        _need(equal and list(mixed.reason) == list(made.reason), "the order of judgements does not matter")
    nothing = function(inputs.votes(rows=slice(0)))
    _need(np.isnan(nothing.value).all() and len(nothing.value) == inputs.ITEMS, "no judgements, no values")
    _need(set(spec.details["scales"]) <= {"nominal", "ordinal", "interval"}, "it names its scales")
    return [made.value, made.low, made.n]


def _screening(ready: Configured) -> Any:
    function, known = ready.load(), inputs.votes().annotators
    results = []
    for controls in (None, inputs.controls()):
        excluded = list(function(inputs.votes(), controls))
        ours = all(isinstance(each, Exclusion) and each.annotator in known for each in excluded)
        _need(ours, "it gives exclusions of annotators that are there")
        _need(all(any(map(str.isdigit, each.reason)) for each in excluded), "reasons give their numbers")
        _need(len({each.annotator for each in excluded}) == len(excluded), "nobody is excluded twice")
        _need(set(function(inputs.votes(3), controls)) == set(excluded), "the order does not matter")
        _need(list(function(inputs.votes(rows=slice(0)), controls)) == [], "no judgements, no exclusions")
        results.append([f"{each.annotator.name}: {each.reason}" for each in excluded])
    return results


def _annotation_mode(ready: Configured) -> Any:
    mode = ready.load()()
    _need(mode.layout and mode.images >= 1 and mode.questions, "it has a layout, images and questions")
    _need(mode.instructions.endswith("."), "its instructions are sentences")
    _need(len({each.name for each in mode.questions}) == len(mode.questions), "questions differ in name")
    for question in mode.questions:
        _need(question.wording.endswith("?"), "a question ends in a question mark")
        _need(question.scale in ("nominal", "ordinal", "interval"), "a question has a scale")
        ends = question.low is not None and question.high is not None and question.low < question.high
        _need(ends, "a scale has two ends")
        inside = all(question.low <= float(value) <= question.high for value in question.labels)
        _need(inside, "labels lie on the scale")
    return [mode.layout, mode.images, list(mode.questions), dict(mode.keys)]


def _task(ready: Configured) -> Any:
    function = ready.load()
    made: list[NewPrompt] = list(function(np.random.default_rng(5), 12))
    _need(len(made) == len({prompt.text for prompt in made}) == 12, "as many different prompts as asked for")
    _need(list(function(np.random.default_rng(5), 12)) == made, "the same seed gives the same prompts")
    _need(list(function(np.random.default_rng(5), 0)) == [], "none asked for, none made")
    _need(ready.spec.details["skill"], "it names the skill it tests")
    for prompt in made:
        _need(prompt.text.strip() == prompt.text != "", "a prompt has text without spaces around it")
        for each in (prompt, *prompt.builds_on):
            _need(each.expects, "a prompt says what is expected of its images")
            json.dumps(each.expects)
            _need(sound(each.expects or {})[1] == [], "what is expected has the form of sightline.expects")
            _need(all(isinstance(value, str) for value in each.tags.values()), "tags are text")
        simpler = [each.text for each in prompt.builds_on]
        _need(len({prompt.text, *simpler}) == len(simpler) + 1, "a prompt builds on others, each once")
    return [made[:3]]


def _generator(ready: Configured) -> Any:
    function, asked = ready.load(), inputs.prompts()[:3]
    made = list(function(asked, [1, 2, 3]))
    _need(
        len(made) == 3 and all(isinstance(each, bytes | GeneratedImage | Failure) for each in made),
        "bytes or a failure each",
    )
    _need(any(isinstance(each, bytes | GeneratedImage) for each in made), "it makes an image")
    rest = plain(list(function(asked[1:], [2, 3])))
    _need(same(rest, plain(made[1:]), "generator"), "the seed decides, not the batch")
    _need(list(function([], [])) == [], "no prompts, no images")
    return made


def _retriever(ready: Configured) -> Any:
    function, asked, searched = _loaded(ready), inputs.prompts(), inputs.candidates()
    found = Retrieved(*function(searched, asked, 7))
    indices, scores, recall = found.indices, found.scores, found.recall
    _need(indices.shape == scores.shape == (len(asked), 7), "k places per prompt")
    _need(np.issubdtype(indices.dtype, np.integer), "places hold the numbers of images")
    _need(indices.min() >= -1 and indices.max() < len(searched.keys), "numbers of images, or -1")
    _need((np.isnan(scores) == (indices < 0)).all(), "a score where there is an image, and only there")
    if recall is not None:
        _need(recall.shape == (len(asked),), "a recall per prompt, NaN where it was not checked")
        _need(not ((recall < 0) | (recall > 1)).any(), "a recall is a proportion")
    for row, of_row in zip(indices, scores, strict=True):
        images = row[row >= 0]
        _need(len(set(images.tolist())) == len(images), "no image twice")
        _need((row[: len(images)] >= 0).all(), "empty places come last")
        _need((np.diff(of_row[: len(images)]) <= 0).all(), "scores fall along a ranking")
    _need((function(searched, asked, 2)[0] == indices[:, :2]).all(), "a smaller k gives the same top")
    _need(
        (function(searched, asked[2:3], 7)[0][0] == indices[2]).all(), "prompts do not influence each other"
    )
    _need(function(searched, [], 3)[0].shape == (0, 3), "no prompts, no rankings")
    _need((function(Candidates([], [], []), asked, 3)[0] == -1).all(), "nothing to search, nothing found")
    return [indices, scores]


def _exporter(ready: Configured) -> Any:
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
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        written = [Path(path) for path in ready.load()(tables, folder)]
        there = all(path.is_file() and path.suffix.endswith(suffix) for path in written)
        _need(written and there, "it writes files of its suffix")
        _need(sorted(folder.iterdir()) == sorted(written), "it names every file it leaves")
        first = {path.name: path.read_bytes() for path in written}
        ready.load()(tables, folder)
        again = {path.name: path.read_bytes() for path in written}
        _need(again == first, "the same tables give the same files")
    return sorted(first)


def _check(ready: Configured) -> Any:
    known = ready.spec.details["severity"] in ("error", "warning", "note")
    _need(known, "its severity is error, warning or note")


def _verdict(ready: Configured) -> Any:
    function, decides = _loaded(ready), ready.spec.details["decides"]
    _need(decides in DEMANDS, f"it decides one of {', '.join(DEMANDS)}")
    results = []
    for expects, scene in inputs.demanded():
        for demand in expects.demands():
            if demand.kind != decides:
                continue
            made = function(demand, scene)
            _need(isinstance(made, Verdict), "it gives a Verdict")
            _need(made.verdict in VERDICTS, "a verdict is yes, no or cannot tell")
            _need(
                made.confidence is None or 0 <= made.confidence <= 1, "a confidence is from 0 to 1, or None"
            )
            _need(made.why.endswith("."), "it says why in a sentence")
            inside = all(clipped_box(mark.box) == (mark.box, "") for mark in made.boxes)
            _need(inside, "boxes lie within the image")
            _need(function(demand, scene) == made, "the same scene gives the same verdict")
            json.dumps(made.evidence(), allow_nan=False)
            results.append([demand.about, made.verdict])
        blind = [function(each, Scene()) for each in expects.demands() if each.kind == decides]
        _need(all(each.verdict == CANNOT_TELL for each in blind), "where nobody looked it cannot tell")
    _need(results, "the conformance suite has a demand for it")
    return results


BEHAVIOUR: Mapping[str, Callable[[Configured], Any]] = {
    "of_prompt": lambda ready: _each_by_itself(ready, inputs.prompts()),
    "of_image": lambda ready: _each_by_itself(ready, inputs.pictures()),
    "of_answer": _of_answer,
    "of_set": _of_set,
    "of_ranking": _of_ranking,
    "of_system": _of_system,
    "distance": _distance,
    "encoder": _encoder,
    "detector": _detector,
    "predictor": _predictor,
    "consensus": _consensus,
    "screening": _screening,
    "annotation_mode": _annotation_mode,
    "task": _task,
    "generator": _generator,
    "retriever": _retriever,
    "exporter": _exporter,
    "importer": lambda ready: check_importer(ready, _need),
    "check": _check,
    "verdict": _verdict,
}
