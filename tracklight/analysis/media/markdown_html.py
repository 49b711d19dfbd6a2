"""Convert Markdown to HTML, and sanitize the result.

`render_html` supports CommonMark, tables, strikethrough, task lists, bare URLs, math and code. One
parser is built and shared by all threads; the state of a text is in its environment (``env``). The
result must be passed to `sanitize`.

Language models output ``<unk>`` and ``<s>``, which must stay visible although they look like HTML.
Therefore only tags that people write in Markdown are kept, without attributes except the target of
a link; everything else is escaped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, MutableMapping, Sequence
from functools import cache, lru_cache
from html import escape, unescape
from typing import Any, cast
from xml.etree.ElementTree import Element, tostring

import nh3
from latex2mathml.converter import convert_to_element
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.rules_block import StateBlock, html_block
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from markdown_it.utils import OptionsDict
from mdit_py_plugins.amsmath import amsmath_plugin
from mdit_py_plugins.dollarmath import dollarmath_plugin
from mdit_py_plugins.dollarmath.index import math_inline_dollar
from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name
from pygments.token import Token as CodeToken
from pygments.token import _TokenType
from pygments.util import ClassNotFound

from tracklight.analysis.media.time_limits import Deadline, DeadlineExceededError

# ---- safe HTML

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
_MAX_LINE_CHARACTERS = 1000
#: Classes by token type; the first match counts.
_CLASS_BY_TOKEN: tuple[tuple[_TokenType, str], ...] = (
    (CodeToken.Comment.Preproc, "hl-meta"),
    (CodeToken.Comment, "hl-comment"),
    (CodeToken.Keyword, "hl-keyword"),
    (CodeToken.Operator.Word, "hl-keyword"),
    (CodeToken.Literal.String, "hl-string"),
    (CodeToken.Literal, "hl-number"),
    (CodeToken.Name.Function, "hl-name"),
    (CodeToken.Name.Class, "hl-name"),
    (CodeToken.Name.Decorator, "hl-meta"),
    (CodeToken.Name.Builtin, "hl-builtin"),
    (CodeToken.Name.Tag, "hl-keyword"),
    (CodeToken.Name.Attribute, "hl-name"),
    (CodeToken.Generic.Inserted, "hl-added"),
    (CodeToken.Generic.Deleted, "hl-removed"),
    (CodeToken.Generic.Error, "hl-error"),
    (CodeToken.Generic.Traceback, "hl-error"),
    (CodeToken.Generic.Heading, "hl-name"),
    (CodeToken.Generic.Subheading, "hl-name"),
    (CodeToken.Generic.Prompt, "hl-comment"),
    (CodeToken.Generic.Output, "hl-comment"),
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
    return (
        len(code) <= _MAX_CODE_CHARACTERS
        and max(map(len, code.split("\n"))) <= _MAX_LINE_CHARACTERS
    )


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


# ---- Markdown

#: The parser drops blocks that are nested deeper, so such texts are refused.
_MAX_NESTED_BLOCKS = 60
#: Browsers take too long to lay out more.
_MAX_HTML_CHARACTERS = 1_500_000

#: Further formulas of a text are shown as source.
_MAX_FORMULAS = 1000
_MAX_TEX_CHARACTERS = 4000
#: Definitions can expand exponentially.
_DEFINITION = re.compile(r"\\(?:[egx]?def|let|(?:re)?newcommand|providecommand|newenvironment)\b")

_URL = re.compile(r"https?://[^\s<>\"'`|\\^{}\x00-\x1f]+", re.IGNORECASE)
_TRAILING_PUNCTUATION = ".,;:!?)]*_~"

_CHECKBOX = re.compile(r"\[([ xX])\]\s")
_CHECKBOX_SYMBOLS = {" ": "☐", "x": "☑", "X": "☑"}

Tokens = Sequence[Token]
Env = MutableMapping[str, Any]


def render_html(text: str, deadline: Deadline) -> str:
    """Render Markdown to HTML, which still has to be sanitized.

    Raises:
        DeadlineExceededError: The text takes too long or is nested too deeply, or the HTML is too
            large.
    """
    markdown = _make_parser()
    env: dict[str, Any] = {"deadline": deadline, "formulas": 0}
    tokens = markdown.parse(text, env)
    if any(token.level >= _MAX_NESTED_BLOCKS - 1 for token in tokens):
        raise DeadlineExceededError
    deadline.check()
    html = cast(str, markdown.renderer.render(tokens, markdown.options, env))
    if len(html) > _MAX_HTML_CHARACTERS:
        raise DeadlineExceededError
    return html


@lru_cache(maxsize=1)
def _make_parser() -> MarkdownIt:
    markdown = MarkdownIt(
        "commonmark", {"maxNesting": _MAX_NESTED_BLOCKS}, renderer_cls=HtmlRenderer
    )
    markdown.enable(["table", "strikethrough"])
    markdown.block.ruler.before("table", "deadline", _check_deadline_block)
    markdown.inline.ruler.before("text", "deadline", _check_deadline_inline)
    markdown.block.ruler.at("html_block", _parse_known_html, {"alt": ["paragraph", "blockquote"]})
    markdown.use(dollarmath_plugin, allow_labels=False)
    markdown.inline.ruler.at("math_inline", _parse_inline_math)
    markdown.use(amsmath_plugin)
    for name in ("math_block", "math_inline", "math_inline_double", "amsmath"):
        # Override the renderers of the plugins.
        markdown.add_render_rule(name, getattr(HtmlRenderer, name))
    markdown.core.ruler.after("inline", "tasks", mark_task_items)
    markdown.core.ruler.after("inline", "addresses", linkify_urls)
    return markdown


def _check_deadline_block(state: StateBlock, _start: int, _end: int, _silent: bool) -> bool:
    state.env["deadline"].check()
    return False


def _check_deadline_inline(state: StateInline, _silent: bool) -> bool:
    state.env["deadline"].check()
    return False


def _parse_known_html(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Block rule: parse HTML only if it starts with a known tag; ``<unk>`` is a model's output."""
    first = state.src[state.bMarks[start] + state.tShift[start] : state.eMarks[start]]
    return starts_with_known_tag(first) and html_block(state, start, end, silent)


