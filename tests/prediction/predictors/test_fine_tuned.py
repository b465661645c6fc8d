"""The fine-tuned encoder through the code a user runs, on small random checkpoints: torch, in seconds."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sightline import registry
from sightline.errors import DataError, MissingPackage, UsageError
from sightline.prediction.predictors._encoders import content_hash, located
from sightline.records import Examples, Prompt, PromptKey
from sightline.statistics.folds import grouped_k_fold

COLOURS = ("red", "blue", "green", "white", "black", "pink", "grey", "brown")
THINGS = ("cat", "dog", "train", "bridge", "violin", "crowd", "clock", "zebra", "tree", "boat")
WORDS = ("a", "an", "the", "and", "in", "photo", "of", *COLOURS, *THINGS, "##s", "!")
QUICK = "learning_rate=0.003, batch=16"


@pytest.fixture(scope="session")
def checkpoints(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A small BERT and a small MPNet of random weights, saved as the library saves them."""
    try:
        import torch
        import transformers
    except ImportError:
        pytest.skip("the extra torch is not installed")
    from tokenizers import BertWordPieceTokenizer

    found = {}
    marks = {"Bert": ("[CLS]", "[SEP]", "[PAD]"), "MPNet": ("<s>", "</s>", "<pad>")}
    for name, (start, end, padding) in marks.items():
        folder = tmp_path_factory.mktemp(name.lower())
        pieces = {
            piece: number for number, piece in enumerate((start, padding, end, "[UNK]", "[MASK]", *WORDS))
        }
        cut = BertWordPieceTokenizer(pieces, cls_token=start, sep_token=end, pad_token=padding)
        transformers.PreTrainedTokenizerFast(
            tokenizer_object=cut._tokenizer, pad_token=padding, unk_token="[UNK]"
        ).save_pretrained(folder)
        torch.manual_seed(4)
        config = getattr(transformers, f"{name}Config")(
            vocab_size=len(pieces), hidden_size=24, intermediate_size=48, num_hidden_layers=3,
            num_attention_heads=2, max_position_embeddings=48, pad_token_id=1, initializer_range=0.3,
        )  # fmt: skip
        getattr(transformers, f"{name}Model")(config).save_pretrained(folder)
        found[name] = folder
    return found


@pytest.fixture
def load(checkpoints: dict[str, Path]) -> Callable[..., Any]:
    def loaded(settings: str = QUICK, kind: str = "Bert") -> Any:
        folder = checkpoints[kind]
        named = f"model={str(folder)!r}, sha256={content_hash(folder)!r}"
        return registry.configure("predictor", f"fine_tuned({named}, {settings})").load()

    return loaded


def asked(texts: list[str]) -> Examples:
    prompts = [Prompt(PromptKey("s", str(row)), text) for row, text in enumerate(texts)]
    return Examples(prompts, np.zeros((len(texts), 0)), ())


def examples(n: int = 40, seed: int = 0) -> tuple[Examples, np.ndarray]:
    """Prompts of a colour and a few things; truth of two targets that follow the words, one with holes."""
    rng = np.random.default_rng(seed)
    colour, thing = rng.integers(0, len(COLOURS), n), rng.integers(0, len(THINGS), n)
    more = [" and the dogs" * int(count) for count in rng.integers(0, 3, n)]
    texts = [f"a {COLOURS[c]} {THINGS[t]}{end}" for c, t, end in zip(colour, thing, more, strict=True)]
    truth = np.stack([(colour < 4) + 0.3 * (thing < 5), 5.0 - 2 * (colour < 4)], axis=1)
    truth = truth + 0.05 * rng.normal(size=(n, 2))
    truth[1::4, 1] = np.nan
    return asked(texts), truth


def fitted(model: Any, x: Examples, truth: np.ndarray) -> list[Any]:
    """The epochs of a fit."""
    epochs: list[Any] = []
    model.listener = epochs.append
    model.fit(x, truth)
    return epochs


