"""Filter expressions such as ``state = running and last("val/loss") < 0.5 and lr in (0.1, 0.01)``.

The syntax is that of the filter of the runs panel (``web/src/lib/filter-expression.ts``); a file of
examples tests both. `parse_expression` returns a tree, `evaluate` applies it to whole columns.
Nothing of an expression is executed, and regular expressions run in a process with a time limit.
"""

from __future__ import annotations

import datetime
import difflib
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from tracklight.analysis.experiments.columns import CellState, format_number
from tracklight.analysis.media.time_limits import match_lines
from tracklight.errors import ExpressionError, Message, UsageError
from tracklight.server.run_table.run_columns import AT_FIELD, parse_metric_key
from tracklight.server.run_table.table import RunTable, TableColumn
from tracklight.types import Bool, Float64
from tracklight.util.parsing import Token, TokenParser

MAX_EXPRESSION_CHARS = 5000
#: Shorter texts are in too many tags to mean one of them.
_MIN_PART_CHARS = 3

Operator = Literal["=", "!=", "<", "<=", ">", ">=", "~", ":"]
TokenKind = Literal["word", "string", "operator", "(", ")", ",", "end"]

#: Fields that every run has, by the words that name them; any other name is a hyperparameter.
FIELDS = {
    "name": "name",
    "run": "name",
    "alias": "alias",
    "state": "state",
    "start": "start",
    "updated": "updated",
    "duration": "duration",
    "host": "host",
    "user": "user",
    "commit": "commit",
    "git": "commit",
    "command": "command",
    "error": "error",
    "note": "note",
    "notes": "note",
    "label": "labels",
    "labels": "labels",
    "tag": "labels",
    "points": "points",
    "tags": "tags",
    "bytes": "bytes",
    "pinned": "pinned",
    "hidden": "hidden",
}
#: Fields that are written like a call, such as ``last("val/loss")``.
FUNCTIONS = {
    "last": "last",
    "min": "min",
    "max": "max",
    "step": "step",
    "at": "at",
    "config": "hparam",
    "hparam": "hparam",
}

_OPERATOR = re.compile(r"<=|>=|!=|==|[<>=~:]")
_STRING = re.compile(r""""((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'""")
_WORD = re.compile(r"""[^\s()\[\],"'<>=!~:]+""")
_BRACKETS: dict[str, TokenKind] = {"(": "(", ")": ")", "[": "(", "]": ")", ",": ","}


# ---- syntax


@dataclass(frozen=True)
class Operand:
    """A number, word or quoted text, and its offset in the expression."""

    text: str
    offset: int


@dataclass(frozen=True)
class Field:
    """A column with a key such as ``name``, ``hparam:lr`` or ``last:val/acc``."""

    key: str
    offset: int


@dataclass(frozen=True)
class Combination:
    """Parts that must all match, or of which one must."""

    kind: Literal["all", "any"]
    parts: tuple[Expression, ...]


@dataclass(frozen=True)
class Negation:
    part: Expression


@dataclass(frozen=True)
class Word:
    """A text in the name or the alias, in lower case."""

    text: str


@dataclass(frozen=True)
class Comparison:
    """A field compared with a value; with several values, one of them must be equal."""

    field: Field
    operator: Operator
    values: tuple[Operand, ...]


Expression = Combination | Negation | Word | Comparison
EVERYTHING = Combination("all", ())


def parse_expression(text: str) -> Expression:
    """Parse an expression. Adjacent terms are combined with ``and``.

    Raises:
        ExpressionError: The expression is not valid.
    """
    return _Parser(text).parse()


