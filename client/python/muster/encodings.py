"""Encodings of values as bytes, for the `encoding` argument of collectives of objects.

    job.broadcast(b"...")                                  # bytes, unless something else is named
    job.broadcast({"lr": 0.1}, encoding="json")
    job.all_gather(result, encoding="pickle")              # from processes that you trust
    job.broadcast(3, encoding=encodings.INT32)             # Broadcast(3) of a rank in C++

All ranks of a call must name the same encoding. Otherwise FailedPreconditionError names the two sides.
"""

from __future__ import annotations

import dataclasses
import json
import pickle
import struct
from typing import Any, Callable, List, Tuple, Union


@dataclasses.dataclass(frozen=True)
class Encoding:
    """A conversion of values to bytes and back.

    type_name  its name in errors, which must agree between the ranks; at most 256 bytes
    encode     returns the bytes of a value
    decode     returns the value of bytes
    """

    type_name: str
    encode: Callable[[Any], bytes]
    decode: Callable[[bytes], Any]


def _bytes_of(value: Any) -> bytes:
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    raise TypeError(
        f"a {type(value).__name__} is no bytes: say how it becomes bytes, by encoding='json' or encoding='pickle'")


def _json_of(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":"), allow_nan=True).encode()


BYTES = Encoding("bytes", _bytes_of, bytes)
JSON = Encoding("json", _json_of, json.loads)
# Loading a pickle runs code that the pickle names, so use it only among ranks that you trust. It is
# never a default.
PICKLE = Encoding("pickle", lambda value: pickle.dumps(value, protocol=4), pickle.loads)


def _number(type_name: str, format_: str) -> Encoding:
    packed = struct.Struct("<" + format_)
    return Encoding(type_name, packed.pack, lambda data: packed.unpack(data)[0])


# The encodings of numbers in C++ ranks: muster/codec.h.
INT32 = _number("int32", "i")
INT64 = _number("int64", "q")
UINT64 = _number("uint64", "Q")
FLOAT32 = _number("float32", "f")
FLOAT64 = _number("float64", "d")


def _pack_text(value: str) -> bytes:
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


STRING = Encoding("string", _pack_text, lambda data: data[8:].decode())


def struct_of(format_: str) -> Encoding:
    """Returns the encoding of a tuple that C++ ranks pass as a plain struct. `format_` is a format of the module
    struct, without padding that a compiler would not add: "dqqq" is a double and three int64_t."""
    packed = struct.Struct("@" + format_)
    return Encoding(f"struct of {packed.size} bytes", lambda value: packed.pack(*value), packed.unpack)


def vector_of(element: Encoding) -> Encoding:
    """Returns the encoding of a list that C++ ranks pass as a std::vector of numbers or plain structs."""
    size = len(element.encode(_zero_of(element)))

    def encode(values: List[Any]) -> bytes:
        return struct.pack("<Q", len(values)) + b"".join(element.encode(value) for value in values)

    def decode(data: bytes) -> List[Any]:
        return [element.decode(data[at:at + size]) for at in range(8, len(data), size)]

    return Encoding(f"vector<{element.type_name}>", encode, decode)


def _zero_of(element: Encoding) -> Any:
    if element.type_name.startswith(("int", "uint", "float")):
        return 0
    if element.type_name.startswith("struct of "):
        return element.decode(bytes(int(element.type_name.split()[2])))
    raise TypeError(f"vector_of() takes encodings of numbers and of plain structs, not of {element.type_name}")


_BY_NAME = {"bytes": BYTES, "json": JSON, "pickle": PICKLE}
AnyEncoding = Union[str, Encoding]


def find(encoding: AnyEncoding) -> Encoding:
    """Returns the encoding of that name. ValueError lists the names that exist."""
    if isinstance(encoding, Encoding):
        return encoding
    found = _BY_NAME.get(encoding)
    if found is None:
        raise ValueError(f"encoding is {encoding!r}; expected one of {', '.join(sorted(_BY_NAME))}, or an Encoding")
    return found


def split_name(encoding: AnyEncoding) -> Tuple[Encoding, bytes]:
    """Returns the encoding, and its name as the library takes it."""
    found = find(encoding)
    return found, found.type_name.encode()