def by_hand(state: dict[str, np.ndarray], folder: Path, texts: list[str], *, frozen: int) -> np.ndarray:
    """The same network put together in the library: learned weights in their places, then the head."""
    import torch
    from transformers import AutoModel, AutoTokenizer

    model = AutoModel.from_pretrained(folder).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    mine = {
        name.removeprefix("0.0."): array.astype(np.float64)
        for name, array in state.items()
        if name.startswith("0.0.")
    }
    weights = model.state_dict()
    for name, array in mine.items():
        inner = name.removeprefix("upper.")
        if ".layer." in inner:
            before, _, rest = inner.partition(".layer.")
            number, _, rest = rest.partition(".")
            inner = f"{before}.layer.{int(number) + frozen}.{rest}"
        if name.startswith("upper.") and name.endswith(".down"):
            added = 2 * mine[name.removesuffix("down") + "up"] @ array
            weights[inner.removesuffix("down") + "weight"] += torch.from_numpy(added)
        elif name.startswith("upper.") and not name.endswith(".up"):
            weights[inner] = torch.from_numpy(array)
    model.load_state_dict(weights)
    made = []
    for text in texts:
        with torch.no_grad():
            states = model(**tokenizer(text, return_tensors="pt", return_token_type_ids=False))
        mean = states.last_hidden_state[0].mean(dim=0).numpy()
        dense = np.maximum(mine["dense.weight"] @ mean + mine["dense.bias"], 0)
        made.append(1 / (1 + np.exp(-(mine["out.weight"] @ dense + mine["out.bias"]))))
    return state["low"] + state["span"] * np.array(made)


@pytest.mark.parametrize("kind", ["Bert", "MPNet"])
@pytest.mark.parametrize(("rank", "frozen"), [(0, 0), (3, 0), (0, 2), (3, 1), (2, 3)])
def test_what_is_said_is_what_the_library_says(
    load: Callable[..., Any], checkpoints: dict[str, Path], kind: str, rank: int, frozen: int
) -> None:
    x, truth = examples()
    model = load(f"rank={rank}, frozen={frozen}, epochs=2, {QUICK}", kind).fit(x, truth)
    texts = ["a red cat", "the dogs in the photo of a bridge", "a", "red red red and blue trains !"]
    expected = by_hand(model.state(), checkpoints[kind], texts, frozen=frozen)
    found = model.predict(asked(texts))
    np.testing.assert_allclose(found, expected, atol=1e-4)
    assert np.ptp(found, axis=0).min() > 1e-3, "nothing was learned that could differ"


@pytest.mark.parametrize("kind", ["Bert", "MPNet"])
@pytest.mark.parametrize(("rank", "frozen"), [(0, 0), (2, 0), (2, 1)])
def test_what_is_padded_does_not_count(load: Callable[..., Any], kind: str, rank: int, frozen: int) -> None:
    import torch

    from sightline.prediction.predictors._tuning import Texts

    model = load(f"rank={rank}, frozen={frozen}, epochs=1, {QUICK}", kind).fit(*examples())
    network, pieces = model._network(2)
    network.eval()
    read = [pieces.read(text).pieces for text in ("red", "a red cat and the dogs in a photo", "a cat")]
    for keep in (False, True) if frozen else (False,):
        texts = Texts(network, read, pieces.padding, keep=keep)
        with torch.no_grad():
            together = network(*texts.batch(np.arange(3))).numpy()
        np.testing.assert_allclose(together, texts.said(np.arange(3)), atol=1e-4)


def test_words_are_learned(load: Callable[..., Any]) -> None:
    x, truth = examples(200)
    new, wanted = examples(60, seed=1)
    predicted = load(f"rank=0, epochs=8, {QUICK}").fit(x, truth).predict(new)
    settled = np.isfinite(wanted[:, 1])
    assert np.corrcoef(predicted[:, 0], wanted[:, 0])[0, 1] > 0.9
    assert np.corrcoef(predicted[settled, 1], wanted[settled, 1])[0, 1] > 0.9


class Interrupted(KeyboardInterrupt):
    pass


