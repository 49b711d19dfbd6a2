"""Addresses that stand in a text without any mark-up become links."""

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

_URL = re.compile(r"https?://[^\s<>\"'`|\\^{}\x00-\x1f]+", re.IGNORECASE)

#: Signs that end a sentence and not an address.
_TRAILING_PUNCTUATION = ".,;:!?)]*_~"


def linkify_urls(state: StateCore) -> None:
    """A rule of the parser: text outside of links is looked through."""
    for block in state.tokens:
        if block.type == "inline" and block.children and "://" in block.content:
            block.children = list(_iter_linked(block.children))


def _iter_linked(children: list[Token]) -> Iterator[Token]:
    depth = 0
    for token in children:
        depth += {"link_open": 1, "link_close": -1}.get(token.type, 0)
        if token.type == "text" and not depth:
            yield from _iter_linkified(token)
        else:
            yield token


def _iter_linkified(token: Token) -> Iterator[Token]:
    done = 0
    for match in _URL.finditer(token.content):
        address = match[0].rstrip(_TRAILING_PUNCTUATION)
        if address.count("(") > address.count(")") and match[0].startswith(address + ")"):
            address += ")"
        yield _make_text(token.content[done : match.start()], token.level)
        yield Token("link_open", "a", 1, attrs={"href": address})
        yield _make_text(address, token.level + 1)
        yield Token("link_close", "a", -1)
        done = match.start() + len(address)
    yield _make_text(token.content[done:], token.level)


def _make_text(content: str, level: int) -> Token:
    return Token("text", "", 0, content=content, level=level)


# Lists of things to do: ``- [ ] open`` and ``- [x] done``.

_CHECKBOX = re.compile(r"\[([ xX])\]\s")

_CHECKBOX_SYMBOLS = {" ": "☐", "x": "☑", "X": "☑"}


def mark_task_items(state: StateCore) -> None:
    """A rule of the parser: the box at the start of an item becomes a sign of its own."""
    tokens = state.tokens
    for item, paragraph, line in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if (item.type, paragraph.type) == ("list_item_open", "paragraph_open") and line.children:
            first = line.children[0]
            box = _CHECKBOX.match(first.content) if first.type == "text" else None
            if box:
                item.attrSet("class", "task")
                first.content = first.content[box.end() :]
                line.children.insert(
                    0, Token("text", "", 0, content=f"{_CHECKBOX_SYMBOLS[box[1]]} ")
                )


# TeX to MathML, which browsers set without any script or font of ours.

_MAX_TEX_CHARACTERS = 4000

#: A few definitions can stand for billions of words.
_DEFINITION = re.compile(r"\\(?:[egx]?def|let|(?:re)?newcommand|providecommand|newenvironment)\b")


def convert_tex_to_mathml(tex: str, display: str) -> str | None:
    """A formula, ``inline`` or as a ``block``; None for TeX that cannot be set."""
    if len(tex) > _MAX_TEX_CHARACTERS or _DEFINITION.search(tex):
        return None
    try:
        formula = convert_to_element(tex, display=display)
    except Exception:  # the library has no one error for bad TeX, and is fed with anything
        return None
    return _serialize(formula) if _resolve_references(formula) else None


def _resolve_references(formula: Element) -> bool:
    """Make characters of what the library wrote as references; False if it did not know a command.

    Its own way to write a formula out turns words such as ``<script>`` back into tags.
    """
    for element in formula.iter():
        if element.text:
            element.text = unescape(element.text)
            if element.tag in ("mi", "mo") and re.match(r"\\[A-Za-z]", element.text):
                return False
    return True


def _serialize(formula: Element) -> str:
    # Elements that end in themselves mean something else where HTML is read.
    return tostring(formula, encoding="unicode", short_empty_elements=False)


# How the parts of a Markdown text are written as HTML, where ours differs from the usual.

#: Formulas of one text that are set; the rest is shown as its source.
_MAX_FORMULAS = 1000

Tokens = Sequence[Token]

Env = MutableMapping[str, Any]


class HtmlRenderer(RendererHTML):
    """Each method writes the tokens of its name."""

    def html_block(self, tokens: Tokens, idx: int, options: OptionsDict, env: Env) -> str:
        return rebuild_tags(tokens[idx].content)

    html_inline = html_block

    def fence(self, tokens: Tokens, idx: int, options: OptionsDict, env: Env) -> str:
        token = tokens[idx]
        return highlight_code(token.content, token.info.strip().partition(" ")[0], env["deadline"])

    code_block = fence

    def image(self, tokens: Tokens, idx: int, options: OptionsDict, env: Env) -> str:
        """Pictures are not loaded from elsewhere: who looks at a log is nobody's business."""
        address = str(tokens[idx].attrs.get("src", ""))
        words = escape(tokens[idx].content or address)
        if not is_web_url(address):
            return f'<span class="picture">{words}</span>'
        return f"<a{_format_attributes({'class': 'picture', 'href': address})}>{words}</a>"

    def link_open(self, tokens: Tokens, idx: int, options: OptionsDict, env: Env) -> str:
        """Where a link that is not followed would lead can still be read."""
        attributes = {name: str(value) for name, value in tokens[idx].attrs.items()}
        address = attributes.get("href", "")
        return f"<a{_format_attributes(attributes if is_web_url(address) else {'title': address})}>"

    def td_open(self, tokens: Tokens, idx: int, options: OptionsDict, env: Env) -> str:
        """The page allows no styles: how a column is aligned becomes a class."""
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
    return f'<code class="tex" title="This TeX cannot be set">{escape(tex.strip())}</code>'


# Markdown to HTML: CommonMark, tables, strikethrough, task lists, bare links, maths and code.
#
# A parser is built once and used by any number of threads: what belongs to one text is in its
# environment.

#: Blocks inside blocks; the parser leaves out what is nested deeper, and that must not happen.
_MAX_NESTING = 60

#: More than a browser lays out while somebody waits.
_MAX_HTML_CHARACTERS = 1_500_000


def render_html(text: str, deadline: Deadline) -> str:
    """The HTML of a text, which still has to be sanitised."""
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
        # The plugins brought their own ways to write formulas.
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
    """A line that starts with ``<unk>`` is words of a model, and no HTML."""
    first = state.src[state.bMarks[start] + state.tShift[start] : state.eMarks[start]]
    return starts_with_known_tag(first) and html_block(state, start, end, silent)


def _parse_inline_math(state: StateInline, silent: bool) -> bool:
    """A dollar beside a digit outside of it, or beside a space inside, is money."""
    start = state.pos
    if state.src[max(start - 1, 0)].isdigit() or not _parse_dollar_math(state, True):
        return False
    end, state.pos = state.pos, start
    return not state.src[end : end + 1].isdigit() and _parse_dollar_math(state, silent)


_parse_dollar_math = math_inline_dollar(allow_space=False, allow_digits=True, allow_double=True)
