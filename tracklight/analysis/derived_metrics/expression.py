"""Parse and evaluate expressions over scalar tags.

``train/loss - validation/loss``   a slash without spaces is part of a tag
``loss / baseline(loss, "run-1")`` a slash with spaces divides; the tag of another run
``ema("val loss (%)", 0.9) * 100`` tags with other characters are quoted

Operators are ``+ - * / % **`` and parentheses. An operation on two series has a point at each step
at which both have one, and the later of the two wall times. Of several points at one step, the last
counts. `FUNCTIONS` lists the functions.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from tracklight.errors import ExpressionError, Message
from tracklight.index.series_query import Smoothing, smooth
from tracklight.types import Float64, Int64
from tracklight.util.parsing import Token, TokenParser

MAX_EXPRESSION_CHARS = 1000
#: Names of other expressions that one may use, counting those that they use in turn.
_MAX_REPLACED_NAMES = 200
#: The highest weight of `tracklight.index.series_query`.
_MAX_EMA_WEIGHT = 0.999999

TokenKind = Literal["number", "name", "string", "operator", "(", ")", ",", "end"]

_NUMBER = re.compile(r"(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?(?![\w.])")
_NAME = re.compile(r"[^\W\d][\w.]*(?:/[\w.]+)*")
_STRING = re.compile(r""""((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|`([^`]*)`""")
_OPERATOR = re.compile(r"\*\*|[-+*/%]")
_PUNCTUATION: dict[str, TokenKind] = {"(": "(", ")": ")", ",": ","}


# ---- syntax


@dataclass(frozen=True)
class Number:
    """A constant."""

    value: float


@dataclass(frozen=True)
class TagReference:
    """A tag, of the run that the expression is evaluated for or of another ``run``."""

    tag: str
    offset: int
    run: str | None = None


@dataclass(frozen=True)
class Operation:
    """A function or an operator (one of `_OPERATIONS`) and its arguments."""

    name: str
    arguments: tuple[Node, ...]


Node = Number | TagReference | Operation


@dataclass(frozen=True)
class Expression:
    """A parsed expression."""

    text: str
    root: Node

    @property
    def references(self) -> list[TagReference]:
        """The tags of the expression, in the order of the text."""
        return list(_iter_references(self.root))


def _iter_references(node: Node) -> Iterator[TagReference]:
    if isinstance(node, TagReference):
        yield node
    elif isinstance(node, Operation):
        for argument in node.arguments:
            yield from _iter_references(argument)


def parse_expression(text: str) -> Expression:
    """Parse an expression.

    Raises:
        ExpressionError: It is not valid; the message has the position.

    Example:
        >>> expression = parse_expression("train/loss - ema(val/loss, 0.9)")
        >>> [reference.tag for reference in expression.references]
        ['train/loss', 'val/loss']
    """
    if len(text) > MAX_EXPRESSION_CHARS:
        message = Message.format(
            "derived.too_long",
            "The expression has more than {max_length} characters",
            max_length=MAX_EXPRESSION_CHARS,
        )
        raise ExpressionError(message, MAX_EXPRESSION_CHARS, text)
    expression = Expression(text, _Parser(text).parse())
    if all(reference.run is not None for reference in expression.references):
        raise ExpressionError(
            Message("derived.no_tag", "The expression does not use a tag of the run itself"),
            0,
            text,
        )
    return expression


