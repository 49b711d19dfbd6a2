"""Render Markdown to HTML: CommonMark, tables, strikethrough, task lists, bare URLs, math and code.

One parser is built and shared by all threads; the state of a text is in its environment (``env``).
The result must be passed to `safe_html.sanitize`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, MutableMapping, Sequence
from functools import lru_cache
from html import escape, unescape
from typing import Any, cast
from xml.etree.ElementTree import Element, tostring

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

from tracklight.analysis.media.safe_html import (
    highlight_code,
    is_web_url,
    rebuild_tags,
    starts_with_known_tag,
)
from tracklight.analysis.media.time_limits import Deadline, DeadlineExceededError

#: The parser drops blocks that are nested deeper, so such texts are refused.
_MAX_NESTING = 60
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
    if any(token.level >= _MAX_NESTING - 1 for token in tokens):
        raise DeadlineExceededError
    deadline.check()
    html = cast(str, markdown.renderer.render(tokens, markdown.options, env))
    if len(html) > _MAX_HTML_CHARACTERS:
        raise DeadlineExceededError
    return html


@lru_cache(maxsize=1)
def _make_parser() -> MarkdownIt:
    markdown = MarkdownIt("commonmark", {"maxNesting": _MAX_NESTING}, renderer_cls=HtmlRenderer)
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
