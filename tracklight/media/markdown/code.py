"""Fenced code, its words marked by what they are: a dozen classes that the page has colours for."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from html import escape

from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name
from pygments.token import Token, _TokenType
from pygments.util import ClassNotFound

from tracklight.media.markdown.deadline import Deadline

#: Only languages that logs are likely to hold: every lexer is code that is fed with hostile input.
LANGUAGES = frozenset(
    "bash c c++ cmake console cpp css cuda diff docker dockerfile go html ini java javascript js"
    " json julia latex lua make matlab md markdown python py pycon pytb r rs rust scala sh shell"
    " sql swift tex toml ts typescript xml yaml yml".split()
)
_MOST_CHARACTERS = 50_000
#: Where lexers are slow it is on long lines, which no person wrote.
_LONGEST_LINE = 1000

#: The first that holds a token's type names its class.
_CLASSES: tuple[tuple[_TokenType, str], ...] = (
    (Token.Comment.Preproc, "hl-meta"),
    (Token.Comment, "hl-comment"),
    (Token.Keyword, "hl-keyword"),
    (Token.Operator.Word, "hl-keyword"),
    (Token.Literal.String, "hl-string"),
    (Token.Literal, "hl-number"),
    (Token.Name.Function, "hl-name"),
    (Token.Name.Class, "hl-name"),
    (Token.Name.Decorator, "hl-meta"),
    (Token.Name.Builtin, "hl-builtin"),
    (Token.Name.Tag, "hl-keyword"),
    (Token.Name.Attribute, "hl-name"),
    (Token.Generic.Inserted, "hl-added"),
    (Token.Generic.Deleted, "hl-removed"),
    (Token.Generic.Error, "hl-error"),
    (Token.Generic.Traceback, "hl-error"),
    (Token.Generic.Heading, "hl-name"),
    (Token.Generic.Subheading, "hl-name"),
    (Token.Generic.Prompt, "hl-comment"),
    (Token.Generic.Output, "hl-comment"),
)
CLASSES = frozenset(name for _, name in _CLASSES)


def highlight(code: str, language: str, deadline: Deadline) -> str:
    """A block of code as HTML; plain where the language is not known or the code too long."""
    language = language.lower()
    lexer = _find_lexer(language) if _is_honest(code) else None
    if lexer is None:
        return f"<pre><code>{escape(code)}</code></pre>\n"
    marked = "".join(_iter_marked(lexer, code, deadline))
    return f'<pre><code class="language-{language}">{marked}</code></pre>\n'


def _is_honest(code: str) -> bool:
    return len(code) <= _MOST_CHARACTERS and max(map(len, code.split("\n"))) <= _LONGEST_LINE


@cache
def _find_lexer(language: str) -> Lexer | None:
    if language not in LANGUAGES:
        return None
    try:
        return get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except ClassNotFound:  # an older release knows fewer languages
        return None


def _iter_marked(lexer: Lexer, code: str, deadline: Deadline) -> Iterator[str]:
    for kind, words in lexer.get_tokens(code):
        deadline.check()
        name = _find_class(kind)
        yield f'<span class="{name}">{escape(words)}</span>' if name else escape(words)


@cache
def _find_class(kind: _TokenType) -> str | None:
    return next((name for known, name in _CLASSES if _holds(known, kind)), None)


def _holds(known: _TokenType, kind: _TokenType) -> bool:
    return kind[: len(known)] == known