class _Parser(TokenParser[TokenKind]):
    """A recursive descent parser; `and` binds more tightly than `or`."""

    def __init__(self, text: str) -> None:
        super().__init__(text, "end")

    def _read_token(self, at: int) -> tuple[Token[TokenKind], int] | None:
        text = self._text
        character = text[at]
        if character in _BRACKETS:
            return Token(_BRACKETS[character], character, at), at + 1
        if match := _OPERATOR.match(text, at):
            return Token("operator", match[0], at), match.end()
        if match := _STRING.match(text, at):
            content = match[1] if match[1] is not None else match[2]
            # Other backslashes have a meaning in regular expressions.
            return Token("string", re.sub(r"""\\(["'])""", r"\1", content), at), match.end()
        if match := _WORD.match(text, at):
            return Token("word", match[0], at), match.end()
        return None

    def parse(self) -> Expression:
        if self._peek().kind == "end":
            return EVERYTHING
        whole = self._parse_any()
        if self._peek().kind != "end":
            self._fail(Message("filter.unmatched_close", "Unmatched “)”"))
        return whole

    def _parse_any(self) -> Expression:
        parts = [self._parse_all()]
        while self._take_word("or"):
            parts.append(self._parse_all())
        return parts[0] if len(parts) == 1 else Combination("any", tuple(parts))

    def _parse_all(self) -> Expression:
        parts = [self._parse_not()]
        while self._take_word("and") or self._starts_term():
            parts.append(self._parse_not())
        return parts[0] if len(parts) == 1 else Combination("all", tuple(parts))

    def _parse_not(self) -> Expression:
        with self._nest():
            if self._take_word("not"):
                return Negation(self._parse_not())
            if self._peek().kind != "(":
                return self._parse_term()
            opened = self._take()
            inner = self._parse_any()
            if self._peek().kind != ")":
                self._fail(Message("filter.unclosed_paren", "Unclosed “(”"), opened)
            self._take()
            return inner

    def _parse_term(self) -> Expression:
        start = self._peek()
        field = self._parse_call()
        name = None
        if field is None:
            name = self._take_text(Message("filter.expected_term", "Expected a name or a value"))
            field = Field(FIELDS.get(name.text.lower(), f"hparam:{name.text}"), start.offset)
        if self._peek().kind == "operator":
            return self._parse_comparison(field)
        if self._take_word("in"):
            return Comparison(field, "=", self._parse_list())
        if self._is_word("not") and self._is_word("in", 1):
            self._at += 2
            return Negation(Comparison(field, "=", self._parse_list()))
        if name is None:
            message = Message.format(
                "filter.expected_comparison",
                "Expected a comparison after {function}(…)",
                function=start.text,
            )
            self._fail(message, start)
        return Word(name.text.lower())

    def _parse_call(self) -> Field | None:
        """Parse ``last("val/acc")``; None if the next term is something else."""
        start = self._peek()
        function = FUNCTIONS.get(start.text.lower())
        if start.kind != "word" or function is None or self._peek(1).kind != "(":
            return None
        self._at += 2
        name = self._take_text(Message("filter.expected_metric", "Expected the name of a metric"))
        key = f"{function}:{name.text}"
        if function == AT_FIELD:
            key = f"{function}:{self._parse_step(name.text)}:{name.text}"
        if self._peek().kind != ")":
            self._fail(
                Message.format(
                    "filter.expected_close_after",
                    'Expected “)” after {function}("{tag}"',
                    function=start.text,
                    tag=name.text,
                )
            )
        self._take()
        return Field(key, start.offset)

    def _parse_step(self, tag: str) -> str:
        """Parse the second argument of ``at("val/acc", 1000)``."""
        message = Message.format(
            "filter.expected_step", 'Expected a step, such as at("{tag}", 1000)', tag=tag
        )
        if self._peek().kind != ",":
            self._fail(message)
        self._take()
        step = self._peek()
        if step.kind != "word" or parse_metric_key(f"{AT_FIELD}:{step.text}:{tag}") is None:
            self._fail(message)
        return self._take().text

    def _parse_comparison(self, field: Field) -> Expression:
        sign = self._take().text
        message = Message.format(
            "filter.expected_value_after", "Expected a value after “{operator}”", operator=sign
        )
        value = self._take_text(message)
        operator: Operator = "=" if sign == "==" else sign  # type: ignore[assignment]
        return Comparison(field, operator, (value,))

    def _parse_list(self) -> tuple[Operand, ...]:
        if self._peek().kind != "(":
            self._fail(
                Message("filter.expected_list", "Expected a list such as (adam, sgd) after “in”")
            )
        opened = self._take()
        values = []
        while self._peek().kind != ")":
            if self._peek().kind == "end":
                self._fail(Message("filter.unclosed_list", "Unclosed list"), opened)
            values.append(self._take_text(Message("filter.expected_value", "Expected a value")))
            if self._peek().kind == ",":
                self._at += 1
        self._take()
        return tuple(values)

    def _take_text(self, message: Message) -> Operand:
        token = self._peek()
        if token.kind not in ("word", "string"):
            self._fail(message)
        self._at += 1
        return Operand(token.text, token.offset)

    def _is_word(self, word: str, ahead: int = 0) -> bool:
        token = self._peek(ahead)
        return token.kind == "word" and token.text.lower() == word

    def _take_word(self, word: str) -> bool:
        if not self._is_word(word):
            return False
        self._at += 1
        return True

    def _starts_term(self) -> bool:
        kind = self._peek().kind
        return (kind == "word" and not self._is_word("or")) or kind in ("string", "(")


