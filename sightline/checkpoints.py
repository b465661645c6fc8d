"""Checkpoints in the format of the hub: found, pinned by their content, checked before they are loaded."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from sightline.errors import DataError, MissingPackage, SightlineError, UsageError
from sightline.weights import hub_answers, hub_cache, offline, unreachable

COMPANIONS = ("*.json", "*.txt", "*.model", "*.jinja")
"""What the library reads besides weights: configuration, tokenizer and preprocessing."""


@dataclass(frozen=True)
class Pin:
    """A checkpoint of the hub, fixed by its commit and, where it is known, by the sha256 of its weights.

    Without a `revision` it is only where the weights would come from: whoever uses it gives one. `megabytes`
    and `licence` are of its weights.
    """

    model: str
    revision: str = ""
    file: str = ""
    sha256: str = ""
    megabytes: int = 0
    licence: str = ""
    page: str = ""
    """Where it can be had, in words, if not on the hub."""

    def here(self, name: str) -> bool:
        """Whether it can be loaded without fetching anything, as far as a look at folders tells."""
        if os.environ.get(variable_of(name)):
            return True
        kept = hub_cache() / f"models--{self.model.replace('/', '--')}" / "snapshots" / self.revision
        return bool(self.revision) and kept.is_dir()

    @property
    def origin(self) -> str:
        """Where the weights come from, how large they are and on what terms."""
        size = f"{self.megabytes / 1000:.1f} GB" if self.megabytes >= 1000 else f"{self.megabytes} MB"
        where = self.page or f"hub: {self.model}"
        return ", ".join(
            [where, *([size] if self.megabytes else []), *([self.licence] if self.licence else [])]
        )


NO_PIN = Pin("")


def variable_of(name: str) -> str:
    """The environment variable that names a folder for the pinned checkpoint of an extension."""
    return f"SIGHTLINE_WEIGHTS_{name.upper()}"


def stand_in(name: str, pin: Pin) -> Path | None:
    """The folder that SIGHTLINE_WEIGHTS_<NAME> gives, if it holds another checkpoint than the pinned one.

    Any checkpoint of the same architecture will do as safetensors; what is computed by it is kept apart, by
    the content of the folder.
    """
    given = os.environ.get(variable_of(name))
    if not given or not pin.file or (Path(given) / pin.file).exists():
        return None
    folder = Path(given)
    other = (folder / "config.json").is_file() and any(folder.glob("*.safetensors"))
    return folder if other else None


def checkpoint(name: str, model: str, revision: str, sha256: str, pin: Pin = NO_PIN) -> Path:
    """The folder of a checkpoint: one the user gave, or the hub's own, from its cache or fetched if allowed.

    A folder is given as `model`, or for the pinned model as SIGHTLINE_WEIGHTS_<NAME>. Another model of the
    hub needs its revision, a commit, and a folder the sha256 of its files: a name or a path alone would mean
    other weights tomorrow, under which what is kept of today's would be found. The pin knows the weights
    alone; SIGHTLINE_WEIGHTS_<NAME>_SHA256, of all files, also holds the tokenizer and the preprocessing. The
    folder of that variable may also hold another checkpoint as safetensors: see `stand_in`. Without a pin the
    commit alone says which weights are meant.
    """
    if Path(model).is_dir():
        return folder_of(name, Path(model), sha256, "model")
    pinned = pin if pin.revision and model == pin.model and revision in ("", pin.revision) else None
    variable = variable_of(name)
    given = os.environ.get(variable)
    if given and model == pin.model and not (pinned and pinned.sha256):
        raise UsageError(
            f"{name}: {variable} stands in for a checkpoint whose hash is known, and this one's is not",
            remedy=f"Give the folder by name instead: {name}(model={given!r}, sha256='...').",
        )
    if pinned and (other := stand_in(name, pinned)) is not None:
        return _pinned_whole(other, variable)
    if given and pinned:
        return _given(Path(given), pinned, variable)
    commit = pinned.revision if pinned else revision
    if len(commit) != 40:
        # Of an extension as it is, without a model of the user's, the weights are what is missing.
        raise (MissingPackage if model == pin.model and not revision else UsageError)(
            f"{name}: {model!r} is no folder here, and as a model of the hub it has no revision",
            remedy="Give a folder with the checkpoint, or revision= the 40 digits of a commit."
            + _current(name, model),
        )
    found = _from_hub(name, model, commit, pinned, variable)
    return _checked(found, pinned, f"{model}@{commit}") if pinned and pinned.sha256 else found


def _current(name: str, model: str) -> str:
    """The commit that the hub has now, for a remedy; nothing where the hub cannot be asked."""
    if "/" not in model or offline() or not hub_answers():
        return ""
    from importlib import import_module

    try:
        commit = import_module("huggingface_hub").HfApi().model_info(model, timeout=3).sha
    except Exception:  # no such model, no leave, no client: then there is nothing to add
        return ""
    return f" The hub's now: {name}(model={model!r}, revision={commit!r})."


def folder_of(name: str, folder: Path, sha256: str, parameter: str) -> Path:
    """A folder or file that the user gave, if it has the content that the user says it has."""
    pin = "sha256" if parameter == "model" else f"{parameter}_sha256"
    spec = f"{name}({parameter}={str(folder)!r}, {pin}={content_hash(folder)!r})"
    if not sha256:
        what = (
            "a folder is pinned by the hash of its files"
            if folder.is_dir()
            else "a file is pinned by its hash"
        )
        raise UsageError(f"{name}: {what}", remedy=f"Write {spec}.")
    return checked(folder, sha256, str(folder), f"If the change is meant, write {spec}.")


ADDRESS = re.compile(r"([\w.-]+/[\w.-]+)@([0-9a-f]{40}):(.+)")
"""A file of the hub at a commit: owner/name@commit:file."""


def file_of(name: str, given: str, sha256: str, parameter: str) -> Path:
    """A file that is given by its path, with its hash, or as owner/name@commit:file of the hub."""
    if Path(given).exists():
        return folder_of(name, Path(given), sha256, parameter)
    address = ADDRESS.fullmatch(given)
    if address is None:
        raise UsageError(
            f"{name}: {parameter}={given!r} is neither a file here nor one of the hub",
            remedy="Give a path, or owner/name@commit:file with the 40 digits of a commit.",
        )
    model, commit, file = address.groups()
    from importlib import import_module

    fetch = import_module("huggingface_hub").hf_hub_download
    logging.getLogger("huggingface_hub").setLevel(logging.ERROR)
    otherwise = f"Give a file: {parameter}='...'."
    try:
        return Path(fetch(model, file, revision=commit, local_files_only=True))
    except Exception as error:  # its own errors differ between releases; all mean: not in the cache
        if offline() or not hub_answers():
            raise unreachable(name, model, otherwise) from error
    try:
        return Path(fetch(model, file, revision=commit))
    except Exception as error:  # no network, no such file, no leave: reported to the user as it is
        raise MissingPackage(
            f"no weights for {name}: the hub did not give {given} ({type(error).__name__})", remedy=otherwise
        ) from error


def _from_hub(name: str, model: str, commit: str, pinned: Pin | None, variable: str) -> Path:
    from importlib import import_module

    snapshot_download = import_module("huggingface_hub").snapshot_download
    # It tells every attempt; one error at the end says as much.
    logging.getLogger("huggingface_hub").setLevel(logging.ERROR)

    weights = [pinned.file] if pinned and pinned.file else ["*.safetensors", "pytorch_model.bin"]

    def fetched(**how: bool) -> Path | None:
        """The folder with the first kind of weights that it has; the cache may hold a folder without."""
        for pattern in weights:
            wanted = [*COMPANIONS, pattern]
            here = Path(snapshot_download(model, revision=commit, allow_patterns=wanted, **how))
            if any(here.glob(pattern)):
                return here
        return None

    absent: Exception | None = None
    try:
        here = fetched(local_files_only=True)
        if here is not None:
            return here
    except Exception as error:  # its own errors differ between releases; all mean: not in the cache
        absent = error
    if offline():
        raise MissingPackage(
            f"no weights for {name} on this machine ({model}, not in the hub's cache)",
            remedy=f"Give a folder: {name}(model='...') or {variable}, or allow the hub by unsetting "
            "SIGHTLINE_OFFLINE and HF_HUB_OFFLINE.",
        ) from absent
    instead = f" or {variable}" if pinned and pinned.sha256 else ""
    otherwise = f"Give a folder: {name}(model='...'){instead}."
    if name == "clip":
        otherwise += " Without one, sightline bridge fits a joint space on captioned images of your own."
    if not hub_answers():
        raise unreachable(name, model, otherwise)
    try:
        here = fetched()
    except Exception as error:  # no network, no such model, no leave: reported to the user as it is
        raise MissingPackage(
            f"no weights for {name}: the hub did not give {model} ({type(error).__name__})",
            remedy=f"Try again with a network. {otherwise}",
        ) from error
    if here is None:
        raise MissingPackage(f"{model} has no weights that {name} reads", remedy=otherwise)
    return here


def _given(folder: Path, pin: Pin, variable: str) -> Path:
    """A folder in place of the pinned checkpoint: its weights, and all of it if its sha256 is given."""
    _checked(folder, pin, f"{variable}={folder}")
    return _pinned_whole(folder, variable)


def _pinned_whole(folder: Path, variable: str) -> Path:
    """A folder, if all its files are those that <VARIABLE>_SHA256 expects, where it is set."""
    said = f"{variable}={folder}"
    expected = os.environ.get(f"{variable}_SHA256", "")
    if not expected:
        return folder
    return checked(folder, expected, said, f"Correct {variable}_SHA256, or take the files it is of.")


def _checked(folder: Path, pin: Pin, said: str) -> Path:
    """A folder in which the library finds the pinned weights, and no others."""
    if not (folder / pin.file).is_file():
        raise DataError(f"there is no {pin.file} in it", where=said)
    another = "Another checkpoint is given by its folder: model='...'."
    checked(folder / pin.file, pin.sha256, said, another)
    for other in _instead(folder, pin.file):
        raise DataError(
            f"{other} would be loaded in place of {pin.file}, or on top of it",
            where=said,
            remedy=f"Take it out of the folder. {another}",
        )
    return folder


def _instead(folder: Path, file: str) -> list[str]:
    """What the library would prefer to a weights file, or change it by."""
    # adapter_config.json names further weights, which are loaded on top wherever peft is installed.
    others = ["adapter_config.json"]
    if not file.endswith(".safetensors"):
        others += ["model.safetensors", "model.safetensors.index.json"]
    found = [other for other in others if (folder / other).exists()]
    chosen = settings_of(folder).get("transformers_weights")
    return [*found, *([str(chosen)] if chosen not in (None, file) else [])]


def settings_of(folder: Path) -> Mapping[str, Any]:
    """The config.json of a checkpoint; empty where there is none."""
    file = folder / "config.json"
    try:
        found = json.loads(file.read_text("utf-8")) if file.is_file() else {}
    except ValueError as error:
        raise DataError(f"it is no JSON: {error}", where=str(file)) from None
    return found if isinstance(found, dict) else {}


def architecture(folder: Path) -> str:
    """What a checkpoint says it is, such as CLIPModel."""
    settings = settings_of(folder)
    return str(next(iter(settings.get("architectures") or ()), "") or settings.get("model_type", "nothing"))


def from_library(
    name: str, folder: Path, kind: Any, *, state: Mapping[str, Any] | None = None, config: Any = None
) -> Any:
    """The model in a folder by a class of the transformers library.

    A checkpoint of another architecture, or one without some of the weights, is an error: the library itself
    would fill the gaps with random numbers. `state` are weights to take in place of those in the folder, and
    `config` the configuration that they are for, if it is not the folder's.
    """
    own = getattr(getattr(kind, "config_class", None), "model_type", "")
    if not (folder / "config.json").is_file():
        raise DataError("there is no config.json in it", where=str(folder))
    if own and str(settings_of(folder).get("model_type", "")) != own:
        raise DataError(
            f"this is a checkpoint of another architecture: {architecture(folder)}",
            where=str(folder),
            remedy=f"{name} reads checkpoints of {kind.__name__}.",
        )
    options: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
    if state is not None:
        options |= {"state_dict": dict(state), "config": config or kind.config_class.from_pretrained(folder)}
    try:
        model, loaded = kind.from_pretrained(
            None if state is not None else folder, output_loading_info=True, **options
        )
    except SightlineError:
        raise
    except Exception as error:  # its own errors differ between releases; all mean: not readable as such
        raise DataError(
            f"no {kind.__name__} can be read here: {str(error).splitlines()[0][:300]}", where=str(folder)
        ) from error
    absent = sorted(loaded.get("missing_keys") or ())
    if absent:
        raise DataError(
            f"{len(absent)} weights are missing, such as {absent[0]}",
            where=str(folder),
            remedy=f"Take a whole checkpoint of {kind.__name__}.",
        )
    return model


def content_hash(path: Path) -> str:
    """sha256 of a file, or of the names and hashes of all in a folder; computed once while unchanged."""
    if path.is_dir():
        whole = hashlib.sha256()
        for file in sorted(each for each in path.rglob("*") if each.is_file()):
            whole.update(f"{file.relative_to(path).as_posix()}\0{content_hash(file)}\n".encode())
        return whole.hexdigest()
    status = path.stat()
    return _hashed(str(path.resolve()), status.st_mtime_ns, status.st_size)


@cache
def _hashed(path: str, changed: int, size: int) -> str:
    digest = hashlib.sha256()
    with Path(path).open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def checked(path: Path, sha256: str, said: str, remedy: str) -> Path:
    """The file or folder, if its content is what is expected."""
    if not path.exists():
        raise DataError("there is no such weights file", where=said)
    found = content_hash(path)
    if found != sha256:
        raise DataError(
            f"these are not the expected weights: sha256 {found[:16]}..., expected {sha256[:16]}...",
            where=said,
            remedy=remedy,
        )
    return path


def tensors(file: Path) -> dict[str, Any]:
    """The weights in a .safetensors file, or in one that torch saved; nothing in it is executed."""
    import torch

    try:
        if file.suffix == ".safetensors":
            from safetensors.torch import load_file

            return dict(load_file(file))
        state = torch.load(file, map_location="cpu", weights_only=True)
    except Exception as error:  # a damaged file fails in many ways; all mean: no weights
        raise DataError(
            f"no weights can be read: {str(error).splitlines()[0][:200]}",
            where=str(file),
            remedy="A .safetensors file, or one that torch.save wrote of a plain dictionary of tensors.",
        ) from None
    while isinstance(state, Mapping) and any(key in state for key in ("state_dict", "model")):
        inner = state.get("state_dict", state.get("model"))
        if not isinstance(inner, Mapping):
            break
        state = inner
    if not isinstance(state, Mapping) or not all(isinstance(each, torch.Tensor) for each in state.values()):
        raise DataError("it holds no dictionary of tensors", where=str(file))
    return dict(state)
