"""Markdown to HTML: CommonMark, tables, strikethrough, task lists, bare links, maths and code.

A parser is built once and used by any number of threads: what belongs to one text is in its
environment.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, cast

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock, html_block
from markdown_it.rules_inline import StateInline
from mdit_py_plugins.amsmath import amsmath_plugin
from mdit_py_plugins.dollarmath import dollarmath_plugin
from mdit_py_plugins.dollarmath.index import math_inline_dollar

from tracklight.media.markdown.deadline import Deadline, TooLong
from tracklight.media.markdown.links import link_addresses
from tracklight.media.markdown.tags import opens_known_tag
from tracklight.media.markdown.tasks import mark_tasks
from tracklight.media.markdown.writing import Writer

#: Blocks inside blocks; the parser leaves out what is nested deeper, and that must not happen.
_MOST_NESTED = 60
#: More than a browser lays out while somebody waits.
_MOST_HTML = 1_500_000


def parse(text: str, deadline: Deadline) -> str:
    """The HTML of a text, which still has to be sanitised."""
    markdown = _make_parser()
    env: dict[str, Any] = {"deadline": deadline, "formulas": 0}
    tokens = markdown.parse(text, env)
    if any(token.level >= _MOST_NESTED - 1 for token in tokens):
        raise TooLong
    deadline.check()
    html = cast(str, markdown.renderer.render(tokens, markdown.options, env))
    if len(html) > _MOST_HTML:
        raise TooLong
    return html


@lru_cache(maxsize=1)
def _make_parser() -> MarkdownIt:
    markdown = MarkdownIt("commonmark", {"maxNesting": _MOST_NESTED}, renderer_cls=Writer)
    markdown.enable(["table", "strikethrough"])
    markdown.block.ruler.before("table", "deadline", _watch_blocks)
    markdown.inline.ruler.before("text", "deadline", _watch_text)
    markdown.block.ruler.at("html_block", _take_known_html, {"alt": ["paragraph", "blockquote"]})
    markdown.use(dollarmath_plugin, allow_labels=False)
    markdown.inline.ruler.at("math_inline", _take_maths)
    markdown.use(amsmath_plugin)
    for name in ("math_block", "math_inline", "math_inline_double", "amsmath"):
        # The plugins brought their own ways to write formulas.
        markdown.add_render_rule(name, getattr(Writer, name))
    markdown.core.ruler.after("inline", "tasks", mark_tasks)
    markdown.core.ruler.after("inline", "addresses", link_addresses)
    return markdown


def _watch_blocks(state: StateBlock, _start: int, _end: int, _silent: bool) -> bool:
    state.env["deadline"].check()
    return False


def _watch_text(state: StateInline, _silent: bool) -> bool:
    state.env["deadline"].check()
    return False


def _take_known_html(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """A line that starts with ``<unk>`` is words of a model, and no HTML."""
    first = state.src[state.bMarks[start] + state.tShift[start] : state.eMarks[start]]
    return opens_known_tag(first) and html_block(state, start, end, silent)


def _take_maths(state: StateInline, silent: bool) -> bool:
    """A dollar beside a digit outside of it, or beside a space inside, is money."""
    start = state.pos
    if state.src[max(start - 1, 0)].isdigit() or not _find_maths(state, True):
        return False
    end, state.pos = state.pos, start
    return not state.src[end : end + 1].isdigit() and _find_maths(state, silent)


_find_maths = math_inline_dollar(allow_space=False, allow_digits=True, allow_double=True)
