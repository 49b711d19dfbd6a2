"""What a pickle of PyTorch says, without doing what it says.

Python's own unpickler imports and calls whatever a file names. This one knows few operations, and
calls nothing: a tensor becomes a note of where its numbers are, a dict a dict, and everything else
an `Unknown` that only keeps what was put into it.
"""

from __future__ import annotations

import pickletools
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tracklight.errors import FormatError

_MAX_BYTES = 64 << 20
_MARK = object()


class GlobalName(NamedTuple):
    """Something that a pickle would import."""

    module: str
    name: str


@dataclass(eq=False)
class OpaqueObject:
    """An object of a class that is not looked at."""

    kind: Any
    state: Any = None
    items: dict[Any, Any] = field(default_factory=dict)


class Storage(NamedTuple):
    """The memory of tensors: a member of the archive."""

    key: str
    kind: GlobalName


class StoredTensor(NamedTuple):
    """A look at a storage; ``dtype`` only where the storage does not tell."""

    storage: Storage
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: str = ""


def load_pickle(data: bytes) -> Any:
    """The objects of a pickle; raises FormatError for one that is damaged or odd."""
    if len(data) > _MAX_BYTES:
        raise FormatError(f"a pickle of {len(data)} bytes, more than {_MAX_BYTES}")
    try:
        return _PickleMachine().run(data)
    except FormatError:
        raise
    except (ValueError, TypeError, IndexError, KeyError, AttributeError, RecursionError) as error:
        raise FormatError(f"a pickle that makes no sense: {error!r:.200}") from None


class _PickleMachine:
    def __init__(self) -> None:
        self._stack: list[Any] = []
        self._memo: dict[int, Any] = {}

    def run(self, data: bytes) -> Any:
        for opcode, argument, _ in pickletools.genops(data):
            if opcode.name == "STOP":
                return self._stack.pop()
            if opcode.name in _PUSHES:
                self._stack.append(argument)
                continue
            operation = _OPERATIONS.get(opcode.name)
            if operation is None:
                raise FormatError(f"a pickle with {opcode.name}, which no file of weights needs")
            operation(self, argument)
        raise FormatError("a pickle without an end")

    def push(self, value: Any) -> None:
        self._stack.append(value)

    def pop(self) -> Any:
        return self._stack.pop()

    def pop_to_mark(self) -> list[Any]:
        at = len(self._stack) - 1
        while self._stack[at] is not _MARK:
            at -= 1
            if at < 0:
                raise FormatError("a pickle that closes what it did not open")
        items = self._stack[at + 1 :]
        del self._stack[at:]
        return items

    def take(self, count: int) -> None:
        items = [self.pop() for _ in range(count)]
        self.push(tuple(reversed(items)))

    def keep(self, place: int | None) -> None:
        self._memo[len(self._memo) if place is None else place] = self._stack[-1]

    def recall(self, place: int) -> None:
        self.push(self._memo[place])

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

    def find_storage(self) -> None:
        kind, storage, key, *_ = self.pop()
        if kind != "storage":
            raise FormatError(f"a pickle that refers to a {kind!r:.40}")
        self.push(Storage(str(key), storage))

    def set_items(self, items: list[Any]) -> None:
        target = self._stack[-1]
        target = target.items if isinstance(target, OpaqueObject) else target
        if not isinstance(target, dict):
            raise FormatError("a pickle that puts items into what is no dict")
        _fill(target, zip(items[::2], items[1::2], strict=True))

    def extend(self, items: list[Any]) -> None:
        if isinstance(self._stack[-1], list):
            self._stack[-1].extend(items)


def _call(function: Any, arguments: Any) -> Any:
    """What a call would give, for the few that make up a file of weights."""
    if not isinstance(function, GlobalName) or not isinstance(arguments, tuple):
        return OpaqueObject(function)
    if function == ("collections", "OrderedDict"):
        return _fill({}, arguments[0]) if arguments else {}
    if function.module != "torch._utils":
        return OpaqueObject(function)
    if function.name in ("_rebuild_tensor", "_rebuild_tensor_v2"):
        return _make_tensor(*arguments[:4])
    if function.name == "_rebuild_tensor_v3":
        return _make_tensor(*arguments[:4])._replace(dtype=arguments[6].name)
    if function.name in ("_rebuild_parameter", "_rebuild_parameter_with_state"):
        return arguments[0]
    return OpaqueObject(function)


def _fill(target: dict[Any, Any], pairs: Iterable[tuple[Any, Any]]) -> dict[Any, Any]:
    for key, value in pairs:
        # To hash a tuple that holds a tuple that holds … could end the process.
        if not isinstance(key, (str, bytes, int, float, type(None))):
            raise FormatError(f"a pickle with a key that is a {type(key).__name__}")
        target[key] = value
    return target


def _make_tensor(storage: Any, offset: Any, shape: Any, strides: Any) -> StoredTensor:
    numbers = (offset, *shape, *strides)
    if not isinstance(storage, Storage) or not all(type(number) is int for number in numbers):
        raise FormatError("a pickle with a tensor that makes no sense")
    return StoredTensor(storage, offset, tuple(shape), tuple(strides))


_PUSHES = {
    *("BININT", "BININT1", "BININT2", "LONG1", "BINFLOAT"),
    *("BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8"),
    *("BINBYTES", "SHORT_BINBYTES", "BINBYTES8", "BINSTRING", "SHORT_BINSTRING"),
}

_OPERATIONS: dict[str, Callable[[_PickleMachine, Any], object]] = {
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
    "TUPLE1": lambda machine, _: machine.take(1),
    "TUPLE2": lambda machine, _: machine.take(2),
    "TUPLE3": lambda machine, _: machine.take(3),
    "BINPUT": lambda machine, place: machine.keep(place),
    "LONG_BINPUT": lambda machine, place: machine.keep(place),
    "MEMOIZE": lambda machine, _: machine.keep(None),
    "BINGET": lambda machine, place: machine.recall(place),
    "LONG_BINGET": lambda machine, place: machine.recall(place),
    "GLOBAL": lambda machine, names: machine.push(GlobalName(*names.split(" ", 1))),
    "STACK_GLOBAL": lambda machine, _: machine.import_from_stack(),
    "BINPERSID": lambda machine, _: machine.find_storage(),
    "REDUCE": lambda machine, _: machine.reduce(),
    "NEWOBJ": lambda machine, _: machine.reduce(),
    "BUILD": lambda machine, _: machine.build(),
    "SETITEM": lambda machine, _: machine.set_items([machine.pop(), machine.pop()][::-1]),
    "SETITEMS": lambda machine, _: machine.set_items(machine.pop_to_mark()),
    "APPEND": lambda machine, _: machine.extend([machine.pop()]),
    "APPENDS": lambda machine, _: machine.extend(machine.pop_to_mark()),
    "ADDITEMS": lambda machine, _: machine.extend(machine.pop_to_mark()),
}