def expand(expression: Expression, definitions: Mapping[str, Expression]) -> Expression:
    """Replace the names of other expressions by what they stand for.

    Args:
        expression: The expression.
        definitions: The other expressions by name.

    Raises:
        ExpressionError: An expression uses itself, also through others, or the result is too long.

    Example:
        >>> gap = parse_expression("val/loss - train/loss")
        >>> expression = expand(parse_expression("gap / lr"), {"gap": gap})
        >>> [reference.tag for reference in expression.references]
        ['val/loss', 'train/loss', 'lr']
    """
    replaced = 0

    def replace_names(node: Node, run: str | None, outer: tuple[str, ...], offset: int) -> Node:
        nonlocal replaced
        if isinstance(node, Operation):
            arguments = (replace_names(argument, run, outer, offset) for argument in node.arguments)
            return Operation(node.name, tuple(arguments))
        if not isinstance(node, TagReference):
            return node
        # Names in the text of another expression are reported where that one is used.
        at = node.offset if not outer else offset
        reference = TagReference(node.tag, at, node.run or run)
        definition = definitions.get(node.tag)
        if definition is None:
            return reference
        replaced += 1
        if node.tag in outer:
            message = Message.format(
                "derived.uses_itself", "The metric “{name}” uses itself", name=node.tag
            )
            raise ExpressionError(message, at, expression.text)
        if replaced > _MAX_REPLACED_NAMES:
            message = Message("derived.too_many_metrics", "The expression uses too many metrics")
            raise ExpressionError(message, at, expression.text)
        return replace_names(definition.root, reference.run, (*outer, node.tag), at)

    return Expression(expression.text, replace_names(expression.root, None, (), 0))


class _Parser(TokenParser[TokenKind]):
    """A recursive descent parser with the precedence of Python."""

    def __init__(self, text: str) -> None:
        super().__init__(text, "end")

    def _read_token(self, at: int) -> tuple[Token[TokenKind], int] | None:
        text = self._text
        sign = text[at]
        if sign in _PUNCTUATION:
            return Token(_PUNCTUATION[sign], sign, at), at + 1
        if match := _NUMBER.match(text, at):
            return Token("number", match[0], at), match.end()
        if match := _NAME.match(text, at):
            return Token("name", match[0], at), match.end()
        if match := _STRING.match(text, at):
            content = next(part for part in match.groups() if part is not None)
            return Token("string", re.sub(r"\\(.)", r"\1", content), at), match.end()
        if match := _OPERATOR.match(text, at):
            return Token("operator", match[0], at), match.end()
        return None

    def _explain_character(self, character: str) -> Message:
        if character == "^":
            return Message("derived.caret", "Unexpected “^”; powers are written x ** 2")
        return super()._explain_character(character)

    def parse(self) -> Node:
        root = self._parse_sum()
        token = self._peek()
        if token.kind == ")":
            self._fail(Message("filter.unmatched_close", "Unmatched “)”"))
        if token.kind != "end":
            self._fail(
                Message.format(
                    "derived.expected_operator",
                    "Expected an operator before “{text}”; quote tags with spaces",
                    text=token.text,
                )
            )
        return root

    def _parse_sum(self) -> Node:
        left = self._parse_product()
        while (operator := self._take_operator("+", "-")) is not None:
            left = Operation(operator, (left, self._parse_product()))
        return left

    def _parse_product(self) -> Node:
        left = self._parse_sign()
        while (operator := self._take_operator("*", "/", "%")) is not None:
            left = Operation(operator, (left, self._parse_sign()))
        return left

    def _parse_sign(self) -> Node:
        with self._nest():
            sign = self._take_operator("+", "-")
            if sign is None:
                return self._parse_power()
            operand = self._parse_sign()
            if sign == "+":
                return operand
            if isinstance(operand, Number):
                return Number(-operand.value)
            return Operation("negate", (operand,))

    def _parse_power(self) -> Node:
        base = self._parse_atom()
        if self._take_operator("**") is None:
            return base
        return Operation("**", (base, self._parse_sign()))

    def _parse_atom(self) -> Node:
        token = self._peek()
        if token.kind == "number":
            self._at += 1
            return Number(float(token.text))
        if token.kind == "name" and self._peek(1).kind == "(":
            return self._parse_call()
        if token.kind in ("name", "string"):
            self._at += 1
            return TagReference(token.text, token.offset)
        if token.kind == "(":
            self._at += 1
            inner = self._parse_sum()
            self._close(token)
            return inner
        self._fail(Message("derived.expected_operand", "Expected a tag, a number or a function"))

    def _parse_call(self) -> Node:
        name = self._peek()
        function = FUNCTIONS.get(name.text)
        if function is None:
            similar = difflib.get_close_matches(name.text, FUNCTIONS, 1)
            if similar:
                message = Message.format(
                    "derived.unknown_function_similar",
                    "There is no function “{name}”; did you mean “{similar}”?",
                    name=name.text,
                    similar=similar[0],
                )
            else:
                message = Message.format(
                    "derived.unknown_function",
                    "There is no function “{name}”; there are {functions}",
                    name=name.text,
                    functions=", ".join(FUNCTIONS),
                )
            self._fail(message)
        opened = self._peek(1)
        self._at += 2
        arguments: list[Node] = []
        while self._peek().kind != ")":
            if arguments and self._peek().kind == ",":
                self._at += 1
            elif arguments:
                self._close(opened)
            arguments.append(self._parse_sum())
        self._close(opened)
        is_valid = function.accepts(arguments)
        if not is_valid:
            message = Message.format("derived.usage", "Write {usage}", usage=function.usage)
            self._fail(message, name)
        if name.text == "baseline":
            tag, run = arguments
            assert isinstance(tag, TagReference) and isinstance(run, TagReference)
            return TagReference(tag.tag, tag.offset, run.tag)
        return Operation(name.text, tuple(arguments))

    def _close(self, opened: Token[TokenKind]) -> None:
        if self._peek().kind == ")":
            self._at += 1
        elif self._peek().kind == "end":
            self._fail(Message("filter.unclosed_paren", "Unclosed “(”"), opened)
        else:
            self._fail(
                Message.format(
                    "derived.expected_close",
                    "Expected an operator or “)” before “{text}”",
                    text=self._peek().text,
                )
            )

    def _take_operator(self, *operators: str) -> str | None:
        token = self._peek()
        if token.kind != "operator" or token.text not in operators:
            return None
        self._at += 1
        return token.text