def _parse_inline_math(state: StateInline, silent: bool) -> bool:
    """Inline rule: a dollar next to a digit outside, or to a space inside, is a currency sign."""
    start = state.pos
    if state.src[max(start - 1, 0)].isdigit() or not _parse_dollar_math(state, True):
        return False
    end, state.pos = state.pos, start
    return not state.src[end : end + 1].isdigit() and _parse_dollar_math(state, silent)


_parse_dollar_math = math_inline_dollar(allow_space=False, allow_digits=True, allow_double=True)


class HtmlRenderer(RendererHTML):
    """Render tokens to HTML; each method renders the tokens of its name."""

    def html_block(self, tokens: Tokens, idx: int, options: OptionsDict, env: Env) -> str:
        return rebuild_tags(tokens[idx].content)

    html_inline = html_block

    def fence(self, tokens: Tokens, idx: int, options: OptionsDict, env: Env) -> str:
        token = tokens[idx]
        return highlight_code(token.content, token.info.strip().partition(" ")[0], env["deadline"])

    code_block = fence

    def image(self, tokens: Tokens, idx: int, options: OptionsDict, env: Env) -> str:
        """Show a link instead: loading an image would tell its server who views the log."""
        url = str(tokens[idx].attrs.get("src", ""))
        text = escape(tokens[idx].content or url)
        if not is_web_url(url):
            return f'<span class="image">{text}</span>'
        return f"<a{_format_attributes({'class': 'image', 'href': url})}>{text}</a>"

    def link_open(self, tokens: Tokens, idx: int, options: OptionsDict, env: Env) -> str:
        """Show the target of a link that is not allowed as a tooltip."""
        attributes = {name: str(value) for name, value in tokens[idx].attrs.items()}
        url = attributes.get("href", "")
        return f"<a{_format_attributes(attributes if is_web_url(url) else {'title': url})}>"

    def td_open(self, tokens: Tokens, idx: int, options: OptionsDict, env: Env) -> str:
        """Convert the alignment style to a class; the page's CSP forbids inline styles."""
        side = str(tokens[idx].attrs.get("style", "")).removeprefix("text-align:")
        return f"<{tokens[idx].tag}{_format_attributes({'class': side} if side else {})}>"

    th_open = td_open

    def math_inline(self, tokens: Tokens, idx: int, options: OptionsDict, env: Env) -> str:
        return _render_math(tokens[idx].content, "inline", env)

    def math_inline_double(self, tokens: Tokens, idx: int, options: OptionsDict, env: Env) -> str:
        return _render_math(tokens[idx].content, "block", env)

    def math_block(self, tokens: Tokens, idx: int, options: OptionsDict, env: Env) -> str:
        return f"<div>{_render_math(tokens[idx].content, 'block', env)}</div>\n"

    amsmath = math_block


