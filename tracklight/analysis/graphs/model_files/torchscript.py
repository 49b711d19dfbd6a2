"""Parse TorchScript archives (``torch.jit.save``), without PyTorch and without running code.

The archive has the source of each class in a subset of Python (``code/``) and the values of its
attributes as a pickle (``data.pkl``). The source is parsed, never compiled: starting at the
``forward`` of the root module, each call of an operator becomes a node, and calls of methods and
functions are inlined, so that the scopes of nodes are the modules of the model.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from numpy.typing import NDArray

from tracklight.analysis.graphs import (
    INPUT,
    OUTPUT,
    Graph,
    TensorSpec,
    find_torch_operator,
)
from tracklight.analysis.graphs.model_files import (
    INITIALIZER,
    ModelArchive,
    TensorGraphBuilder,
)
from tracklight.errors import FormatError, Message
from tracklight.formats.checkpoints import open_tensor_bytes
from tracklight.formats.checkpoints.torch_file import (
    GlobalName,
    OpaqueObject,
    StoredTensor,
    get_stored_dtype_name,
    load_pickle,
)

_MAX_NESTED_CALLS = 100
_MAX_NODES = 500_000
_MAX_TEXT_CHARS = 200
#: Attributes of classes in the source that list which tensors are trained, and which are not.
_PARAMETERS = "__parameters__"
#: Operators whose result is a list; the code of a model unpacks it in the same statement.
_LIST_OPERATORS = frozenset(
    f"aten::{name}"
    for name in (
        "broadcast_tensors",
        "chunk",
        "dsplit",
        "hsplit",
        "meshgrid",
        "size",
        "split",
        "split_with_sizes",
        "tensor_split",
        "unbind",
        "unsafe_chunk",
        "unsafe_split",
        "unsafe_split_with_sizes",
        "vsplit",
    )
)
#: Modules that are never called; a part of one is called by the module around it. As a scope, they
#: would be before and after what is between their parts.
_CONTAINERS = frozenset({"ModuleDict", "ModuleList"})
_CONTAINER_MODULE = ".nn.modules.container"
#: Operators that turn a tensor into a number, by their names in the source.
_CONVERSIONS = {"bool": "Bool", "float": "Float", "int": "Int"}
#: Operators that change the list that is their first argument. Those that change a tensor end with
#: an underscore.
_LIST_CHANGES = frozenset(f"aten::{name}" for name in ("append", "clear", "extend", "insert"))
#: Functions that only tell the compiler a type; the value is the last argument.
_CASTS = {"annotate", "unchecked_cast", "uninitialized"}
#: The end of the name of the function that creates an object of a class.
_NEW = ".__new__"
_BINARY = {
    **{"Add": "add", "Sub": "sub", "Mult": "mul", "Div": "div", "FloorDiv": "floordiv"},
    **{"Mod": "remainder", "Pow": "pow", "MatMult": "matmul", "BitAnd": "__and__"},
    **{"BitOr": "__or__", "BitXor": "__xor__", "LShift": "__lshift__", "RShift": "__rshift__"},
}
_COMPARISONS = {
    **{"Eq": "eq", "NotEq": "ne", "Lt": "lt", "LtE": "le", "Gt": "gt", "GtE": "ge"},
    **{"Is": "__is__", "IsNot": "__isnot__", "In": "__contains__", "NotIn": "__contains__"},
}


def is_torchscript(archive: ModelArchive) -> bool:
    """Return whether an archive has the source of classes beside a pickle."""
    has_code = any("code/__torch__" in name and name.endswith(".py") for name in archive.names)
    return has_code and archive.find("data.pkl") is not None


def parse_torchscript(archive: ModelArchive) -> Graph:
    """Parse the ``forward`` of the root module.

    Raises:
        FormatError: The archive is damaged, or the module has no ``forward``.
    """
    try:
        return _Interpreter(archive).build()
    except FormatError:
        raise
    except (SyntaxError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise FormatError(
            "graphs.damaged_torchscript",
            "the TorchScript file is damaged: {error}",
            error=f"{type(error).__name__} {error}",
        ) from None


# ---- values while the source is interpreted


@dataclass(frozen=True)
class _Value:
    """The result of a node: a tensor, or anything else that is only known at run time."""

    name: str


@dataclass(frozen=True, eq=False)
class _Module:
    """A module, or another object with attributes."""

    path: tuple[str, ...]
    cls: str
    attributes: dict[str, Any]
    scope: str
    scope_path: tuple[str, ...]
    """The path of the module that the scope is named after."""


@dataclass(frozen=True)
class _Literal:
    """A value that is known from the source, such as a number; ``text`` is how it is written."""

    text: str


#: What an expression can be. Lists and tuples are Python lists of values.
_Any = _Value | _Module | _Literal | list[Any]


@dataclass
class _Class:
    methods: dict[str, ast.FunctionDef] = field(default_factory=dict)
    parameters: set[str] = field(default_factory=set)


class _Interpreter:
    """Follows the source from the root module on, and adds a node for each operator."""

    def __init__(self, archive: ModelArchive) -> None:
        self._archive = archive
        self._specs: dict[str, TensorSpec] = {}
        self._builder = TensorGraphBuilder(self._specs)
        self._classes: dict[str, _Class] = {}
        self._functions: dict[str, ast.FunctionDef] = {}
        self._weights: dict[tuple[str, ...], _Value] = {}
        #: The items of tuples and lists, by the name of the tuple or list.
        self.items: dict[str, list[_Any]] = {}
        #: The names of lists whose items are not known.
        self.lists: set[str] = set()
        self._count = 0
        self._skipped: set[str] = set()
        pickle = archive.find("data.pkl") or ""
        self._root = load_pickle(archive.read(pickle))
        constants = archive.find("constants.pkl")
        loaded = load_pickle(archive.read(constants)) if constants else ()
        self._constants = loaded if isinstance(loaded, (tuple, list)) else ()
        self._read_code()

    def build(self) -> Graph:
        root = self._make_module((), self._root)
        # A method with several signatures, such as that of nn.LSTM, has numbered variants.
        forward = self.find_method(root, "forward") or self.find_method(root, "forward__0")
        if forward is None:
            raise FormatError(
                "graphs.torchscript_no_forward",
                "the module has no method forward, so it has no graph",
            )
        arguments: list[_Any] = []
        for argument in forward.args.args[1:]:
            self._builder.add(argument.arg, INPUT, outputs=[argument.arg])
            arguments.append(_Value(argument.arg))
        result = self.call_function(forward, [root, *arguments], {}, root.scope, 0)
        for index, value in enumerate(_iter_values(result)):
            self._builder.add(f"output_{index}" if index else "output", OUTPUT, [value.name])
        problems = [
            Message.format(
                "graphs.torchscript_skipped",
                "statements that are not shown: {names}",
                names=", ".join(sorted(self._skipped)),
            )
        ]
        return self._builder.build(problems=problems if self._skipped else ())

    # ---- Source

    def _read_code(self) -> None:
        for name in self._archive.names:
            _, found, path = name.partition("code/")
            if not found or not path.endswith(".py"):
                continue
            module = path.removesuffix(".py").replace("/", ".")
            tree = ast.parse(self._archive.read(name).decode("utf-8", "replace"))
            for statement in tree.body:
                if isinstance(statement, ast.ClassDef):
                    self._classes[f"{module}.{statement.name}"] = _read_class(statement)
                elif isinstance(statement, ast.FunctionDef):
                    self._functions[f"{module}.{statement.name}"] = statement

    def _make_module(
        self, path: tuple[str, ...], value: OpaqueObject, outer: _Module | None = None
    ) -> _Module:
        cls = value.cls if isinstance(value.cls, GlobalName) else GlobalName("", "")
        attributes = value.state if isinstance(value.state, dict) else {}
        name = f"{cls.module}.{cls.name}"
        if name not in self._classes:
            name = ""
        if outer is None:
            return _Module(path, name, attributes, cls.name, path)
        if cls.name in _CONTAINERS and _CONTAINER_MODULE in cls.module:
            return _Module(path, name, attributes, outer.scope, outer.scope_path)
        part = f"{cls.name}[{'.'.join(path[len(outer.scope_path) :])}]"
        return _Module(path, name, attributes, f"{outer.scope}/{part}", path)

    # ---- Functions and statements

    def call_function(
        self,
        function: ast.FunctionDef,
        arguments: list[_Any],
        keywords: dict[str, _Any],
        scope: str,
        depth: int,
    ) -> _Any:
        if depth > _MAX_NESTED_CALLS:
            raise FormatError(
                "graphs.too_deep",
                "graphs are nested more than {max_depth} levels deep",
                max_depth=_MAX_NESTED_CALLS,
            )
        names = [argument.arg for argument in function.args.args]
        scope_of_call = _Scope(self, function, scope, depth)
        defaults = function.args.defaults
        for name, default in zip(names[len(names) - len(defaults) :], defaults, strict=True):
            scope_of_call.variables[name] = scope_of_call.evaluate(default)
        scope_of_call.variables.update(zip(names, arguments, strict=False))
        scope_of_call.variables.update(keywords)
        result = scope_of_call.run(function.body)
        return _Literal("None") if result is None else result

    def add_node(
        self, op: str, inputs: list[_Any], attributes: dict[str, str], scope: str, outputs: int = 1
    ) -> list[_Value]:
        """Add a node for an operator and return its results."""
        self._count += 1
        if self._count > _MAX_NODES:
            raise FormatError(
                "graphs.torchscript_too_large",
                "the model has more than {limit} operations",
                limit=_MAX_NODES,
            )
        names = [f"%{self._count}.{index}" for index in range(outputs)]
        label = op.rpartition("::")[2]
        self._builder.add(
            f"{scope}/{label}" if scope else label,
            op,
            [value.name for value in _iter_values(inputs)],
            names,
            attributes=attributes,
        )
        return [_Value(name) for name in names]

    def get_attribute(self, module: _Module, name: str) -> _Any:
        """Return a submodule, a weight, or a literal."""
        value = module.attributes.get(name)
        if isinstance(value, (_Value, _Module, _Literal)):  # assigned by the code
            return value
        path = (*module.path, name)
        if isinstance(value, OpaqueObject) and isinstance(value.cls, GlobalName):
            if f"{value.cls.module}.{value.cls.name}" in self._classes:
                return self._make_module(path, value, module)
        if isinstance(value, StoredTensor):
            cls = self._classes.get(module.cls) or _Class()
            return self._get_weight(path, value, module.scope, name in cls.parameters)
        return _Literal(repr(value)[:_MAX_TEXT_CHARS])

    def create_object(self, cls: str, scope: str) -> _Module | None:
        """Return a new object of a class in the source; None if there is no such class."""
        if cls not in self._classes:
            return None
        return _Module((), cls, {}, scope, ())

    def get_constant(self, name: str) -> _Any:
        """Return a tensor of ``CONSTANTS``, such as ``c0``."""
        index = int(name.lstrip("c"))
        value = self._constants[index] if index < len(self._constants) else None
        if isinstance(value, StoredTensor):
            return self._get_weight(("CONSTANTS", name), value, "", False)
        return _Literal(name)

    def _get_weight(
        self, path: tuple[str, ...], tensor: StoredTensor, scope: str, is_trained: bool
    ) -> _Value:
        """Return the value of a tensor; its node is added when it is first read."""
        if path not in self._weights:
            name = "%" + ".".join(path)
            self._specs[name] = spec = TensorSpec(get_stored_dtype_name(tensor), tensor.shape)
            is_constant = path[0] == "CONSTANTS"
            self._builder.add(
                f"{scope}/{path[-1]}" if scope else path[-1],
                INITIALIZER,
                outputs=[name],
                parameters=(spec.count_elements() or 0) if is_trained else 0,
                attributes={} if is_trained else {"kind": "constant" if is_constant else "buffer"},
                weights=None if is_constant else lambda: self._read_weight(path),
            )
            self._weights[path] = _Value(name)
        return self._weights[path]

    def _read_weight(self, path: tuple[str, ...]) -> dict[str, NDArray[Any]]:
        # Opened again, as several threads may read.
        tensors = open_tensor_bytes(self._archive.data, "model.pt")
        return {path[-1]: tensors.read(".".join(path))}

    def find_method(self, module: _Module, name: str) -> ast.FunctionDef | None:
        cls = self._classes.get(module.cls)
        return cls.methods.get(name) if cls else None

    def find_function(self, name: str) -> ast.FunctionDef | None:
        return self._functions.get(name)

    def skip(self, statement: str) -> None:
        self._skipped.add(statement)


class _Scope:
    """The variables of a function that is being interpreted."""

    def __init__(
        self, interpreter: _Interpreter, function: ast.FunctionDef, scope: str, depth: int
    ) -> None:
        self.variables: dict[str, _Any] = {}
        #: Functions in the function, which read its variables.
        self._closures: dict[str, ast.FunctionDef] = {}
        #: How often each variable is read.
        self._uses = Counter(
            node.id
            for node in ast.walk(function)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
        )
        self._interpreter = interpreter
        self._scope = scope
        self._depth = depth

    def run(self, body: list[ast.stmt]) -> _Any | None:
        """Interpret statements; return the value of the ``return`` that is reached."""
        for statement in body:
            if isinstance(statement, ast.Return):
                return self.evaluate(statement.value) if statement.value else _Literal("None")
            if isinstance(statement, ast.Assign):
                self._assign(statement.targets[0], statement.value)
            elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
                self._assign(statement.target, statement.value)
            elif isinstance(statement, ast.AugAssign):
                operation = ast.BinOp(_as_load(statement.target), statement.op, statement.value)
                self._assign(statement.target, operation)
            elif isinstance(statement, ast.Expr):
                self.evaluate(statement.value)
            elif isinstance(statement, ast.If):
                result = self._branch(statement)
                if result is not None:
                    return result
            elif isinstance(statement, (ast.For, ast.While)):
                self._loop(statement)
            elif isinstance(statement, ast.FunctionDef):
                self._closures[statement.name] = statement
            elif isinstance(statement, ast.With):
                result = self.run(statement.body)
                if result is not None:
                    return result
            elif not isinstance(statement, (ast.Pass, ast.AnnAssign)):
                self._interpreter.skip(type(statement).__name__.lower())
        return None

    def _branch(self, statement: ast.If) -> _Any | None:
        """Interpret both branches; what they assign differently comes from a node ``prim::If``."""
        condition = self.evaluate(statement.test)
        if isinstance(condition, _Literal) and condition.text in ("True", "False"):
            return self.run(statement.body if condition.text == "True" else statement.orelse)
        before = dict(self.variables)
        then_result = self.run(statement.body)
        then_variables, self.variables = self.variables, dict(before)
        else_result = self.run(statement.orelse)
        else_variables = self.variables
        if then_result is not None and else_result is not None:
            self.variables = before
            if then_result == else_result:
                return then_result
            return self._join(condition, [(then_result, else_result)])[0]
        if then_result is not None or else_result is not None:
            # One branch returns: the code after the statement belongs to the other one.
            self.variables = else_variables if then_result is not None else then_variables
            return None
        self.variables = {**before, **then_variables, **else_variables}
        pairs = {
            name: (then_variables[name], else_variables[name])
            for name in then_variables
            if name in else_variables and then_variables[name] != else_variables[name]
        }
        results = self._join(condition, [*pairs.values()])
        self.variables.update(zip(pairs, results, strict=True))
        return None

    def _join(self, condition: _Any, pairs: list[tuple[_Any, _Any]]) -> list[_Any]:
        """Return values that depend on a condition, of a node ``prim::If``.

        A literal that depends on a condition is not known any more: neither of the two branches
        of a later statement may be left out because of it.
        """
        if not pairs:
            return []
        inputs = [condition, *(value for pair in pairs for value in pair)]
        if not any(True for _ in _iter_values(inputs)):
            text = _format(condition)
            return [
                _Literal(f"{_format(one)} if {text} else {_format(other)}"[:_MAX_TEXT_CHARS])
                for one, other in pairs
            ]
        return [*self._interpreter.add_node("prim::If", inputs, {}, self._scope, len(pairs))]

    def _loop(self, statement: ast.For | ast.While) -> None:
        """Interpret the body once; its input is a node ``prim::Loop``."""
        test = statement.iter if isinstance(statement, ast.For) else statement.test
        # In PyTorch's graph, a loop has the limits of a range itself.
        if isinstance(test, ast.Call) and _find_dotted_name(test.func) == "range":
            operands = [self.evaluate(limit) for limit in test.args]
        else:
            operands = [self.evaluate(test)]
        (item,) = self._interpreter.add_node("prim::Loop", operands, {}, self._scope)
        if isinstance(statement, ast.For) and isinstance(statement.target, ast.Name):
            self.variables[statement.target.id] = item
        self.run(statement.body)

    def _assign(self, target: ast.expr, expression: ast.expr) -> None:
        if isinstance(target, (ast.Tuple, ast.List)):
            if isinstance(expression, ast.Tuple):  # several assignments at once, without a tuple
                parts = [self.evaluate(part) for part in expression.elts]
            else:
                value = self.evaluate(expression, len(target.elts))
                parts = value if isinstance(value, list) else self._unpack(value, len(target.elts))
            for element, part in zip(target.elts, parts, strict=False):
                if isinstance(element, ast.Name):
                    self.variables[element.id] = part
        elif isinstance(target, ast.Attribute):
            owner, value = self.evaluate(target.value), self.evaluate(expression)
            if isinstance(owner, _Module):
                owner.attributes[target.attr] = value
        elif isinstance(target, ast.Name):
            value = self.evaluate(expression)
            # PyTorch and Netron draw a list as a node unless it is an argument of one call.
            is_list = isinstance(_skip_casts(expression), ast.List)
            if isinstance(value, list) and is_list and self._uses[target.id] > 1:
                value = self._construct("ListConstruct", value)
            self.variables[target.id] = value
        else:
            self.evaluate(expression)

    def _unpack(self, value: _Any, count: int) -> list[_Any]:
        is_list = isinstance(value, _Value) and value.name in self._interpreter.lists
        kind = "ListUnpack" if is_list else "TupleUnpack"
        results = self._interpreter.add_node(f"prim::{kind}", [value], {}, self._scope, count)
        known = self._interpreter.items.get(value.name) if isinstance(value, _Value) else None
        if known is None or len(known) != count:
            return [*results]
        # Literals stay known: a branch can depend on a flag that a function returns.
        pairs = zip(known, results, strict=True)
        return [item if isinstance(item, _Literal) else result for item, result in pairs]

    def _construct(self, kind: str, values: list[_Any]) -> _Any:
        """Add a node that makes a collection of tensors, as PyTorch and Netron do."""
        if not any(True for _ in _iter_values(values)):
            return values
        (result,) = self._interpreter.add_node(f"prim::{kind}", values, {}, self._scope)
        if kind != "DictConstruct":
            self._interpreter.items[result.name] = values
        return result

    # ---- Expressions

    def evaluate(self, node: ast.expr, outputs: int = 1) -> _Any:
        """Return the value of an expression; ``outputs`` is the number of results of a call."""
        if isinstance(node, ast.Name):
            return self.variables.get(node.id, _Literal(node.id))
        if isinstance(node, ast.Constant):
            return _Literal(repr(node.value)[:_MAX_TEXT_CHARS])
        if isinstance(node, ast.List):
            return [self.evaluate(element) for element in node.elts]
        if isinstance(node, ast.Tuple):
            return self._construct("TupleConstruct", [self.evaluate(elt) for elt in node.elts])
        if isinstance(node, ast.Dict):
            return self._construct("DictConstruct", [self.evaluate(value) for value in node.values])
        if isinstance(node, ast.Attribute):
            return self._get_attribute(node)
        if isinstance(node, ast.Call):
            return self._call(node, outputs)
        if isinstance(node, ast.Subscript):
            return self._get_item(node)
        return self._operate(node)

    def _operate(self, node: ast.expr) -> _Any:
        """Evaluate an operator of the language."""
        if isinstance(node, ast.BinOp):
            operands = [self.evaluate(node.left), self.evaluate(node.right)]
            return self._apply(f"aten::{_BINARY[type(node.op).__name__]}", operands, node)
        if isinstance(node, ast.Compare):
            operands = [self.evaluate(node.left), *map(self.evaluate, node.comparators)]
            return self._apply(f"aten::{_COMPARISONS[type(node.ops[0]).__name__]}", operands, node)
        if isinstance(node, ast.BoolOp):
            name = "aten::__and__" if isinstance(node.op, ast.And) else "aten::__or__"
            return self._apply(name, [self.evaluate(value) for value in node.values], node)
        if isinstance(node, ast.UnaryOp):
            name = "aten::__not__" if isinstance(node.op, ast.Not) else "aten::neg"
            return self._apply(name, [self.evaluate(node.operand)], node)
        if isinstance(node, ast.IfExp):
            parts = [self.evaluate(part) for part in (node.test, node.body, node.orelse)]
            return self._apply("prim::If", parts, node)
        self._interpreter.skip(type(node).__name__.lower())
        return _Literal(ast.unparse(node)[:_MAX_TEXT_CHARS])

    def _apply(self, op: str, operands: list[_Any], node: ast.expr) -> _Any:
        """Add a node, unless all operands are literals."""
        if not any(True for _ in _iter_values(operands)):
            return _Literal(ast.unparse(node)[:_MAX_TEXT_CHARS])
        (result,) = self._interpreter.add_node(
            op, operands, _name_literals(op, operands), self._scope
        )
        return result

    def _get_attribute(self, node: ast.Attribute) -> _Any:
        if isinstance(node.value, ast.Name) and node.value.id == "CONSTANTS":
            return self._interpreter.get_constant(node.attr)
        base = self.evaluate(node.value)
        if isinstance(base, _Module):
            return self._interpreter.get_attribute(base, node.attr)
        if isinstance(base, _Value):
            return self._apply("prim::GetAttr", [base], node)
        return _Literal(f"{base.text}.{node.attr}" if isinstance(base, _Literal) else node.attr)

    def _get_item(self, node: ast.Subscript) -> _Any:
        base, index = self.evaluate(node.value), self.evaluate(node.slice)
        if isinstance(base, list) and isinstance(index, _Literal):
            try:
                item: _Any = base[int(index.text)]
                return item
            except (ValueError, IndexError):
                pass
        return self._apply("aten::__getitem__", [base, index], node)

    def _call(self, node: ast.Call, outputs: int) -> _Any:
        function = node.func
        if isinstance(function, ast.Name):
            if function.id in _CASTS:
                value = self.evaluate(node.args[-1]) if len(node.args) > 1 else _Literal("None")
                if _find_dotted_name(node.args[0]) == "number" and isinstance(value, _Value):
                    # The text of an operator that turns a tensor into a number.
                    return self._add_call("aten::ScalarImplicit", [value], {}, 1)
                return value
            if function.id == "getattr" and isinstance(node.args[1], ast.Constant):
                base = self.evaluate(node.args[0])
                if isinstance(base, _Module):
                    return self._interpreter.get_attribute(base, str(node.args[1].value))
            if function.id == "fork":
                return self._fork(node)
        name = _find_dotted_name(function)
        if name is not None and name.endswith(_NEW):
            created = self._interpreter.create_object(name.removesuffix(_NEW), self._scope)
            if created is not None:
                return created
        arguments = [self.evaluate(argument) for argument in node.args]
        keywords = {
            keyword.arg: self.evaluate(keyword.value) for keyword in node.keywords if keyword.arg
        }
        alias = self.variables.get(name or "")
        if isinstance(alias, _Literal):  # a function that was assigned to a variable
            name = alias.text
        free = self._interpreter.find_function(name) if name else None
        if free is not None:
            return self._interpreter.call_function(
                free, arguments, keywords, self._scope, self._depth + 1
            )
        is_local = name is not None and name.partition(".")[0] in self.variables
        if isinstance(function, ast.Attribute) and (name is None or is_local):
            return self._call_method(function, arguments, keywords, outputs)
        op = _get_operator(name or "")
        result = self._add_call(op, arguments, keywords, outputs)
        is_in_place = op.endswith("_") and not op.endswith("__")
        if arguments and (is_in_place or op in _LIST_CHANGES):
            self._replace(arguments[0], result)
        return result

    def _fork(self, node: ast.Call) -> _Any:
        """Run a function of the source that may run beside the code after it."""
        called = node.args[0] if node.args else None
        closure = self._closures.get(called.id) if isinstance(called, ast.Name) else None
        if closure is None:
            return self._add_call("prim::fork", [*map(self.evaluate, node.args)], {}, 1)
        variables = dict(self.variables)
        result = self.run(closure.body)
        self.variables = variables
        return self._add_call("prim::fork", [result or _Literal("None")], {}, 1)

    def _replace(self, value: _Any, changed: _Any) -> None:
        """Let the variables with a value that was changed in place have the result."""
        is_known = isinstance(value, (_Value, list))
        for name, known in self.variables.items():
            if is_known and (known is value or (isinstance(known, _Value) and known == value)):
                self.variables[name] = changed

    def _call_method(
        self,
        function: ast.Attribute,
        arguments: list[_Any],
        keywords: dict[str, _Any],
        outputs: int,
    ) -> _Any:
        base = self.evaluate(function.value)
        if isinstance(base, _Module):
            method = self._interpreter.find_method(base, function.attr)
            if method is not None:
                return self._interpreter.call_function(
                    method, [base, *arguments], keywords, base.scope, self._depth + 1
                )
        return self._add_call(f"aten::{function.attr}", [base, *arguments], keywords, outputs)

    def _add_call(
        self, op: str, arguments: list[_Any], keywords: dict[str, _Any], outputs: int
    ) -> _Any:
        attributes = _name_literals(op, arguments)
        attributes |= {
            name: value.text for name, value in keywords.items() if isinstance(value, _Literal)
        }
        inputs = [*arguments, *keywords.values()]
        is_list = outputs > 1 and op in _LIST_OPERATORS
        count = 1 if is_list else outputs
        results = self._interpreter.add_node(op, inputs, attributes, self._scope, count)
        if op in _LIST_OPERATORS and outputs == 1:
            self._interpreter.lists.add(results[0].name)
        if is_list:
            return [
                *self._interpreter.add_node(
                    "prim::ListUnpack", [*results], {}, self._scope, outputs
                )
            ]
        return results[0] if outputs == 1 else [*results]


def _read_class(statement: ast.ClassDef) -> _Class:
    found = _Class()
    for member in statement.body:
        if isinstance(member, ast.FunctionDef):
            found.methods[member.name] = member
        elif isinstance(member, ast.Assign) and isinstance(member.targets[0], ast.Name):
            if member.targets[0].id == _PARAMETERS and isinstance(member.value, ast.List):
                found.parameters = {
                    str(item.value) for item in member.value.elts if isinstance(item, ast.Constant)
                }
    return found


def _iter_values(value: Any) -> Iterator[_Value]:
    """Yield the results of nodes in a value."""
    if isinstance(value, _Value):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _iter_values(item)


def _skip_casts(node: ast.expr) -> ast.expr:
    """Return the expression in ``annotate(List[Tensor], …)``."""
    while isinstance(node, ast.Call) and _find_dotted_name(node.func) in _CASTS and node.args:
        node = node.args[-1]
    return node


def _format(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_format, value))}]"[:_MAX_TEXT_CHARS]
    return value.text if isinstance(value, _Literal) else "…"


def _name_literals(op: str, arguments: list[_Any]) -> dict[str, str]:
    """Return the arguments that are known from the source, by their name or position."""
    doc = find_torch_operator(op)
    return {
        (doc and doc.find_argument_name(index)) or f"argument {index}": _format(argument)
        for index, argument in enumerate(arguments)
        if not any(True for _ in _iter_values(argument)) and not isinstance(argument, _Module)
    }


def _find_dotted_name(node: ast.expr) -> str | None:
    """Return a name such as ``torch.nn.functional.relu``; None for other expressions."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else None


def _get_operator(name: str) -> str:
    """Return the operator that a function of the source represents, such as ``aten::relu``."""
    first, _, rest = name.partition(".")
    if first == "torch" and rest:
        return f"aten::{rest}"
    if first == "ops" and rest:
        return rest.replace(".", "::", 1)
    return f"aten::{_CONVERSIONS.get(name, name)}"


def _as_load(target: ast.expr) -> ast.expr:
    return ast.Name(target.id, ast.Load()) if isinstance(target, ast.Name) else target