@pytest.mark.slow
@pytest.mark.parametrize("settings", ["rank=0", "rank=2, frozen=1", "rank=2, seeds=2"])
def test_interrupted_after_every_epoch_it_comes_to_the_same_bits(
    load: Callable[..., Any], own_cache: Path, monkeypatch: pytest.MonkeyPatch, settings: str
) -> None:
    x, truth = examples()
    seen: list[int] = []

    def stop(epoch: Any) -> None:
        seen.append(epoch.number)
        raise Interrupted

    model = None
    while model is None:
        trial = load(f"{settings}, epochs=3, patience=3, {QUICK}")
        trial.listener = stop
        try:
            model = trial.fit(x, truth)
        except Interrupted:
            (folder,) = (own_cache / "tuning").iterdir()
            for file in folder.iterdir():
                assert file.suffix == ".npz", "what is half written is cleared away"
                with np.load(file, allow_pickle=False) as kept:
                    assert all(kept[name].dtype != object for name in kept.files)
    assert seen == [1, 2, 3] * (2 if "seeds" in settings else 1)
    monkeypatch.setenv("SIGHTLINE_CACHE", str(own_cache / "other"))
    whole = load(f"{settings}, epochs=3, patience=3, {QUICK}")
    assert len(fitted(whole, x, truth)) == len(seen)
    assert whole.predict(x).tobytes() == model.predict(x).tobytes()
    for name, array in whole.state().items():
        assert array.tobytes() == model.state()[name].tobytes(), name


@pytest.mark.slow
def test_what_is_finished_is_not_done_again_and_what_differs_is(
    load: Callable[..., Any], own_cache: Path
) -> None:
    x, truth = examples()
    first = load(f"epochs=2, {QUICK}").fit(x, truth)
    again = load(f"epochs=2, {QUICK}")
    assert fitted(again, x, truth) == [] and again.predict(x).tobytes() == first.predict(x).tobytes()
    kept = {file.name: list(np.load(file).files) for file in (own_cache / "tuning").rglob("*.npz")}
    assert list(kept) == ["0.003-0.01-0.npz"]
    assert not [name for name in kept["0.003-0.01-0.npz"] if name.startswith("live.")], "only the outcome"
    other = truth.copy()
    other[0, 0] += 0.1
    worded = asked(["a red cat", *(prompt.text for prompt in x.prompts[1:])])
    for settings, given, wanted in (
        (f"epochs=2, {QUICK}", x, other),
        (f"epochs=2, {QUICK}", worded, truth),
        (f"epochs=2, rank=3, {QUICK}", x, truth),
        (f"epochs=2, frozen=1, {QUICK}", x, truth),
        ("epochs=2, learning_rate=0.003, batch=8", x, truth),
    ):
        epochs = fitted(load(settings), given, wanted)
        assert [epoch.number for epoch in epochs] == [1, 2], settings
    assert len(list((own_cache / "tuning").iterdir())) == 6


def test_a_damaged_checkpoint_is_named(load: Callable[..., Any], own_cache: Path) -> None:
    x, truth = examples()
    load(f"epochs=1, {QUICK}").fit(x, truth)
    (file,) = (own_cache / "tuning").rglob("*.npz")
    file.write_bytes(file.read_bytes()[:100])
    with pytest.raises(DataError, match="cannot be read") as caught:
        load(f"epochs=1, {QUICK}").fit(x, truth)
    assert caught.value.where == str(file)


@pytest.mark.slow
def test_it_stops_early_and_takes_the_best_epoch(load: Callable[..., Any]) -> None:
    """Of truth that is chance alone, nothing lasts; the weights are those of a run that ends at the best."""
    x, _ = examples(60)
    chance = np.random.default_rng(5).normal(size=(60, 1))
    model = load("rank=0, learning_rate=0.01, batch=8, epochs=30, patience=2")
    held = [epoch.held for epoch in fitted(model, x, chance)]
    best = int(np.argmin(held)) + 1
    assert len(held) == best + 2 < 30
    ended = load(f"rank=0, learning_rate=0.01, batch=8, epochs={best}, patience=2").fit(x, chance)
    assert ended.predict(x).tobytes() == model.predict(x).tobytes()


