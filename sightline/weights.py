"""Finding pretrained weights, pinned by content: a path the user gave, an installed package, the hub."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

from sightline.errors import DataError, MissingPackage


@dataclass(frozen=True)
class Weights:
    """Pretrained weights: their hash, and the `distribution:file` or `owner/name@revision:file` with them."""

    sha256: str
    package: str = ""
    hub: str = ""


def find(name: str, weights: Weights) -> Path:
    """The weights file of the backbone of this name, checked against its pinned sha256.

    Order: environment variable SIGHTLINE_WEIGHTS_<NAME>, the package that carries it, the hub unless
    SIGHTLINE_OFFLINE or HF_HUB_OFFLINE forbids it.
    """
    variable = f"SIGHTLINE_WEIGHTS_{name.upper()}"
    given = os.environ.get(variable)
    if given:
        return _checked(Path(given), weights.sha256, f"{variable}={given}")
    if weights.package:
        carried = _in_package(weights.package)
        if carried is not None:
            return _checked(carried, weights.sha256, weights.package)
    if weights.hub and not _offline():
        return _checked(_from_hub(weights.hub), weights.sha256, weights.hub)
    package = weights.package.split(":")[0]
    choices = [f"set {variable} to the file"]
    if package:
        choices.append(f"pip install {package}")
    if weights.hub:
        choices.append(f"allow the hub ({weights.hub}) by unsetting SIGHTLINE_OFFLINE and HF_HUB_OFFLINE")
    raise MissingPackage(
        f"no weights for {name} on this machine", remedy="Either " + ", or ".join(choices) + "."
    )


def _offline() -> bool:
    return any(os.environ.get(name, "") not in ("", "0") for name in ("SIGHTLINE_OFFLINE", "HF_HUB_OFFLINE"))


def _in_package(address: str) -> Path | None:
    from importlib import metadata

    distribution, _, file = address.partition(":")
    try:
        files = metadata.files(distribution) or []
    except metadata.PackageNotFoundError:
        return None
    for listed in files:
        if file and f"/{listed}".endswith(f"/{file}"):
            return Path(str(listed.locate()))
    return None


def _from_hub(address: str) -> Path:
    from importlib import import_module

    try:
        hub = import_module("huggingface_hub")
    except ImportError:
        raise MissingPackage(
            "fetching weights from the hub needs huggingface_hub", remedy="pip install huggingface_hub"
        ) from None
    repository, _, file = address.partition(":")
    name, _, revision = repository.partition("@")
    return Path(hub.hf_hub_download(name, file, revision=revision or None))


def _checked(path: Path, sha256: str, said: str) -> Path:
    if not path.is_file():
        raise DataError("there is no such weights file", where=said)
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    if digest.hexdigest() != sha256:
        raise DataError(
            "these are not the expected weights: "
            f"sha256 {digest.hexdigest()[:16]}..., expected {sha256[:16]}...",
            where=said,
            remedy="Get the pinned file; a different model would give different scores under the same name.",
        )
    return path
