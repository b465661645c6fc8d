"""Reads a pickle without running anything in it.

A pickle is a program: it names functions and calls them. Here every name resolves to a function of this file
or is refused, so the result can only hold containers, numbers, texts and numeric numpy arrays.
"""

from __future__ import annotations

import io
import os
import pickle
from collections import OrderedDict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any

from sightline.bounded import MEGABYTE, READERS
from sightline.errors import DataError
from sightline.regular import open_regular

MOST_BYTES = 100 * MEGABYTE
MOST_PARTS = 20_000_000
UNIT = 64
"""Bytes of text or numbers that count as one value more."""
_KINDS = "?biufcSU"


class _Call:
    """Stands for an allowed name; has no attribute that a pickle could change."""

    __slots__ = ("_target",)

    def __init__(self, target: Callable[..., Any]) -> None:
        self._target = target

    def __call__(self, *args: Any) -> Any:
        return self._target(*args)


class _Dtype:
    """The type of an array as a pickle describes it: only the plain numeric and text ones are built."""

    __slots__ = ("_code", "_order")

    def __init__(self, code: object, *_: object) -> None:
        self._code = code
        self._order: str = "="

    def __setstate__(self, state: Any) -> None:
        order, subtype, names, fields = state[1], state[2], state[3], state[4]
        if subtype is not None or names is not None or fields is not None:
            raise pickle.UnpicklingError("an array of records")
        if order not in ("<", ">", "=", "|"):
            raise pickle.UnpicklingError(f"an array in byte order {order!r}")
        self._order = order

    def real(self) -> Any:
        import numpy as np

        if not isinstance(self._code, str) or self._code.lstrip("<>=|")[:1] not in tuple(_KINDS):
            raise pickle.UnpicklingError(f"an array of type {self._code!r}")
        return np.dtype(self._code).newbyteorder(self._order)  # type: ignore[arg-type]


class _Array:
    """An array whose content follows; `_finished` replaces it by a real array."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value: Any = None

    def __setstate__(self, state: Any) -> None:
        _, shape, dtype, columns_first, raw = state
        self.value = _array(raw, dtype, shape, "F" if columns_first else "C")


def _array(raw: Any, dtype: Any, shape: Any, order: Any) -> Any:
    import numpy as np

    if not isinstance(dtype, _Dtype) or not isinstance(raw, bytes | bytearray | memoryview):
        raise pickle.UnpicklingError("an array of objects")
    return np.frombuffer(raw, dtype=dtype.real()).reshape(shape, order=order).copy()


def _scalar(dtype: Any, raw: Any) -> Any:
    return _array(raw, dtype, (1,), "C")[0].item()


def _reconstruct(*_: Any) -> _Array:
    return _Array()


def _encoded(text: Any, encoding: Any) -> bytes:
    # How older protocols write bytes; any other codec would be a way to run something.
    if encoding != "latin1" or not isinstance(text, str):
        raise pickle.UnpicklingError(f"the codec {encoding!r}")
    return text.encode("latin1")


_ALLOWED: Mapping[tuple[str, str], Callable[..., Any]] = {
    **{(f"numpy.{core}.multiarray", "scalar"): _scalar for core in ("core", "_core")},
    **{(f"numpy.{core}.multiarray", "_reconstruct"): _reconstruct for core in ("core", "_core")},
    **{(f"numpy.{core}.numeric", "_frombuffer"): _array for core in ("core", "_core")},
    ("numpy", "dtype"): _Dtype,
    ("numpy", "ndarray"): _reconstruct,
    ("_codecs", "encode"): _encoded,
    ("collections", "OrderedDict"): OrderedDict,
    **{(module, "set"): set for module in ("builtins", "__builtin__")},
    **{(module, "frozenset"): frozenset for module in ("builtins", "__builtin__")},
    **{(module, "complex"): complex for module in ("builtins", "__builtin__")},
}


class _Refused(Exception):
    pass


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        target = _ALLOWED.get((module, name))
        if target is None:
            raise _Refused(f"{module}.{name}")
        return _Call(target)


def read_pickle_file(path: Path, where: str) -> Any:
    """The content of a pickle that somebody else made, read where memory and time are limited."""
    with open_regular(path, where, MOST_BYTES) as stream:
        seconds = 4.0 + stream.seek(0, io.SEEK_END) / (2 * MEGABYTE)
    _, plain = READERS.run(_again, b"", os.path.abspath(path), where, seconds=seconds, where=where)
    return read_pickle(io.BytesIO(plain), where)


def _again(_: bytes, path: str, where: str) -> tuple[None, tuple[bytes]]:
    with open_regular(path, where, MOST_BYTES) as stream:
        return None, (pickle.dumps(read_pickle(stream, where)),)


def read_pickle(stream: IO[bytes], where: str) -> Any:
    """The content of a pickle, or a DataError that names what in it was refused."""
    try:
        return _Finishing().finish(_Unpickler(stream).load())[0]
    except _Refused as refused:
        raise DataError(
            f"the pickle asks for {refused}, which could run code",
            where=where,
            remedy="Only containers, numbers, texts and numpy arrays are read: export the data as CSV.",
        ) from None
    except MemoryError:
        raise DataError("the pickle needs more memory than there is", where=where) from None
    except Exception as error:  # a damaged pickle can fail in any way at all
        raise DataError(
            f"not a pickle of plain data ({type(error).__name__}: {error})",
            where=where,
            remedy="Obtain the file again, or export the data as CSV or JSONL.",
        ) from None


class _Finishing:
    """Puts real arrays in the place of their descriptions, each container once however often it is named.

    A list of two references to a list of two references, and so on, is small here and endless for whoever
    walks through it: its size counts as if nothing were shared.
    """

    def __init__(self) -> None:
        self._known: dict[int, tuple[Any, Any, int]] = {}

    def finish(self, value: Any) -> tuple[Any, int]:
        """The plain value and how much it is, written out."""
        if isinstance(value, _Array):
            return value.value, 1 + getattr(value.value, "nbytes", 0) // UNIT
        if isinstance(value, _Call | _Dtype):
            raise pickle.UnpicklingError("a bare name instead of data")
        if isinstance(value, str | bytes | bytearray):
            return value, 1 + len(value) // UNIT
        if not isinstance(value, dict | list | tuple | set | frozenset):
            return value, 1
        known = self._known.get(id(value))
        if known is None:
            # Kept with the value itself, so that no other can have its id.
            self._known[id(value)] = (value, None, 0)
            known = self._known[id(value)] = (value, *self._inside(value))
        _, plain, size = known
        if not size:
            raise pickle.UnpicklingError("a container that contains itself")
        if size > MOST_PARTS:
            raise pickle.UnpicklingError(f"it unfolds to more than {MOST_PARTS:,} values")
        return plain, size

    def _inside(self, value: Any) -> tuple[Any, int]:
        size = 1
        if isinstance(value, dict):
            for key, inner in value.items():
                size += self._fixed(key)
                value[key], more = self.finish(inner)
                size += more
            return value, size
        if isinstance(value, set | frozenset):
            return value, size + sum(map(self._fixed, value))
        found = [self.finish(inner) for inner in value]
        size += sum(more for _, more in found)
        plain = [inner for inner, _ in found]
        if isinstance(value, list):
            value[:] = plain
            return value, size
        return tuple(plain), size

    def _fixed(self, value: Any) -> int:
        """The size of a key or member, which cannot be replaced by another value."""
        plain, size = self.finish(value)
        if type(plain) is not type(value) or isinstance(value, _Array):
            raise pickle.UnpicklingError("an array as a key")
        return size
