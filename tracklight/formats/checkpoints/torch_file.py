"""Files of ``torch.save``: a zip archive of one pickle and the data of all storages.

Tensors are found in a state_dict, a training checkpoint that contains one, a single tensor or a
pickled model. No code in the file is run. Python's unpickler imports and calls whatever a file
names; `load_pickle` supports only the opcodes that files of weights need, and calls nothing:
tensors become `StoredTensor`, which says where their data is, dicts stay dicts, and every other
object becomes an `OpaqueObject`. `load_plain_pickle` accepts nothing but containers, texts and
numbers.
"""

from __future__ import annotations

import math
import pickletools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tracklight.errors import FormatError, UsageError
from tracklight.formats.checkpoints.tensor_file import (
    ZIP_ERRORS,
    TensorInfo,
    check_array_size,
    open_archive,
)
from tracklight.formats.tensor import DType, get_dtype_name, get_storage_dtype, widen

# ---- pickles

MAX_PICKLE_BYTES = 64 << 20
_MARK = object()


class GlobalName(NamedTuple):
    """A class or function that the pickle refers to. It is never imported."""

    module: str
    name: str


@dataclass(eq=False)
class OpaqueObject:
    """An object whose class is not interpreted."""

    cls: Any
    state: Any = None
    items: dict[Any, Any] = field(default_factory=dict)


class Storage(NamedTuple):
    """The memory that tensors share: a member of the archive."""

    key: str
    storage_class: GlobalName


class StoredTensor(NamedTuple):
    """A strided view of a storage; ``dtype`` is set only if the storage class has no type."""

    storage: Storage
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: str = ""


def load_pickle(data: bytes) -> Any:
    """Return the object in a pickle.

    Raises:
        FormatError: The pickle is damaged, too large, or uses opcodes that are not supported.
    """
    return _load(data, _OPERATIONS, MAX_PICKLE_BYTES)


def load_plain_pickle(data: bytes, max_bytes: int = MAX_PICKLE_BYTES) -> Any:
    """Return the object in a pickle of containers, texts and numbers. Sets become lists.

    Values that the pickle shares are shared in the result, which may contain itself.

    Raises:
        FormatError: The pickle is damaged, too large, or contains any other object.
    """
    return _load(data, _PLAIN_OPERATIONS, max_bytes)


def _load(data: bytes, operations: Operations, max_bytes: int) -> Any:
    if len(data) > max_bytes:
        raise FormatError(
            "files.pickle_too_large",
            "the pickle has {size} bytes, more than {limit}",
            size=len(data),
            limit=max_bytes,
        )
    try:
        return _PickleMachine(operations).run(data)
    except FormatError:
        raise
    except (ValueError, TypeError, IndexError, KeyError, AttributeError, RecursionError) as error:
        raise FormatError(
            "files.pickle_invalid", "the pickle is invalid: {error!r:.200}", error=error
        ) from None


class _PickleMachine:
    """The stack machine that executes the opcodes of a pickle."""

    def __init__(self, operations: Operations) -> None:
        self._operations = operations
        self._stack: list[Any] = []
        self._memo: dict[int, Any] = {}

    def run(self, data: bytes) -> Any:
        for opcode, argument, _ in pickletools.genops(data):
            if opcode.name == "STOP":
                return self._stack.pop()
            if opcode.name in _PUSHES:
                self._stack.append(argument)
                continue
            operation = self._operations.get(opcode.name)
            if operation is None:
                raise FormatError(
                    "files.pickle_unsupported",
                    "the pickle uses {name}, which is not supported",
                    name=opcode.name,
                )
            operation(self, argument)
        raise FormatError("files.pickle_truncated", "the pickle is truncated")

    def push(self, value: Any) -> None:
        self._stack.append(value)

    def pop(self) -> Any:
        return self._stack.pop()

    def pop_to_mark(self) -> list[Any]:
        mark = len(self._stack) - 1
        while self._stack[mark] is not _MARK:
            mark -= 1
            if mark < 0:
                raise FormatError(
                    "files.pickle_no_mark", "the pickle is invalid: a mark is missing"
                )
        items = self._stack[mark + 1 :]
        del self._stack[mark:]
        return items

    def make_tuple(self, count: int) -> None:
        items = [self.pop() for _ in range(count)]
        self.push(tuple(reversed(items)))

    def memoize(self, index: int | None) -> None:
        self._memo[len(self._memo) if index is None else index] = self._stack[-1]

    def recall(self, index: int) -> None:
        self.push(self._memo[index])

    def import_from_stack(self) -> None:
        name, module = self.pop(), self.pop()
        self.push(GlobalName(str(module), str(name)))

    def reduce(self) -> None:
        arguments = self.pop()
        self.push(_call(self.pop(), arguments))

    def build(self) -> None:
        state = self.pop()
        if isinstance(self._stack[-1], OpaqueObject):
            self._stack[-1].state = state

    def push_storage(self) -> None:
        kind, storage_class, key, *_ = self.pop()
        if kind != "storage":
            raise FormatError(
                "files.pickle_no_storage",
                "the pickle refers to a {kind!r:.40} instead of a storage",
                kind=kind,
            )
        self.push(Storage(str(key), storage_class))

    def set_items(self, items: list[Any]) -> None:
        target = self._stack[-1]
        target = target.items if isinstance(target, OpaqueObject) else target
        if not isinstance(target, dict):
            raise FormatError(
                "files.pickle_not_a_dict", "the pickle sets items of an object that is not a dict"
            )
        _set_items(target, zip(items[::2], items[1::2], strict=True))

    def extend(self, items: list[Any]) -> None:
        if isinstance(self._stack[-1], list):
            self._stack[-1].extend(items)