# ---- evaluation


def evaluate_filter(text: str, table: RunTable) -> Bool:
    """Return which runs match an expression.

    Raises:
        ExpressionError: The expression is not valid, or names a field that no run has.
    """
    if len(text) > MAX_EXPRESSION_CHARS:
        message = Message.format(
            "filter.too_long",
            "The filter has more than {max_length} characters",
            max_length=MAX_EXPRESSION_CHARS,
        )
        raise UsageError(message)
    return _Evaluator(text, table).evaluate(parse_expression(text))


class _Evaluator:
    """Computes a mask of all rows for each part of an expression."""

    def __init__(self, text: str, table: RunTable) -> None:
        self._text = text
        self._table = table

    def evaluate(self, expression: Expression) -> Bool:
        if isinstance(expression, Combination):
            masks = [self.evaluate(part) for part in expression.parts]
            if expression.kind == "all":
                return _combine(np.logical_and, masks, len(self._table), initial=True)
            return _combine(np.logical_or, masks, len(self._table), initial=False)
        if isinstance(expression, Negation):
            return ~self.evaluate(expression.part)
        if isinstance(expression, Word):
            word = expression.text
            return np.array([word in text for text in self._table.search_texts], np.bool_)
        return self._compare(expression)

    def _compare(self, comparison: Comparison) -> Bool:
        column = self._get_column(comparison.field)
        # A missing value is unequal to every value, and neither smaller nor larger.
        if comparison.operator == "!=":
            return ~_match_column(column, "=", comparison.values[0])
        masks = [_match_column(column, comparison.operator, value) for value in comparison.values]
        return _combine(np.logical_or, masks, len(self._table), initial=False)

    def _get_column(self, field: Field) -> TableColumn:
        column = self._table.find_column(field.key)
        if column is not None:
            return column
        kind, _, name = field.key.partition(":")
        key = parse_metric_key(field.key)
        if key is not None:
            name = key.tag
        metric = _find_similar_metric(name, self._table.list_metrics())
        if kind == "hparam":
            hparams = [*FIELDS, *self._table.list_hparams()]
            similar = difflib.get_close_matches(name, hparams, 1)
            message = _describe_unknown_hparam(name, similar[0] if similar else None, metric)
        else:
            message = _describe_unknown_metric(name, metric)
        raise ExpressionError(message, field.offset, self._text)


def _combine(function: np.ufunc, masks: Sequence[Bool], length: int, *, initial: bool) -> Bool:
    result = np.full(length, initial)
    for mask in masks:
        function(result, mask, out=result)
    return result


def _find_similar_metric(name: str, tags: Sequence[str]) -> str | None:
    """Return the tag that is named or spelled like a text, or contains it, the shortest first."""
    lower = name.lower()
    named = [tag for tag in tags if tag.lower().rpartition("/")[2] == lower]
    if not named and len(name) >= _MIN_PART_CHARS:
        named = [tag for tag in tags if lower in tag.lower()]
    if named:
        return min(named, key=len)
    return next(iter(difflib.get_close_matches(name, tags, 1)), None)


def _describe_unknown_hparam(name: str, similar: str | None, metric: str | None) -> Message:
    call = "" if metric is None else 'last("{}")'.format(metric.replace('"', r"\""))
    if similar is None and metric is None:
        return Message.format(
            "filter.unknown_hparam", "No run has a hyperparameter “{name}”", name=name
        )
    if similar is None:
        return Message.format(
            "filter.unknown_hparam_metric",
            "No run has a hyperparameter “{name}”; did you mean {call}?",
            name=name,
            call=call,
        )
    if metric is None:
        return Message.format(
            "filter.unknown_hparam_similar",
            "No run has a hyperparameter “{name}”; did you mean “{similar}”?",
            name=name,
            similar=similar,
        )
    return Message.format(
        "filter.unknown_hparam_either",
        "No run has a hyperparameter “{name}”; did you mean “{similar}” or {call}?",
        name=name,
        similar=similar,
        call=call,
    )


