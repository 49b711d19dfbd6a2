"""HTML that stands in a Markdown text: a few tags are rebuilt, all else is shown as it is.

Models speak of ``<unk>`` and ``<s>``, and what they say must not vanish because it looks like HTML.
So a tag passes only if it is one that people write into Markdown, and then without its attributes,
but for the address of a link.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from html import escape, unescape

import nh3
from markdown_it.token import Token
from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name
from pygments.token import Token as PygmentsToken
from pygments.token import _TokenType
from pygments.util import ClassNotFound

from tracklight.analysis.media.time_limits import Deadline

KNOWN_TAGS = frozenset(
    "a abbr b blockquote br caption cite code dd del details div dl dt em h1 h2 h3 h4 h5 h6 hr i"
    " ins kbd li mark ol p pre q samp small span strong sub summary sup table tbody td tfoot th"
    " thead tr u ul var".split()
)

_TAG = re.compile(r"<(/?)([A-Za-z][A-Za-z0-9]*)((?:\s[^<>]*)?)/?>")

_OPENING = re.compile(r"</?([A-Za-z][A-Za-z0-9]*)(?=[\s/>]|$)|<!--")

_HREF = re.compile(r"""\bhref\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""", re.IGNORECASE)


def starts_with_known_tag(line: str) -> bool:
    """Whether a line begins with a tag that is taken for HTML."""
    found = _OPENING.match(line)
    return found is not None and (found[1] is None or found[1].lower() in KNOWN_TAGS)


def rebuild_tags(html: str) -> str:
    """HTML in which every ``<`` is either a tag of those that are known or stands for itself."""
    html = _drop_comments(html)
    parts, done = [], 0
    for match in _TAG.finditer(html):
        if match[2].lower() in KNOWN_TAGS:
            parts += [_escape_text(html[done : match.start()]), _rebuild_tag(match)]
            done = match.end()
    return "".join([*parts, _escape_text(html[done:])])


def _drop_comments(html: str) -> str:
    """Step by step, as one expression would look for the end of each of a thousand open ones."""
    parts = []
    while (start := html.find("<!--")) >= 0 and (stop := html.find("-->", start)) >= 0:
        parts.append(html[:start])
        html = html[stop + 3 :]
    return "".join([*parts, html])


def _escape_text(text: str) -> str:
    """Words between tags; references to characters in them mean what they say."""
    return text.replace("<", "&lt;").replace(">", "&gt;")


def _rebuild_tag(match: re.Match[str]) -> str:
    closing, name, attributes = match[1], match[2].lower(), match[3]
    if name != "a" or closing:
        return f"<{closing}{name}>"
    found = _HREF.search(attributes)
    address = unescape(found[1] or found[2] or found[3] or "").strip() if found else ""
    return f'<a href="{escape(address)}">' if is_web_url(address) else "<a>"


# Fenced code, its words marked by what they are: a dozen classes that the page has colours for.

#: Only languages that logs are likely to hold: every lexer is code that is fed with hostile input.
LANGUAGES = frozenset(
    "bash c c++ cmake console cpp css cuda diff docker dockerfile go html ini java javascript js"
    " json julia latex lua make matlab md markdown python py pycon pytb r rs rust scala sh shell"
    " sql swift tex toml ts typescript xml yaml yml".split()
)

_MAX_CODE_CHARACTERS = 50_000

#: Where lexers are slow it is on long lines, which no person wrote.
_MAX_LINE_LENGTH = 1000

#: The first that holds a token's type names its class.
_CLASS_BY_TOKEN: tuple[tuple[_TokenType, str], ...] = (
    (PygmentsToken.Comment.Preproc, "hl-meta"),
    (PygmentsToken.Comment, "hl-comment"),
    (PygmentsToken.Keyword, "hl-keyword"),
    (PygmentsToken.Operator.Word, "hl-keyword"),
    (PygmentsToken.Literal.String, "hl-string"),
    (PygmentsToken.Literal, "hl-number"),
    (PygmentsToken.Name.Function, "hl-name"),
    (PygmentsToken.Name.Class, "hl-name"),
    (PygmentsToken.Name.Decorator, "hl-meta"),
    (PygmentsToken.Name.Builtin, "hl-builtin"),
    (PygmentsToken.Name.Tag, "hl-keyword"),
    (PygmentsToken.Name.Attribute, "hl-name"),
    (PygmentsToken.Generic.Inserted, "hl-added"),
    (PygmentsToken.Generic.Deleted, "hl-removed"),
    (PygmentsToken.Generic.Error, "hl-error"),
    (PygmentsToken.Generic.Traceback, "hl-error"),
    (PygmentsToken.Generic.Heading, "hl-name"),
    (PygmentsToken.Generic.Subheading, "hl-name"),
    (PygmentsToken.Generic.Prompt, "hl-comment"),
    (PygmentsToken.Generic.Output, "hl-comment"),
)

HIGHLIGHT_CLASSES = frozenset(name for _, name in _CLASS_BY_TOKEN)


def highlight_code(code: str, language: str, deadline: Deadline) -> str:
    """A block of code as HTML; plain where the language is not known or the code too long."""
    language = language.lower()
    lexer = _find_lexer(language) if _is_highlightable(code) else None
    if lexer is None:
        return f"<pre><code>{escape(code)}</code></pre>\n"
    marked = "".join(_iter_highlighted(lexer, code, deadline))
    return f'<pre><code class="language-{language}">{marked}</code></pre>\n'


def _is_highlightable(code: str) -> bool:
    return len(code) <= _MAX_CODE_CHARACTERS and max(map(len, code.split("\n"))) <= _MAX_LINE_LENGTH


@cache
def _find_lexer(language: str) -> Lexer | None:
    if language not in LANGUAGES:
        return None
    try:
        return get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except ClassNotFound:  # an older release knows fewer languages
        return None


def _iter_highlighted(lexer: Lexer, code: str, deadline: Deadline) -> Iterator[str]:
    for kind, words in lexer.get_tokens(code):
        deadline.check()
        name = _find_class(kind)
        yield f'<span class="{name}">{escape(words)}</span>' if name else escape(words)


@cache
def _find_class(kind: _TokenType) -> str | None:
    return next((name for known, name in _CLASS_BY_TOKEN if _is_subtype(known, kind)), None)


def _is_subtype(known: _TokenType, kind: _TokenType) -> bool:
    return kind[: len(known)] == known


# The second wall: HTML is taken apart as browsers do, and only what is listed is written out.

#: Nothing that links, embeds, annotates or switches; HTML may stand in none of it but mtext.
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
    "a": frozenset({"picture"}),
    "code": frozenset({"tex", *(f"language-{name}" for name in LANGUAGES)}),
    "li": frozenset({"task"}),
    "span": frozenset({"picture", *HIGHLIGHT_CLASSES}),
    # How columns of tables are aligned, which the parser says in a style.
    "td": frozenset({"left", "center", "right"}),
    "th": frozenset({"left", "center", "right"}),
}


def sanitize(html: str) -> str:
    """Safe HTML: no script, style, handler or id, and no address but those of links."""
    return _make_cleaner().clean(html)


@lru_cache(maxsize=1)
def _make_cleaner() -> nh3.Cleaner:
    return nh3.Cleaner(
        tags={*KNOWN_TAGS, "s", *MATH_TAGS},
        attributes={name: set(them) for name, them in _ALLOWED_ATTRIBUTES.items()},
        attribute_filter=_filter_attribute,
        allowed_classes={name: set(them) for name, them in _ALLOWED_CLASSES.items()},
        url_schemes={"http", "https", "mailto"},
        link_rel="noopener noreferrer",
        set_tag_attribute_values={"a": {"target": "_blank"}},
        generic_attribute_prefixes=set(),
    )


def _filter_attribute(tag: str, name: str, value: str) -> str | None:
    return None if name == "href" and not is_web_url(value) else value


def is_web_url(address: str) -> bool:
    """Whether a link may lead there; relative ones would lead into the page itself."""
    return address.lower().startswith(("http://", "https://", "mailto:"))