def _call(function: Any, arguments: Any) -> Any:
    """Return the result of a call if it is one that files of weights need."""
    if not isinstance(function, GlobalName) or not isinstance(arguments, tuple):
        return OpaqueObject(function)
    if function == ("collections", "OrderedDict"):
        return _set_items({}, arguments[0]) if arguments else {}
    if function.module != "torch._utils":
        return OpaqueObject(function)
    if function.name in ("_rebuild_tensor", "_rebuild_tensor_v2"):
        return _make_tensor(*arguments[:4])
    if function.name == "_rebuild_tensor_v3":
        return _make_tensor(*arguments[:4])._replace(dtype=arguments[6].name)
    if function.name in ("_rebuild_parameter", "_rebuild_parameter_with_state"):
        return arguments[0]
    return OpaqueObject(function)


def _set_items(target: dict[Any, Any], pairs: Iterable[tuple[Any, Any]]) -> dict[Any, Any]:
    for key, value in pairs:
        # Hashing deeply nested tuples can crash the process.
        if not isinstance(key, (str, bytes, int, float, type(None))):
            raise FormatError(
                "files.pickle_dict_key",
                "the pickle contains a dict with a key of type {name}",
                name=type(key).__name__,
            )
        target[key] = value
    return target


def _make_tensor(storage: Any, offset: Any, shape: Any, strides: Any) -> StoredTensor:
    numbers = (offset, *shape, *strides)
    if not isinstance(storage, Storage) or not all(type(number) is int for number in numbers):
        raise FormatError("files.pickle_tensor", "the pickle contains an invalid tensor")
    return StoredTensor(storage, offset, tuple(shape), tuple(strides))


_PUSHES = {
    *("BININT", "BININT1", "BININT2", "LONG1", "BINFLOAT"),
    *("BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8"),
    *("BINBYTES", "SHORT_BINBYTES", "BINBYTES8", "BINSTRING", "SHORT_BINSTRING"),
}

Operations = dict[str, Callable[[_PickleMachine, Any], object]]

_OPERATIONS: Operations = {
    "PROTO": lambda machine, _: None,
    "FRAME": lambda machine, _: None,
    "NONE": lambda machine, _: machine.push(None),
    "NEWTRUE": lambda machine, _: machine.push(True),
    "NEWFALSE": lambda machine, _: machine.push(False),
    "EMPTY_DICT": lambda machine, _: machine.push({}),
    "EMPTY_LIST": lambda machine, _: machine.push([]),
    "EMPTY_SET": lambda machine, _: machine.push([]),
    "EMPTY_TUPLE": lambda machine, _: machine.push(()),
    "MARK": lambda machine, _: machine.push(_MARK),
    "POP": lambda machine, _: machine.pop(),
    "POP_MARK": lambda machine, _: machine.pop_to_mark(),
    "TUPLE": lambda machine, _: machine.push(tuple(machine.pop_to_mark())),
    "TUPLE1": lambda machine, _: machine.make_tuple(1),
    "TUPLE2": lambda machine, _: machine.make_tuple(2),
    "TUPLE3": lambda machine, _: machine.make_tuple(3),
    "BINPUT": lambda machine, index: machine.memoize(index),
    "LONG_BINPUT": lambda machine, index: machine.memoize(index),
    "MEMOIZE": lambda machine, _: machine.memoize(None),
    "BINGET": lambda machine, index: machine.recall(index),
    "LONG_BINGET": lambda machine, index: machine.recall(index),
    "GLOBAL": lambda machine, names: machine.push(GlobalName(*names.split(" ", 1))),
    "STACK_GLOBAL": lambda machine, _: machine.import_from_stack(),
    "BINPERSID": lambda machine, _: machine.push_storage(),
    "REDUCE": lambda machine, _: machine.reduce(),
    "NEWOBJ": lambda machine, _: machine.reduce(),
    "BUILD": lambda machine, _: machine.build(),
    "SETITEM": lambda machine, _: machine.set_items([machine.pop(), machine.pop()][::-1]),
    "SETITEMS": lambda machine, _: machine.set_items(machine.pop_to_mark()),
    "APPEND": lambda machine, _: machine.extend([machine.pop()]),
    "APPENDS": lambda machine, _: machine.extend(machine.pop_to_mark()),
    "ADDITEMS": lambda machine, _: machine.extend(machine.pop_to_mark()),
}

