"""Configurations and arrays that ranks exchange through files of a folder that all share.

    workspace = muster.Workspace("/shared/export", rank=job.rank)
    workspace.write({"layers": 12}, {"w": weights})
    job.barrier("written")
    first = workspace.read(0)               # None: rank 0 has written nothing
    first.config["layers"], first.tensors["w"]

Files are in the safetensors format, with checksums, and the same as those of muster/workspace.h: docs/workspace.md.
"""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import json
import mmap
import os
import secrets
import struct
import zlib
from typing import Any, Dict, Iterable, List, Mapping, Optional, Tuple, Union

from muster import _arrays
from muster._errors import DataLossError, FailedPreconditionError, InvalidArgumentError, NotFoundError

_MAX_HEADER = 100_000_000  # of the safetensors format
_MAX_NAME = 1024
_METADATA = "__metadata__"
_CONFIG = "muster.config"
_HEADER_CHECKSUM = "muster.header_crc32"
_TENSOR_CHECKSUM = "muster.crc32."
_NO_CHECKSUM = "00000000"

# The safetensors format's names of the element types.
_NAMES = {
    "bool": "BOOL", "uint8": "U8", "int8": "I8", "uint16": "U16", "int16": "I16", "uint32": "U32", "int32": "I32",
    "uint64": "U64", "int64": "I64", "float8_e4m3": "F8_E4M3", "float8_e5m2": "F8_E5M2", "float16": "F16",
    "bfloat16": "BF16", "float32": "F32", "float64": "F64",
}
_TYPES = {name: type_ for type_, name in _NAMES.items()}
# The formats of memoryview.cast(). Types without one are shown as the unsigned integers of their size.
_FORMATS = {"bool": "?", "uint8": "B", "int8": "b", "uint16": "H", "int16": "h", "uint32": "I", "int32": "i",
            "uint64": "Q", "int64": "q", "float32": "f", "float64": "d", "float8_e4m3": "B", "float8_e5m2": "B",
            "float16": "H", "bfloat16": "H"}


@dataclasses.dataclass(frozen=True)
class Tensor:
    """An array and its element type, for types that the array cannot name: Tensor(data, "bfloat16"). Workspace.read()
    returns these: `data` is a read-only memoryview in the array's shape, of unsigned integers if Python has no such
    number. numpy.asarray(tensor.data) makes an array without a copy."""

    data: Any
    dtype: Optional[str] = None

    @property
    def shape(self) -> Tuple[int, ...]:
        """The lengths of the dimensions."""
        return tuple(getattr(self.data, "shape", None) or memoryview(self.data).shape or ())


@dataclasses.dataclass(frozen=True)
class Configuration:
    """What one rank has written: a JSON value, and arrays by name."""

    config: Any
    tensors: Dict[str, Tensor]


