"""Allowlisted HTML: embedded tags, highlighted code, and the sanitizer for rendered Markdown.

Language models output ``<unk>`` and ``<s>``, which must stay visible although they look like HTML.
Therefore only tags that people write in Markdown are kept, without attributes except the target
of a link; everything else is escaped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from html import escape, unescape

import nh3
from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name
from pygments.token import Token, _TokenType
from pygments.util import ClassNotFound

from tracklight.analysis.media.time_limits import Deadline

#: Tags that Markdown texts may contain.
KNOWN_TAGS = frozenset(
    "a abbr b blockquote br caption cite code dd del details div dl dt em h1 h2 h3 h4 h5 h6 hr i"
    " ins kbd li mark ol p pre q samp small span strong sub summary sup table tbody td tfoot th"
    " thead tr u ul var".split()
)
_TAG = re.compile(r"<(/?)([A-Za-z][A-Za-z0-9]*)((?:\s[^<>]*)?)/?>")
_OPENING = re.compile(r"</?([A-Za-z][A-Za-z0-9]*)(?=[\s/>]|$)|<!--")
_HREF = re.compile(r"""\bhref\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""", re.IGNORECASE)

#: Only languages that are likely in logs: every lexer is code that processes untrusted input.
LANGUAGES = frozenset(
    "bash c c++ cmake console cpp css cuda diff docker dockerfile go html ini java javascript js"
    " json julia latex lua make matlab md markdown python py pycon pytb r rs rust scala sh shell"
    " sql swift tex toml ts typescript xml yaml yml".split()
)
_MAX_CODE_CHARACTERS = 50_000
#: Lexers are slow on long lines, which are rarely written by hand.
_MAX_LINE_LENGTH = 1000
#: Classes by token type; the first match counts.
_CLASS_BY_TOKEN: tuple[tuple[_TokenType, str], ...] = (
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
HIGHLIGHT_CLASSES = frozenset(name for _, name in _CLASS_BY_TOKEN)

#: MathML without links, embeds, annotations and actions.
MATH_TAGS = frozenset(
    "math menclose mfrac mi mmultiscripts mn mo mover mpadded mphantom mprescripts mroot mrow ms"
    " mspace msqrt mstyle msub msubsup msup mtable mtd mtext mtr munder munderover none".split()
)
MATH_ATTRIBUTES = frozenset(
    "accent accentunder columnalign columnlines columnspacing depth display displaystyle fence form"
    " height largeop linethickness lspace mathcolor mathvariant maxsize minsize movablelimits"
    " notation rowlines rowspacing rspace scriptlevel separator stretchy symmetric width".split()
)

_ALLOWED_ATTRIBUTES = {
    "a": frozenset({"href", "title"}),
    "code": frozenset({"title"}),
    "ol": frozenset({"start"}),
    **dict.fromkeys(MATH_TAGS, MATH_ATTRIBUTES),
}
_ALLOWED_CLASSES = {
    "a": frozenset({"image"}),
    "code": frozenset({"tex", *(f"language-{name}" for name in LANGUAGES)}),
    "li": frozenset({"task"}),
    "span": frozenset({"image", *HIGHLIGHT_CLASSES}),
    # Alignment of table columns.
    "td": frozenset({"left", "center", "right"}),
    "th": frozenset({"left", "center", "right"}),
}


def sanitize(html: str) -> str:
    """Parse HTML and keep allowed tags only: no scripts, styles, event handlers, ids or embeds."""
    return _make_cleaner().clean(html)


@lru_cache(maxsize=1)
def _make_cleaner() -> nh3.Cleaner:
    return nh3.Cleaner(
        tags={*KNOWN_TAGS, "s", *MATH_TAGS},
        attributes={name: set(allowed) for name, allowed in _ALLOWED_ATTRIBUTES.items()},
        attribute_filter=_filter_attribute,
        allowed_classes={name: set(allowed) for name, allowed in _ALLOWED_CLASSES.items()},
        url_schemes={"http", "https", "mailto"},
        link_rel="noopener noreferrer",
        set_tag_attribute_values={"a": {"target": "_blank"}},
        generic_attribute_prefixes=set(),
    )


def _filter_attribute(tag: str, name: str, value: str) -> str | None:
    return None if name == "href" and not is_web_url(value) else value


def is_web_url(url: str) -> bool:
    """Return whether links to a URL are allowed; relative ones would point into the page."""
    return url.lower().startswith(("http://", "https://", "mailto:"))


def starts_with_known_tag(line: str) -> bool:
    """Return whether a line starts with a known tag or a comment."""
    match = _OPENING.match(line)
    return match is not None and (match[1] is None or match[1].lower() in KNOWN_TAGS)


def rebuild_tags(html: str) -> str:
    """Rebuild known tags without attributes, except the target of links; escape the rest."""
    html = _drop_comments(html)
    parts, done = [], 0
    for match in _TAG.finditer(html):
        if match[2].lower() in KNOWN_TAGS:
            parts += [_escape_text(html[done : match.start()]), _rebuild_tag(match)]
            done = match.end()
    return "".join([*parts, _escape_text(html[done:])])


def _drop_comments(html: str) -> str:
    """Remove comments; a regular expression would take quadratic time for unclosed ones."""
    parts = []
    while (start := html.find("<!--")) >= 0 and (stop := html.find("-->", start)) >= 0:
        parts.append(html[:start])
        html = html[stop + 3 :]
    return "".join([*parts, html])


def _escape_text(text: str) -> str:
    """Escape angle brackets but keep character references."""
    return text.replace("<", "&lt;").replace(">", "&gt;")


def _rebuild_tag(match: re.Match[str]) -> str:
    closing, name, attributes = match[1], match[2].lower(), match[3]
    if name != "a" or closing:
        return f"<{closing}{name}>"
    href = _HREF.search(attributes)
    url = unescape(href[1] or href[2] or href[3] or "").strip() if href else ""
    return f'<a href="{escape(url)}">' if is_web_url(url) else "<a>"


def highlight_code(code: str, language: str, deadline: Deadline) -> str:
    """Return a code block as HTML; plain if the language is unknown or the code is long."""
    language = language.lower()
    lexer = _find_lexer(language) if _is_highlightable(code) else None
    if lexer is None:
        return f"<pre><code>{escape(code)}</code></pre>\n"
    highlighted = "".join(_iter_highlighted(lexer, code, deadline))
    return f'<pre><code class="language-{language}">{highlighted}</code></pre>\n'


def _is_highlightable(code: str) -> bool:
    return len(code) <= _MAX_CODE_CHARACTERS and max(map(len, code.split("\n"))) <= _MAX_LINE_LENGTH


@cache
def _find_lexer(language: str) -> Lexer | None:
    if language not in LANGUAGES:
        return None
    try:
        return get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except ClassNotFound:  # added in a later release of Pygments
        return None


def _iter_highlighted(lexer: Lexer, code: str, deadline: Deadline) -> Iterator[str]:
    for kind, text in lexer.get_tokens(code):
        deadline.check()
        name = _find_class(kind)
        yield f'<span class="{name}">{escape(text)}</span>' if name else escape(text)


@cache
def _find_class(kind: _TokenType) -> str | None:
    return next((name for known, name in _CLASS_BY_TOKEN if _is_subtype(known, kind)), None)


def _is_subtype(known: _TokenType, kind: _TokenType) -> bool:
    return kind[: len(known)] == known