#: Operations that refer to a class or function, or make objects of one.
_OBJECT_OPERATIONS = {"GLOBAL", "STACK_GLOBAL", "BINPERSID", "REDUCE", "NEWOBJ", "BUILD"}
_PLAIN_OPERATIONS: Operations = {
    name: operation for name, operation in _OPERATIONS.items() if name not in _OBJECT_OPERATIONS
}


# ---- archives

_PICKLE = "data.pkl"
#: By the name of the storage class or of the dtype.
_DTYPES = {
    **{"Double": DType.DOUBLE, "Float": DType.FLOAT, "Half": DType.HALF, "Bool": DType.BOOL},
    **{"Long": DType.INT64, "Int": DType.INT32, "Short": DType.INT16, "Char": DType.INT8},
    **{"Byte": DType.UINT8, "BFloat16": DType.BFLOAT16, "ComplexFloat": DType.COMPLEX64},
    "ComplexDouble": DType.COMPLEX128,
    **{f"uint{bits}": DType[f"UINT{bits}"] for bits in (16, 32, 64)},
    **{
        dtype.name.lower(): dtype
        for dtype in DType
        if dtype.name.startswith("FLOAT8") and "B11" not in dtype.name
    },
}
#: Keys of a checkpoint that contain a state_dict; they are left out of names.
_WRAPPERS = {"state_dict", "model_state_dict", "model", "module", "net", "network", "weights", ""}
_MAX_NESTED_VALUES = 64
#: Attributes of a pickled module; they are left out of keys.
_MODULE_ATTRIBUTES = {"_parameters", "_buffers", "_modules"}


class TorchFile:
    """A file of ``torch.save``; ``name`` is the key if it contains only a tensor."""

    def __init__(self, file: BinaryIO, name: str) -> None:
        self._archive = open_archive(file)
        self._folder = self._get_folder()
        order = self._read_member("byteorder") if self._has("byteorder") else b"little"
        self._is_big_endian = order.strip() == b"big"
        root = load_pickle(self._read_member(_PICKLE))
        self._tensors = {".".join(path) or name: tensor for path, tensor in _iter_tensors(root)}

    def list_tensors(self) -> Sequence[TensorInfo]:
        names = _shorten(list(self._tensors))
        return [
            TensorInfo(
                key,
                names[key],
                get_stored_dtype_name(tensor),
                tensor.shape,
                _is_optimizer_state(key),
            )
            for key, tensor in self._tensors.items()
        ]

    def read(self, key: str) -> NDArray[Any]:
        tensor = self._tensors.get(key)
        if tensor is None:
            raise UsageError("files.no_tensor", 'no tensor "{key}" in the file', key=key)
        dtype = _find_dtype(tensor)
        if dtype is None:
            raise FormatError(
                "files.tensor_dtype",
                'the tensor "{key}" has the unsupported type {dtype}',
                key=key,
                dtype=get_stored_dtype_name(tensor),
            )
        try:
            return widen(dtype, self._read_strided(tensor, get_storage_dtype(dtype)))
        except ZIP_ERRORS as error:
            raise FormatError(
                "files.tensor_damaged",
                'the tensor "{key}" is damaged: {error}',
                key=key,
                error=error,
            ) from None

    def _get_folder(self) -> str:
        for member in self._archive.namelist():
            if member == _PICKLE or member.endswith(f"/{_PICKLE}"):
                return member.removesuffix(_PICKLE)
        raise FormatError("files.archive_not_torch", "the archive was not written by torch.save")

    def _has(self, member: str) -> bool:
        return self._folder + member in self._archive.NameToInfo

    def _read_member(self, member: str) -> bytes:
        try:
            info = self._archive.getinfo(self._folder + member)
            check_array_size([info.file_size], 1)
            return self._archive.read(info)
        except (KeyError, *ZIP_ERRORS) as error:
            raise FormatError(
                "files.member_unreadable",
                "{member} in the archive cannot be read: {error}",
                member=member,
                error=error,
            ) from None

    def _read_strided(self, tensor: StoredTensor, stored: np.dtype[Any]) -> NDArray[Any]:
        check_array_size(tensor.shape, stored.itemsize)
        length = _get_extent(tensor)
        stored = stored.newbyteorder(">") if self._is_big_endian else stored
        start, size = tensor.offset * stored.itemsize, length * stored.itemsize
        member = f"{self._folder}data/{tensor.storage.key}"
        if not self._has(f"data/{tensor.storage.key}"):
            raise FormatError("files.data_missing", "its data is not in the archive")
        check_array_size([size], 1)
        with self._archive.open(member) as file:
            file.seek(start)
            data = file.read(size)
        if len(data) < size:
            raise FormatError(
                "files.data_truncated",
                "its data is truncated: {missing} bytes are missing",
                missing=size - len(data),
            )
        strides = [stride * stored.itemsize for stride in tensor.strides]
        view = np.lib.stride_tricks.as_strided(
            np.frombuffer(data, stored), tensor.shape, strides, writeable=False
        )
        return np.ascontiguousarray(view, stored.newbyteorder("<")).reshape(tensor.shape)