# ---- evaluation


@dataclass(frozen=True, eq=False)
class Points:
    """The points of a series, by increasing step."""

    step: Int64
    wall_time: Float64
    value: Float64

    def __len__(self) -> int:
        return len(self.step)

    def take(self, rows: slice | Int64) -> Points:
        return Points(self.step[rows], self.wall_time[rows], self.value[rows])


def make_points(step: Int64, wall_time: Float64, value: Float64) -> Points:
    """Return points sorted by step; of several at one step, the last."""
    order = np.argsort(step, kind="stable")
    ordered = step[order]
    order = order[np.append(ordered[1:] != ordered[:-1], True)[: len(order)]]
    return Points(step[order], wall_time[order], np.asarray(value, np.float64)[order])


def evaluate(expression: Expression, inputs: Mapping[tuple[str | None, str], Points]) -> Points:
    """Evaluate an expression on the points of its tags.

    Args:
        expression: The expression.
        inputs: The points of each reference, by its ``run`` and ``tag``.
    """
    with np.errstate(all="ignore"):
        result = _evaluate(expression.root, inputs)
    assert isinstance(result, Points), "parsed expressions have a tag"
    return result


def _evaluate(node: Node, inputs: Mapping[tuple[str | None, str], Points]) -> Points | float:
    if isinstance(node, Number):
        return node.value
    if isinstance(node, TagReference):
        return inputs[node.run, node.tag]
    arguments = [_evaluate(argument, inputs) for argument in node.arguments]
    operation = _OPERATIONS[node.name]
    series = [argument for argument in arguments if isinstance(argument, Points)]
    if not series:
        return float(operation(*arguments))
    if node.name in _SERIES_FUNCTIONS:
        return _SERIES_FUNCTIONS[node.name](series[0], *arguments[1:])
    joined = iter(join(series))
    shared: Points | None = None
    values: list[Float64 | float] = []
    for argument in arguments:
        if isinstance(argument, Points):
            shared = next(joined)
            values.append(shared.value)
        else:
            values.append(argument)
    assert shared is not None
    return Points(shared.step, shared.wall_time, np.asarray(operation(*values), np.float64))