def _format_attributes(attributes: dict[str, str]) -> str:
    return "".join(f' {name}="{escape(value)}"' for name, value in attributes.items())


def _render_math(tex: str, display: str, env: Env) -> str:
    env["deadline"].check()
    env["formulas"] += 1
    formula = convert_tex_to_mathml(tex, display) if env["formulas"] <= _MAX_FORMULAS else None
    if formula is not None:
        return formula
    return f'<code class="tex" title="Unsupported TeX">{escape(tex.strip())}</code>'


def convert_tex_to_mathml(tex: str, display: str) -> str | None:
    """Convert a formula; ``display`` is ``inline`` or ``block``. None for unsupported TeX."""
    if len(tex) > _MAX_TEX_CHARACTERS or _DEFINITION.search(tex):
        return None
    try:
        formula = convert_to_element(tex, display=display)
    except Exception:  # the library has no common base class for its errors
        return None
    return _serialize(formula) if _resolve_references(formula) else None


def _resolve_references(formula: Element) -> bool:
    """Replace character references in the library's output; return False for unknown commands.

    The library's own serializer would turn text such as ``<script>`` into tags.
    """
    for element in formula.iter():
        if element.text:
            element.text = unescape(element.text)
            if element.tag in ("mi", "mo") and re.match(r"\\[A-Za-z]", element.text):
                return False
    return True


def _serialize(formula: Element) -> str:
    # HTML parsers do not treat <mi/> as an empty element.
    return tostring(formula, encoding="unicode", short_empty_elements=False)


def linkify_urls(state: StateCore) -> None:
    """Core rule: turn bare URLs into links, except inside of links."""
    for block in state.tokens:
        if block.type == "inline" and block.children and "://" in block.content:
            block.children = list(_iter_with_links(block.children))


def _iter_with_links(children: list[Token]) -> Iterator[Token]:
    depth = 0
    for token in children:
        depth += {"link_open": 1, "link_close": -1}.get(token.type, 0)
        if token.type == "text" and not depth:
            yield from _iter_link_tokens(token)
        else:
            yield token


def _iter_link_tokens(token: Token) -> Iterator[Token]:
    done = 0
    for match in _URL.finditer(token.content):
        url = match[0].rstrip(_TRAILING_PUNCTUATION)
        if url.count("(") > url.count(")") and match[0].startswith(url + ")"):
            url += ")"
        yield _make_text(token.content[done : match.start()], token.level)
        yield Token("link_open", "a", 1, attrs={"href": url})
        yield _make_text(url, token.level + 1)
        yield Token("link_close", "a", -1)
        done = match.start() + len(url)
    yield _make_text(token.content[done:], token.level)


def _make_text(content: str, level: int) -> Token:
    return Token("text", "", 0, content=content, level=level)


def mark_task_items(state: StateCore) -> None:
    """Core rule: replace ``[ ]`` and ``[x]`` at the start of list items by a checkbox symbol."""
    tokens = state.tokens
    for item, paragraph, line in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if (item.type, paragraph.type) == ("list_item_open", "paragraph_open") and line.children:
            first = line.children[0]
            box = _CHECKBOX.match(first.content) if first.type == "text" else None
            if box:
                item.attrSet("class", "task")
                first.content = first.content[box.end() :]
                symbol = Token("text", "", 0, content=f"{_CHECKBOX_SYMBOLS[box[1]]} ")
                line.children.insert(0, symbol)