def _get_extent(tensor: StoredTensor) -> int:
    """Return the number of storage elements from the first to the last of a tensor."""
    if len(tensor.shape) != len(tensor.strides) or min((*tensor.strides, tensor.offset)) < 0:
        raise FormatError("files.invalid_strides", "its strides are invalid")
    if not math.prod(tensor.shape):
        return 0
    pairs = zip(tensor.shape, tensor.strides, strict=True)
    return 1 + sum((size - 1) * stride for size, stride in pairs)


def _iter_tensors(root: Any) -> Iterator[tuple[tuple[str, ...], StoredTensor]]:
    """Yield the path and the tensor of each tensor, in the order of the file."""
    pending: list[tuple[tuple[str, ...], Any]] = [((), root)]
    seen: set[int] = set()
    while pending:
        path, value = pending.pop()
        if isinstance(value, StoredTensor):
            yield path, value
        elif id(value) not in seen and len(path) < _MAX_NESTED_VALUES:
            # An object can contain itself, or another one a billion times.
            seen.add(id(value))
            children = [((*path, *step), item) for step, item in _list_children(value)]
            pending.extend(reversed(children))


def _list_children(value: Any) -> list[tuple[tuple[str, ...], Any]]:
    if isinstance(value, OpaqueObject):
        return [((), value.state), ((), value.items)]
    if isinstance(value, dict):
        return [
            (() if key in _MODULE_ATTRIBUTES else (f"{key}",), item) for key, item in value.items()
        ]
    if isinstance(value, (list, tuple)) and not isinstance(value, GlobalName):
        return [((str(index),), item) for index, item in enumerate(value)]
    return []


def _shorten(keys: list[str]) -> dict[str, str]:
    """Return names without the key of the state_dict, unless that makes them ambiguous."""
    short = {}
    for key in keys:
        first, _, rest = key.partition(".")
        short[key] = rest if first in _WRAPPERS and rest and not _is_optimizer_state(key) else key
    counts = Counter(short.values())
    return {key: name if counts[name] == 1 else key for key, name in short.items()}


def _is_optimizer_state(key: str) -> bool:
    return any(part.lower().startswith("optim") for part in key.split(".")[:2])


def _find_dtype(tensor: StoredTensor) -> DType | None:
    storage_class = getattr(tensor.storage.storage_class, "name", "")
    return _DTYPES.get(tensor.dtype or storage_class.removesuffix("Storage"))


def get_stored_dtype_name(tensor: StoredTensor) -> str:
    """Return the name of a type such as ``float32``, or of the storage if it is unknown."""
    dtype = _find_dtype(tensor)
    if dtype is None:
        return tensor.dtype or getattr(tensor.storage.storage_class, "name", "unknown")
    return get_dtype_name(dtype)