def test_the_held_out_error_is_that_of_settled_truth_on_prompts_held_out(load: Callable[..., Any]) -> None:
    x, truth = examples()
    model = load(f"epochs=1, seed=3, {QUICK}")
    (epoch,) = fitted(model, x, truth)
    held = grouped_k_fold([prompt.text for prompt in x.prompts], 10, seed=3) == 0
    assert 0 < held.sum() < 10
    low, high = np.nanmin(truth, axis=0), np.nanmax(truth, axis=0)
    wrong = ((model.predict(x) - truth) / (high - low))[held] ** 2
    assert np.isnan(wrong).any(), "a hole must be among them"
    assert epoch.held == pytest.approx(np.nanmean(wrong), rel=1e-4)


@pytest.mark.slow
def test_the_grid_takes_the_pair_of_least_held_out_error(load: Callable[..., Any]) -> None:
    x, truth = examples()
    model = load("grid=True, rank=2, epochs=2, batch=16, seeds=2")
    epochs = fitted(model, x, truth)
    least: dict[tuple[float, float], float] = {}
    for epoch in epochs:
        if epoch.setting.seed == 0:
            pair = (epoch.setting.learning_rate, epoch.setting.decay)
            least[pair] = min(epoch.held, least.get(pair, np.inf))
    assert len(least) == 12 and {decay for _, decay in least} == {0.0, 0.1, 0.01}
    (rate, decay) = min(least, key=lambda pair: least[pair])
    assert model.chosen == [(rate, decay)]
    assert [epoch.setting.learning_rate for epoch in epochs if epoch.setting.seed == 1] == [rate, rate]
    plain = load(f"learning_rate={rate}, decay={decay}, rank=2, epochs=2, batch=16, seeds=2").fit(x, truth)
    assert plain.predict(x).tobytes() == model.predict(x).tobytes()


def test_prompts_without_any_truth_are_not_learned_from(load: Callable[..., Any]) -> None:
    x, truth = examples()
    truth[[2, 7, 30]] = np.nan
    kept = np.flatnonzero(np.isfinite(truth).any(axis=1))
    with_them = load(f"epochs=2, {QUICK}").fit(x, truth)
    epochs = fitted(load(f"epochs=2, {QUICK}"), x.take(kept), truth[kept])
    assert epochs == [], "the same examples are left, which were learned from just now"
    changed = load(f"epochs=2, {QUICK}").fit(x.take(kept), truth[kept])
    assert changed.predict(x).tobytes() == with_them.predict(x).tobytes()


@pytest.mark.parametrize("shared", [True, False])
def test_a_target_without_spread_is_said_as_it_is(load: Callable[..., Any], shared: bool) -> None:
    x, truth = examples()
    flat = np.column_stack([truth[:, 0], np.full(40, 3.5)])
    alone = load(f"epochs=2, {QUICK}").fit(x, truth[:, :1])
    made = load(f"epochs=2, shared={shared}, {QUICK}").fit(x, flat).predict(x)
    assert (made[:, 1] == 3.5).all()
    assert made[:, :1].tobytes() == alone.predict(x).tobytes()


def test_few_examples(load: Callable[..., Any], own_cache: Path) -> None:
    one = load(QUICK).fit(asked(["a cat"]), np.array([[0.25]]))
    assert one.predict(asked(["a dog", ""])).tolist() == [[0.25], [0.25]]
    assert one.explain(asked(["a dog"])) == [{"base": 0.25, "words together": 0.0}]
    assert not any(own_cache.iterdir()), "there was nothing to learn"
    model = load(f"epochs=3, patience=1, grid=True, {QUICK}")
    epochs = fitted(model, asked(["a cat", "a dog"]), np.array([[0.0], [1.0]]))
    assert [epoch.number for epoch in epochs] == [1, 2, 3] and np.isnan(epochs[0].held)
    assert model.chosen == [(0.003, 0.01)], "nothing is held out that a grid could be searched by"
    assert model.predict(asked([])).shape == (0, 1) and model.explain(asked([])) == []


