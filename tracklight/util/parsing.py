"""Parse short texts: expressions that users type, lines of stack traces, and JSON.

`TokenParser` is the common part of the parsers of run filters and derived metrics. The ``extract_``
functions find the line of the user's program in stack traces recorded by Python, TorchScript and
JAX. `load_json` reads JSON that other programs wrote.
"""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Generic, NoReturn, TypeVar

from tracklight.errors import ExpressionError, Message

# ---- expressions

KindT = TypeVar("KindT", bound=str)

_MAX_NESTED_TERMS = 50
_SPACE = re.compile(r"\s*")


@dataclass(frozen=True)
class Token(Generic[KindT]):
    """A word, number or sign of an expression; the last one is of the kind ``end``."""

    kind: KindT
    text: str
    offset: int


class TokenParser(ABC, Generic[KindT]):
    """Base class of recursive descent parsers: the tokens of a text, and the current one.

    Args:
        text: The expression.
        end: The kind of the token after the last one.

    Raises:
        ExpressionError: The text has characters that are no token.
    """

    def __init__(self, text: str, end: KindT) -> None:
        self._text = text
        self._tokens = [*self._tokenize(), Token(end, "", len(text))]
        self._at = 0
        self._depth = 0

    @abstractmethod
    def _read_token(self, at: int) -> tuple[Token[KindT], int] | None:
        """Return the token at an offset and the offset after it; None if there is none."""

    def _explain_character(self, character: str) -> Message:
        """Return why a character is no token."""
        if character in "\"'`":
            return Message.format(
                "filter.unclosed_quote", "Unclosed quote {quote}", quote=character
            )
        return Message.format(
            "filter.unexpected_character", "Unexpected “{character}”", character=character
        )

    def _peek(self, ahead: int = 0) -> Token[KindT]:
        return self._tokens[min(self._at + ahead, len(self._tokens) - 1)]

    def _take(self) -> Token[KindT]:
        token = self._peek()
        self._at += 1
        return token

    def _fail(self, message: Message, token: Token[KindT] | None = None) -> NoReturn:
        """Report a problem at a token, by default the current one."""
        raise ExpressionError(message, (token or self._peek()).offset, self._text)

    @contextmanager
    def _nest(self) -> Iterator[None]:
        """Limit the depth of the recursion."""
        self._depth += 1
        if self._depth > _MAX_NESTED_TERMS:
            self._fail(Message("filter.too_deep", "Too many nested parentheses"))
        try:
            yield
        finally:
            self._depth -= 1

    def _tokenize(self) -> Iterator[Token[KindT]]:
        at = self._skip_space(0)
        while at < len(self._text):
            found = self._read_token(at)
            if found is None:
                raise ExpressionError(self._explain_character(self._text[at]), at, self._text)
            token, end = found
            yield token
            at = self._skip_space(end)

    def _skip_space(self, at: int) -> int:
        match = _SPACE.match(self._text, at)
        return match.end() if match else at


# ---- stack traces

#: Stack frames in the notation of Python, TorchScript and JAX.
_PYTHON = re.compile(r'File "([^"\n]{1,1000})", line (\d{1,9})(?:, in ([^\n]{1,200}))?')
_TORCH = re.compile(r"^([^\n]{1,1000})\((\d{1,9})\): ([^\n]{1,200})$", re.MULTILINE)
_JAX = re.compile(r"^(.{1,1000}?):(\d{1,9})(?::\d{1,9})? \((.{1,200})\)$")
#: Frames in library code are skipped; if there are no others, only those in framework code are.
_FRAMEWORKS = re.compile(r"(?:site|dist)-packages[/\\](?:torch|jax|flax|keras|tensorflow)[/\\]")
_LIBRARIES = re.compile(r"(?:site|dist)-packages[/\\]")
#: Code that ``torch.fx`` has generated; no file has it.
_GENERATED = re.compile(r"^<eval_with_key>")
_MAX_TRACE_CHARACTERS = 50_000


def is_library_path(path: str) -> bool:
    """Return whether a file belongs to an installed package and not to the user's program."""
    return _LIBRARIES.search(path) is not None or path.startswith("<")


def extract_python_line(trace: str) -> str:
    """Return the innermost frame outside libraries, such as ``model.py:12 in forward``."""
    return _format_user_frame(_PYTHON.findall(trace[-_MAX_TRACE_CHARACTERS:])[::-1])


def extract_torchscript_line(trace: str) -> str:
    """Return the innermost frame outside libraries of a TorchScript trace (innermost first)."""
    return _format_user_frame(_TORCH.findall(trace[:_MAX_TRACE_CHARACTERS]))


def extract_jax_line(summary: str) -> str:
    """Return the frame that JAX considers to be the user's code."""
    return _format_user_frame(_JAX.findall(summary))


def _format_user_frame(frames: Sequence[tuple[str, str, str]]) -> str:
    for excluded in (_GENERATED, _LIBRARIES, _FRAMEWORKS):
        frames = [frame for frame in frames if not excluded.search(frame[0])] or frames
    return format_source_line(*frames[0]) if frames else ""


def format_source_line(path: str, line: str, qualified: str) -> str:
    """Format a frame as ``file:line in function``; ``qualified`` may be empty."""
    function = qualified.rpartition("<locals>.")[2].strip()
    file = re.split(r"[/\\]", path)[-1]
    return f"{file}:{line} in {function}" if function else f"{file}:{line}"


# ---- JSON

#: An escape sequence; a surrogate without its other half is group 1.
_JSON_ESCAPE = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)


def load_json(data: bytes | str) -> Any:
    """Parse JSON that another program wrote, with NaN and Infinity.

    Lone surrogates become U+FFFD, as no response can contain them. Python writes them for paths
    that are not UTF-8.

    Raises:
        ValueError: The text is not JSON.
        RecursionError: The values are nested too deeply.
    """
    text = data.decode("utf-8-sig", "replace") if isinstance(data, bytes) else data
    if r"\ud" in text or r"\uD" in text:
        text = _JSON_ESCAPE.sub(lambda found: r"\ufffd" if found[1] else found[0], text)
    return json.loads(text)