class Workspace:
    """A folder on a shared file system, in which every rank writes its own configuration, and reads that of any rank.

    No call waits for another rank. The caller decides when to read, for instance after a barrier. A reader always sees
    a complete file or no file, even while it is replaced, and after a crash of the writer or its machine. Weights never
    travel through the coordinator. Errors of the system are OSErrors, with the path. Thread-safe, except for two writes
    at once.
    """

    def __init__(self, path: Union[str, "os.PathLike[str]"], rank: Optional[int] = None) -> None:
        """Opens the folder for the process with this rank, and removes the files of this rank that an earlier run has
        left. Creates it if it is missing. Without a rank, opens it to read only; NotFoundError: there is none."""
        self._path = os.fspath(path)
        self._rank = rank
        if not self._path:
            raise InvalidArgumentError("the workspace's path is empty")
        if rank is None:
            if not os.path.isdir(self._path):
                raise NotFoundError(f"cannot open workspace {self._path}: it is not a folder")
            return
        if rank < 0:
            raise InvalidArgumentError(f"workspace {self._path}: rank is {rank}; expected at least 0")
        os.makedirs(self._path, exist_ok=True)
        self._remove_stale(rank)

    def _remove_stale(self, rank: int) -> None:
        temporary = _temporary_prefix(rank)
        for name in os.listdir(self._path):
            if name.startswith(temporary):
                with contextlib.suppress(OSError):  # a leftover file does no harm
                    os.unlink(os.path.join(self._path, name))
        self.clear()

    @property
    def path(self) -> str:
        """The folder."""
        return self._path

    def file_of(self, rank: int) -> str:
        """Returns the path of the file of a rank."""
        return os.path.join(self._path, _file_name(rank))

    def write(self, config: Any = None, tensors: Optional[Mapping[str, Any]] = None) -> None:
        """Writes this rank's configuration, a value for JSON and arrays by name, which replaces the previous one.
        Returns when it is on the disk. Arrays are array.array, numpy arrays, other contiguous buffers of numbers, or a
        Tensor. After an error the previous configuration is still there. InvalidArgumentError: an array or its name is
        malformed. TypeError: `config` is no value for JSON."""
        rank = self._writer()
        _write_atomically(self._path, rank, _image_of(config, tensors or {}))

    def read(self, rank: int) -> Optional[Configuration]:
        """Reads the latest configuration of `rank` into memory. Returns None if that rank has written none.
        DataLossError: the file is damaged or truncated; names the file and the damage."""
        try:
            with open(self.file_of(rank), "rb") as file:
                data = file.read()
        except FileNotFoundError:
            return None
        return _parse(memoryview(data), self.file_of(rank))

    def map(self, rank: int) -> Optional[Configuration]:
        """As read(), but maps the file, for files of which only a part is needed. Reads it once, to verify it. Use it
        on local file systems only: if the file is deleted on a network file system, access to the arrays kills the
        process."""
        try:
            with open(self.file_of(rank), "rb") as file:
                size = os.fstat(file.fileno()).st_size
                data = mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ) if size else b""
        except FileNotFoundError:
            return None
        return _parse(memoryview(data), self.file_of(rank))

    def clear(self) -> None:
        """Removes this rank's configuration."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.file_of(self._writer()))
            _sync_folder(self._path)

    def _writer(self) -> int:
        if self._rank is None:
            raise FailedPreconditionError(f"workspace {self._path} was opened for reading only")
        return self._rank


# ---- Files.


def _file_name(rank: int) -> str:
    return f"rank-{rank}.safetensors"


def _temporary_prefix(rank: int) -> str:
    return f".{_file_name(rank)}."


def _sync_folder(path: str) -> None:
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(folder)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # some file systems cannot, and need not
            raise
    finally:
        os.close(folder)


def _write_atomically(folder: str, rank: int, parts: Iterable[Any]) -> None:
    path = os.path.join(folder, _temporary_prefix(rank) + secrets.token_hex(4))
    try:
        with open(path, "xb") as file:
            for part in parts:
                file.write(part)
            file.flush()
            os.fsync(file.fileno())
        os.rename(path, os.path.join(folder, _file_name(rank)))
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(path)
        raise
    _sync_folder(folder)


# ---- The format.


def _checksum(data: Any) -> str:
    return f"{zlib.crc32(data):08x}"


def _image_of(config: Any, tensors: Mapping[str, Any]) -> List[Any]:
    """Returns the parts of a file. Larger elements come first, so that every array is aligned without gaps."""
    views = {name: _view_of(name, each) for name, each in tensors.items()}
    metadata = {_CONFIG: json.dumps(config), _HEADER_CHECKSUM: _NO_CHECKSUM}
    header: Dict[str, Any] = {}
    parts: List[Any] = []
    offset = 0
    for name, (view, dtype) in sorted(views.items(), key=lambda named: (-_width(named[1][1]), named[0])):
        data = view.cast("B") if view.nbytes else b""
        header[name] = {"dtype": _NAMES[dtype], "shape": list(view.shape or ()),
                        "data_offsets": [offset, offset + view.nbytes]}
        metadata[_TENSOR_CHECKSUM + name] = _checksum(data)
        parts.append(data)
        offset += view.nbytes
    text = json.dumps({_METADATA: metadata, **header}, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    if len(text) > _MAX_HEADER:
        raise InvalidArgumentError(f"the configuration and the arrays' names need a header of {len(text)} bytes; the "
                                   f"safetensors format allows {_MAX_HEADER}")
    begin = _checksum_place(text)
    text = text[:begin] + _checksum(text).encode() + text[begin + len(_NO_CHECKSUM):]
    return [struct.pack("<Q", len(text)) + text, *parts]


def _checksum_place(header: bytes) -> int:
    """Returns where the header's checksum begins, or -1."""
    key = f'"{_HEADER_CHECKSUM}":"'.encode()
    place = header.find(key)
    return -1 if place < 0 or place + len(key) + len(_NO_CHECKSUM) > len(header) else place + len(key)


def _width(dtype: str) -> int:
    return _arrays.WIDTHS[dtype]