@pytest.mark.slow
def test_chance_is_its_own(
    load: Callable[..., Any], own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    x, truth = examples()
    made = []
    for number in (1, 2):
        monkeypatch.setenv("SIGHTLINE_CACHE", str(own_cache / str(number)))
        torch.manual_seed(number)
        before = torch.random.get_rng_state()
        made.append(load(f"epochs=3, {QUICK}").fit(x, truth).predict(x).tobytes())
        assert torch.equal(torch.random.get_rng_state(), before)
        assert not torch.are_deterministic_algorithms_enabled()
    assert made[0] == made[1]
    assert load(f"epochs=3, seed=1, {QUICK}").fit(x, truth).predict(x).tobytes() != made[0]


@pytest.mark.slow
def test_seeds_are_averaged_and_targets_may_be_apart(load: Callable[..., Any]) -> None:
    x, truth = examples()
    single = [load(f"epochs=2, seed={seed}, {QUICK}").fit(x, truth).predict(x) for seed in (5, 6)]
    both = load(f"epochs=2, seed=5, seeds=2, {QUICK}").fit(x, truth)
    np.testing.assert_allclose(both.predict(x), (single[0] + single[1]) / 2, rtol=1e-12)
    apart = load(f"epochs=2, shared=False, {QUICK}").fit(x, truth)
    for target in (0, 1):
        alone = load(f"epochs=2, {QUICK}").fit(x, truth[:, [target]])
        assert apart.predict(x)[:, [target]].tobytes() == alone.predict(x).tobytes()


@pytest.mark.parametrize("settings", ["rank=0, seeds=2", "rank=2, frozen=1, shared=False"])
def test_what_was_learned_survives_a_file(load: Callable[..., Any], tmp_path: Path, settings: str) -> None:
    x, truth = examples()
    model = load(f"epochs=2, {settings}, {QUICK}").fit(x, truth)
    np.savez(tmp_path / "state.npz", **model.state())
    with np.load(tmp_path / "state.npz", allow_pickle=False) as state:
        again = load(f"epochs=2, {settings}, {QUICK}").restore(state)
        wrong = load(f"epochs=2, rank=5, {QUICK}").restore(state)
        with pytest.raises(DataError, match="another encoder"):
            load(QUICK, "MPNet").restore(state)
    np.testing.assert_allclose(again.predict(x), model.predict(x), rtol=1e-4, atol=1e-5)
    assert again.explain(x) == [pytest.approx(parts, rel=1e-4, abs=1e-5) for parts in model.explain(x)]
    assert again.chosen == model.chosen
    with pytest.raises(DataError, match="does not fit"):
        wrong.predict(x)


def test_a_word_adds_what_the_prediction_loses_without_it(load: Callable[..., Any]) -> None:
    x, truth = examples()
    model = load(f"epochs=3, rank=0, seeds=2, {QUICK}").fit(x, truth)
    text = "a red cat and the dogs!"
    shorter = {"red": "a cat and the dogs!", "dogs": "a red cat and the!", "a": "red cat and the dogs!"}
    full, *less = model.predict(asked([text, *shorter.values()]))
    (reasons,) = model.explain(asked([text]))
    for target in (0, 1):
        for word, without in zip(shorter, less, strict=True):
            added = full[target] - without[target]
            assert reasons[f"word {word}[{target}]"] == pytest.approx(added, abs=1e-5)
        parts = [part for name, part in reasons.items() if name.endswith(f"[{target}]")]
        assert len(parts) == 1 + 6 + 1 and sum(parts) == pytest.approx(full[target], abs=1e-9)
        assert reasons[f"base[{target}]"] == pytest.approx(np.nanmean(truth[:, target]))
    (twice,) = model.explain(asked(["red red"]))
    red_red, red = model.predict(asked(["red red", "red"]))
    assert twice["word red[0]"] == pytest.approx(2 * (red_red[0] - red[0]), abs=1e-5)


def test_strange_prompts(load: Callable[..., Any]) -> None:
    model = load(f"epochs=1, {QUICK}").fit(*examples())
    emoji, japanese, half = "\U0001f408\U0001f308", "\u732b\u3068", "\ud83d"
    strange = asked(["", " \n", "?!...", emoji, japanese, "word " * 10_000, half, "x" * 500])
    assert np.isfinite(model.predict(strange)).all()
    assert all(np.isfinite(part) for each in model.explain(strange) for part in each.values())


@pytest.mark.parametrize(
    "settings",
    ["epochs=0", "batch=0", "patience=0", "seeds=0", "rank=-1", "frozen=-1", "learning_rate=0", "decay=-1"],
)
def test_senseless_parameters_are_refused(load: Callable[..., Any], settings: str) -> None:
    with pytest.raises(UsageError, match="fine_tuned"):
        load(settings)


@pytest.mark.parametrize(
    ("settings", "said"),
    [("learning_rate=1e30, rank=0, batch=8", "learning_rate=1e\\+30"), (f"frozen=4, {QUICK}", "4 layers")],
)
def test_what_leads_nowhere_is_refused(load: Callable[..., Any], settings: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        load(settings).fit(*examples())


def test_an_encoder_is_pinned_by_its_content(checkpoints: dict[str, Path], tmp_path: Path) -> None:
    folder = str(checkpoints["Bert"])
    with pytest.raises(UsageError, match="pinned") as caught:
        located("fine_tuned", folder, "")
    assert content_hash(checkpoints["Bert"]) in caught.value.remedy
    with pytest.raises(DataError, match="not the expected encoder"):
        located("fine_tuned", folder, "0" * 64)
    with pytest.raises(UsageError, match="neither") as caught:
        located("fine_tuned", "minlm", "")
    assert "minilm" in caught.value.remedy
    with pytest.raises(DataError, match="no text encoder"):
        located("fine_tuned", str(tmp_path), content_hash(tmp_path)).load()


def test_an_encoder_of_another_build_is_refused(checkpoints: dict[str, Path], tmp_path: Path) -> None:
    import shutil

    from transformers import DistilBertConfig, DistilBertModel

    for file in checkpoints["Bert"].glob("token*"):
        shutil.copy(file, tmp_path)
    config = DistilBertConfig(vocab_size=40, dim=8, hidden_dim=8, n_layers=1, n_heads=2)
    DistilBertModel(config).save_pretrained(tmp_path)
    with pytest.raises(DataError, match="DistilBertModel has no layers where"):
        located("fine_tuned", str(tmp_path), content_hash(tmp_path)).load()


def test_the_pinned_encoder_is_the_one_its_package_describes(checkpoints: dict[str, Path]) -> None:
    import torch
    from transformers import AutoModel, AutoTokenizer

    try:
        source = located("fine_tuned", "minilm", "")
    except MissingPackage as error:
        pytest.skip(error.what)
    assert source.weights is not None
    model, pieces = source.load()
    theirs = AutoModel.from_pretrained(source.weights.parent).eval()
    cut = AutoTokenizer.from_pretrained(source.weights.parent)
    for text in ("A man's caf\u00e9, running 2020!", "", "\u732b and a $5 cat", "word " * 300):
        read = pieces.read(text)
        assert read.pieces == cut(text, truncation=True, max_length=128)["input_ids"]
        given = torch.tensor([read.pieces])
        with torch.no_grad():
            found, expected = (each(input_ids=given).last_hidden_state for each in (model, theirs))
        assert torch.allclose(found, expected, atol=1e-4)
    assert [word for word, _ in pieces.read("A man's caf\u00e9!").words] == ["a", "man", "s", "caf\u00e9"]


def test_its_space_is_the_layer_that_predictions_are_read_from(load: Callable[..., Any]) -> None:
    x, truth = examples(24)
    model = load().fit(x, truth)
    held, state = model.latent(x), model.state()
    assert held.shape == (24, 512) and (held >= 0).all()
    weight = next(array for name, array in state.items() if name.endswith("out.weight"))
    base = next(array for name, array in state.items() if name.endswith("out.bias"))
    said = 1 / (1 + np.exp(-(held @ weight.T + base)))
    low, high = np.nanmin(truth, axis=0), np.nanmax(truth, axis=0)
    np.testing.assert_allclose(low + (high - low) * said, model.predict(x), atol=1e-4)
