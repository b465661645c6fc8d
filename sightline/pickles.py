"""Reads a pickle without running anything in it.

A pickle is a program: it names functions and calls them. Here every name resolves to a function of this file
or is refused, so the result can only hold containers, numbers, texts and numeric numpy arrays.
"""

from __future__ import annotations

import pickle
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import IO, Any

from sightline.errors import DataError

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


def read_pickle(stream: IO[bytes], where: str) -> Any:
    """The content of a pickle, or a DataError that names what in it was refused."""
    try:
        return _finished(_Unpickler(stream).load())
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


def _finished(value: Any) -> Any:
    if isinstance(value, _Array):
        return value.value
    if isinstance(value, dict):
        for key, inner in value.items():
            value[key] = _finished(inner)
        return value
    if isinstance(value, list):
        value[:] = [_finished(inner) for inner in value]
        return value
    if isinstance(value, tuple):
        return tuple(_finished(inner) for inner in value)
    if isinstance(value, _Call | _Dtype):
        raise pickle.UnpicklingError("a bare name instead of data")
    return value