def _view_of(name: str, tensor: Any) -> Tuple[memoryview, str]:
    if not isinstance(name, str) or not name or name == _METADATA or len(name.encode("utf-8", "replace")) > _MAX_NAME:
        raise InvalidArgumentError(f"an array's name is {name!r}; expected a text of 1 to {_MAX_NAME} bytes, and not "
                                   f"{_METADATA}")
    given = tensor if isinstance(tensor, Tensor) else Tensor(tensor)
    checked = _arrays.View(given.data, f"the array {name!r}", writable=False, dtype=given.dtype)
    view = memoryview(given.data)
    if view.nbytes != view.itemsize * checked.count and view.itemsize != _width(checked.type_name):
        raise InvalidArgumentError(f"the array {name!r} has elements of {view.itemsize} bytes, and not of "
                                   f"{checked.type_name}")
    return view, checked.type_name


def _parse(data: memoryview, path: str) -> Configuration:
    try:
        return _parse_file(data)
    except _Damage as damage:
        raise DataLossError(f"{path} is damaged: {damage}") from None


class _Damage(Exception):
    pass


def _parse_file(data: memoryview) -> Configuration:
    if data.nbytes < 8:
        raise _Damage(f"it has {data.nbytes} bytes; the header's length alone takes 8")
    length = struct.unpack_from("<Q", data)[0]
    if length > _MAX_HEADER or length > data.nbytes - 8:
        raise _Damage(f"its header should have {length} bytes, and it has {data.nbytes - 8} bytes after the length (at "
                      f"most {_MAX_HEADER} are allowed)")
    text, rest = bytes(data[8:8 + length]), data[8 + length:]
    header, metadata = _parse_header(text)
    tensors = {name: _parse_tensor(name, description, rest, metadata) for name, description in header.items()}
    _check_coverage([description["data_offsets"] for description in header.values()], rest.nbytes)
    if not isinstance(metadata.get(_CONFIG), str):
        raise _Damage("its header has no configuration")
    return Configuration(json.loads(metadata[_CONFIG]), tensors)


def _parse_header(text: bytes) -> Tuple[Dict[str, Any], Dict[str, Any]]:
    try:
        header = json.loads(text)
    except ValueError:
        header = None
    if not isinstance(header, dict):
        raise _Damage("its header is not a JSON object")
    metadata = header.pop(_METADATA, None)
    place = _checksum_place(text)
    if not isinstance(metadata, dict) or place < 0 or not isinstance(metadata.get(_HEADER_CHECKSUM), str):
        raise _Damage("its header has no checksum: it was not written by a muster.Workspace")
    cleared = text[:place] + _NO_CHECKSUM.encode() + text[place + len(_NO_CHECKSUM):]
    if _checksum(cleared) != metadata[_HEADER_CHECKSUM]:
        raise _Damage("its header does not match its checksum")
    return header, metadata


def _are_numbers(values: Any) -> bool:
    return isinstance(values, list) and all(type(value) is int and value >= 0 for value in values)


def _parse_tensor(name: str, description: Any, data: memoryview, metadata: Dict[str, Any]) -> Tensor:
    known = description if isinstance(description, dict) else {}
    dtype, shape, offsets = _TYPES.get(str(known.get("dtype"))), known.get("shape"), known.get("data_offsets")
    if dtype is None or not _are_numbers(shape) or not _are_numbers(offsets) or len(offsets) != 2:
        raise _Damage(f"tensor {name!r}: its dtype, shape or data_offsets are missing or malformed")
    begin, end = offsets
    if not begin <= end <= data.nbytes:
        raise _Damage(f"tensor {name!r}: its data_offsets are outside the {data.nbytes} bytes of data")
    count = 1
    for each in shape:
        count *= each
    if count * _width(dtype) != end - begin:
        raise _Damage(f"tensor {name!r}: its shape {shape} does not fit its {end - begin} bytes")
    part = data[begin:end]
    if metadata.get(_TENSOR_CHECKSUM + name) != _checksum(part):
        raise _Damage(f"tensor {name!r}: its data does not match its checksum")
    return Tensor(_shaped(part, dtype, shape), dtype)


def _shaped(part: memoryview, dtype: str, shape: List[int]) -> memoryview:
    if part.nbytes == 0:  # a buffer without elements cannot be cast
        return memoryview(b"")
    flat = part.toreadonly().cast(_FORMATS[dtype])  # type: ignore[call-overload]
    return flat if len(shape) == 1 else flat.cast("B").cast(_FORMATS[dtype], shape)  # type: ignore[call-overload]


def _check_coverage(offsets: List[List[int]], size: int) -> None:
    covered = 0
    for begin, end in sorted(offsets):
        if begin != covered:
            raise _Damage(f"its tensors {'overlap' if begin < covered else 'leave a gap'} at byte {min(begin, covered)} of "
                          "the data")
        covered = end
    if covered != size:
        raise _Damage(f"it has {size} bytes of data, and its tensors take {covered}")