def _describe_unknown_metric(name: str, similar: str | None) -> Message:
    if similar is None:
        return Message.format("filter.unknown_metric", "No run has a metric “{name}”", name=name)
    return Message.format(
        "filter.unknown_metric_similar",
        "No run has a metric “{name}”; did you mean “{similar}”?",
        name=name,
        similar=similar,
    )


def _match_column(column: TableColumn, operator: Operator, literal: Operand) -> Bool:
    """Return the rows whose value matches; texts are compared once per distinct text."""
    states = column.states
    result = np.zeros(len(column.values), np.bool_)
    for state in (CellState.NUMBER, CellState.TEXT, CellState.BOOL):
        rows = slice(None) if states is None else states == state
        if states is None and state is not CellState.NUMBER:
            break
        values = column.values[rows]
        if not len(values):
            continue
        if state is CellState.NUMBER:
            result[rows] = _match_numbers(values, operator, literal)
        elif state is CellState.TEXT:
            is_match = _match_texts(column.list_items(), operator, literal)
            result[rows] = is_match[values.astype(np.int64)]
        else:
            texts = _match_texts([("false",), ("true",)], operator, literal)
            result[rows] = texts[values.astype(np.int64)]
    return result


def _match_numbers(values: Float64, operator: Operator, literal: Operand) -> Bool:
    limit = parse_quantity(literal.text)
    if operator in ("~", ":"):
        distinct, codes = np.unique(values, return_inverse=True)
        texts = [(format_number(value),) for value in distinct.tolist()]
        return _match_texts(texts, operator, literal)[codes]
    if limit is None:
        is_nan = operator == "=" and literal.text.lower() == "nan"
        return np.isnan(values) if is_nan else np.zeros(len(values), np.bool_)
    return np.asarray(_COMPARISONS[operator](values, limit), np.bool_)


def _match_texts(items: Sequence[tuple[str, ...]], operator: Operator, literal: Operand) -> Bool:
    """Return which lists of texts contain a text that matches."""
    if operator == "~":
        flat = [(number, text) for number, texts in enumerate(items) for text in texts]
        lines = "\n".join(
            re.sub(r"[\r\n\v\f\x1c-\x1e\x85\u2028\u2029]", " ", text) for _, text in flat
        )
        found = match_lines(literal.text, lines, len(flat)) if flat else np.zeros(0, np.bool_)
        result = np.zeros(len(items), np.bool_)
        result[
            [number for (number, _), is_match in zip(flat, found.tolist(), strict=True) if is_match]
        ] = True
        return result
    wanted = literal.text.lower()
    test: Callable[[str], bool]
    if operator == ":":
        test = lambda text: wanted in text.lower()  # noqa: E731
    elif operator in ("=", "!="):
        test = lambda text: text.lower() == wanted  # noqa: E731
    else:
        compare = _COMPARISONS[operator]
        test = lambda text: bool(compare(text, wanted))  # noqa: E731
    return np.array([any(test(text) for text in texts) for texts in items], np.bool_)


_COMPARISONS: dict[str, Callable[..., Bool]] = {
    "=": lambda value, limit: value == limit,
    "<": lambda value, limit: value < limit,
    "<=": lambda value, limit: value <= limit,
    ">": lambda value, limit: value > limit,
    ">=": lambda value, limit: value >= limit,
}

_UNITS_S = {"s": 1, "m": 60, "min": 60, "h": 3600, "d": 86_400}
_DURATION = re.compile(r"([0-9.]+)(s|m|min|h|d)", re.IGNORECASE)
_DATE = re.compile(r"\d{4}-\d{2}(-\d{2})?(T.*)?")


def parse_quantity(text: str) -> float | None:
    """Parse a number, a duration such as 90m (in seconds), or a date (seconds since 1970, UTC)."""
    try:
        if match := _DURATION.fullmatch(text):
            return float(match[1]) * _UNITS_S[match[2].lower()]
        if _DATE.fullmatch(text):
            full = f"{text}-01" if len(text) == len("2026-01") else text
            moment = datetime.datetime.fromisoformat(full.replace("Z", "+00:00"))
            if moment.tzinfo is None:
                moment = moment.replace(tzinfo=datetime.timezone.utc)
            return moment.timestamp()
        value = float(text)
    except (ValueError, OverflowError):
        return None
    return None if math.isnan(value) else value