def join(series: Sequence[Points]) -> list[Points]:
    """Return the points of several series at the steps that all of them have.

    All results have the same steps, and the latest of the wall times.
    """
    steps = series[0].step
    for other in series[1:]:
        if not np.array_equal(steps, other.step):
            steps = np.intersect1d(steps, other.step, assume_unique=True)
    taken = [
        item if len(item) == len(steps) else item.take(np.searchsorted(item.step, steps))
        for item in series
    ]
    wall_time = taken[0].wall_time
    for other in taken[1:]:
        wall_time = np.maximum(wall_time, other.wall_time)
    return [Points(item.step, wall_time, item.value) for item in taken]


def _ema(points: Points, weight: float) -> Points:
    value = smooth(np.ascontiguousarray(points.value), points.step, Smoothing("ema", weight))
    return Points(points.step, points.wall_time, value)


def _diff(points: Points) -> Points:
    later = points.take(slice(1, None))
    return Points(later.step, later.wall_time, np.diff(points.value))


def _accumulate(function: Callable[[Float64], Float64]) -> Callable[[Points], Points]:
    return lambda points: Points(points.step, points.wall_time, function(points.value))


#: Functions of a whole series instead of single values.
_SERIES_FUNCTIONS: dict[str, Callable[..., Points]] = {
    "ema": _ema,
    "diff": _diff,
    "cumsum": _accumulate(np.cumsum),
    "cummin": _accumulate(np.fmin.accumulate),
    "cummax": _accumulate(np.fmax.accumulate),
}


def _fold(function: Callable[..., Float64]) -> Callable[..., Float64]:
    def apply(first: Float64, *others: Float64) -> Float64:
        for other in others:
            first = function(first, other)
        return first

    return apply


_OPERATIONS: dict[str, Callable[..., Float64]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
    "%": np.mod,
    "**": np.float_power,
    "negate": np.negative,
    "abs": np.abs,
    "sqrt": np.sqrt,
    "exp": np.exp,
    "log": np.log,
    "log2": np.log2,
    "log10": np.log10,
    "min": _fold(np.minimum),
    "max": _fold(np.maximum),
    "clip": np.clip,
    **dict.fromkeys(_SERIES_FUNCTIONS, np.positive),
}


@dataclass(frozen=True)
class Function:
    """A function of expressions; ``usage`` shows how it is written."""

    usage: str
    accepts: Callable[[Sequence[Node]], bool]


def _takes(count: int) -> Callable[[Sequence[Node]], bool]:
    return lambda arguments: len(arguments) == count


def _takes_several(arguments: Sequence[Node]) -> bool:
    return len(arguments) >= 2


def _takes_series(arguments: Sequence[Node]) -> bool:
    return len(arguments) == 1 and any(_iter_references(arguments[0]))


def _takes_weight(arguments: Sequence[Node]) -> bool:
    if len(arguments) != 2 or not _takes_series(arguments[:1]):
        return False
    weight = arguments[1]
    return isinstance(weight, Number) and 0 <= weight.value <= _MAX_EMA_WEIGHT


def _takes_tag_and_run(arguments: Sequence[Node]) -> bool:
    is_valid = len(arguments) == 2 and all(
        isinstance(argument, TagReference) for argument in arguments
    )
    return is_valid and all(getattr(argument, "run", None) is None for argument in arguments)


FUNCTIONS = {
    "abs": Function("abs(x)", _takes(1)),
    "sqrt": Function("sqrt(x)", _takes(1)),
    "exp": Function("exp(x)", _takes(1)),
    "log": Function("log(x)", _takes(1)),
    "log2": Function("log2(x)", _takes(1)),
    "log10": Function("log10(x)", _takes(1)),
    "min": Function("min(x, y); cummin(x) is the lowest value so far", _takes_several),
    "max": Function("max(x, y); cummax(x) is the highest value so far", _takes_several),
    "clip": Function("clip(x, low, high)", _takes(3)),
    "ema": Function("ema(x, 0.9) with a weight of at least 0 and less than 1", _takes_weight),
    "diff": Function("diff(x)", _takes_series),
    "cumsum": Function("cumsum(x)", _takes_series),
    "cummin": Function("cummin(x)", _takes_series),
    "cummax": Function("cummax(x)", _takes_series),
    "baseline": Function('baseline(tag, "run")', _takes_tag_and_run),
}
