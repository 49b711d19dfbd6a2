"""Read pickles of PyTorch without running code.

Python's unpickler imports and calls whatever a file names. This one supports only the opcodes that
files of weights need, and calls nothing: tensors become `StoredTensor`, which says where their data
is, dicts stay dicts, and every other object becomes an `OpaqueObject`. `load_plain_pickle` accepts
nothing but containers, texts and numbers.
"""

from __future__ import annotations

import pickletools
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tracklight.errors import FormatError

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
