"""Views of arrays in the program's memory: array.array, numpy, memoryview, and any other buffer of numbers."""

from __future__ import annotations

import array
import ctypes
import enum
import sys
from typing import Any, Dict, Optional, Tuple, Union

from muster._errors import InvalidArgumentError


class ReduceOp(str, enum.Enum):
    """How the values of all ranks become one value; see muster/reduce_op.h. Calls accept the texts too."""

    SUM = "sum"
    PRODUCT = "product"
    MIN = "min"
    MAX = "max"
    AVERAGE = "average"  # rounds integers toward zero
    BITWISE_AND = "bitwise_and"
    BITWISE_OR = "bitwise_or"


AnyOp = Union[ReduceOp, str]
_OPS = {op.value: number for number, op in enumerate(ReduceOp)}

# The values of muster_type, by name.
TYPES: Dict[str, int] = {
    "bool": 0, "uint8": 1, "int8": 2, "uint16": 3, "int16": 4, "uint32": 5, "int32": 6, "uint64": 7, "int64": 8,
    "float32": 9, "float64": 10, "float8_e4m3": 11, "float8_e5m2": 12, "float16": 13, "bfloat16": 14,
}
WIDTHS = {"bool": 1, "uint8": 1, "int8": 1, "uint16": 2, "int16": 2, "uint32": 4, "int32": 4, "uint64": 8, "int64": 8,
           "float32": 4, "float64": 8, "float8_e4m3": 1, "float8_e5m2": 1, "float16": 2, "bfloat16": 2}
_KINDS = {"?": "bool", "e": "float", "f": "float", "d": "float", "c": "uint"}


def op_number(op: AnyOp) -> int:
    """Returns the muster_op of an operation. InvalidArgumentError lists the operations that exist."""
    number = _OPS.get(op.value if isinstance(op, ReduceOp) else op)
    if number is None:
        raise InvalidArgumentError(f"the operation is {op!r}; expected one of {', '.join(_OPS)}")
    return number


def _native(format_: str) -> str:
    """Returns a format without the byte-order mark, which the formats of ctypes' arrays have."""
    return format_[1:] if format_[:1] in ("@", "=", "<") else format_


def _type_of(format_: str, width: int) -> Optional[str]:
    """Returns the name of the element type of a buffer, from a letter of the module struct, or None."""
    format_ = _native(format_)
    if format_ in _KINDS:
        kind = _KINDS[format_]
        return kind if kind == "bool" else f"{kind}{8 * width}"
    if format_ in tuple("bhilqn"):
        return f"int{8 * width}"
    if format_ in tuple("BHILQN"):
        return f"uint{8 * width}"
    return None


class View:
    """The memory of an array. While this object lives, the array cannot be resized."""

    def __init__(self, data: Any, what: str, *, writable: bool, dtype: Optional[str] = None) -> None:
        try:
            view = memoryview(data)
        except TypeError:
            raise InvalidArgumentError(
                f"{what} is a {type(data).__name__}; expected an array of numbers in memory: array.array, a numpy array, "
                "a bytearray, or a memoryview of such") from None
        if not view.c_contiguous:
            raise InvalidArgumentError(f"{what} is not contiguous in memory: pass a copy of it")
        if writable and view.readonly:
            raise InvalidArgumentError(f"{what} is read-only, but the call writes to it: pass a writable array")
        found = dtype or _type_of(view.format, view.itemsize)
        if found not in TYPES:
            raise InvalidArgumentError(
                f"{what} has elements of the type {dtype or view.format!r}; expected one of {', '.join(TYPES)}")
        if view.nbytes % WIDTHS[found] != 0:
            raise InvalidArgumentError(f"{what} has {view.nbytes} bytes, which is not a whole number of {found} elements")
        self.type_name = found
        self.type = TYPES[found]
        self.count = view.nbytes // WIDTHS[found]
        self.nbytes = view.nbytes
        self._kept: Any = None
        self.pointer: Optional[int] = None
        if view.nbytes > 0:
            self._keep(view)
        # ctypes passes this pointer for the object, and keeps the object, with its memory, for the
        # call.
        self._as_parameter_ = self.pointer

    def _keep(self, view: memoryview) -> None:
        kind = ctypes.c_char * view.nbytes
        # Copies read-only memory, since Python code cannot get its address.
        self._kept = kind.from_buffer_copy(view) if view.readonly else kind.from_buffer(view)
        self.pointer = ctypes.addressof(self._kept)


def number_array(value: Union[bool, int, float]) -> Tuple["array.array[Any]", str]:
    """Returns an array of that one number, and the name of its type: bool, int64 or float64."""
    if isinstance(value, bool):
        return array.array("B", [value]), "bool"
    if isinstance(value, int):
        try:
            return array.array("q", [value]), "int64"
        except OverflowError:
            raise InvalidArgumentError(f"{value} does not fit into 64 bits") from None
    return array.array("d", [value]), "float64"


def is_number(value: Any) -> bool:
    """Returns whether a value is one number. This includes numpy's scalars, which are not arrays."""
    return isinstance(value, (bool, int, float))


def empty_like(data: Any, count: int) -> Any:
    """Returns a new array of `count` elements of the same kind: numpy's for numpy, else array.array, or a memoryview if
    array.array lacks the type."""
    if type(data).__module__.split(".", maxsplit=1)[0] == "numpy":
        import numpy  # pylint: disable=import-outside-toplevel

        return numpy.empty(count, dtype=data.dtype)
    view = memoryview(data)
    code = _native(view.format)
    if isinstance(data, (bytes, bytearray)) or code == "c":
        return bytearray(count)
    if code in array.typecodes and array.array(code).itemsize == view.itemsize:
        return array.array(code, bytes(count * view.itemsize))
    try:
        # Adds one element, since an empty buffer cannot be cast.
        return memoryview(bytearray((count + 1) * view.itemsize)).cast(code)[:count]  # type: ignore[call-overload]
    except ValueError:
        loaded = sys.modules.get("numpy")  # the buffer's owner: before 3.12, Python has no float16
        if loaded is not None:
            return loaded.empty(count, dtype=code)
        raise InvalidArgumentError(
            f"this version of Python has no array of the type {view.format!r}: pass `out`, or an array of numpy's") from None
