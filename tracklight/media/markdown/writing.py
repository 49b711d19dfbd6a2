"""How the parts of a Markdown text are written as HTML, where ours differs from the usual."""

from __future__ import annotations

from collections.abc import MutableMapping, Sequence
from html import escape
from typing import Any

from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import OptionsDict

from tracklight.media.markdown.code import highlight
from tracklight.media.markdown.links import is_web_address
from tracklight.media.markdown.maths import convert_tex
from tracklight.media.markdown.tags import rebuild_tags

#: Formulas of one text that are set; the rest is shown as its source.
_MOST_FORMULAS = 1000

Tokens = Sequence[Token]
Env = MutableMapping[str, Any]


class Writer(RendererHTML):
    """Each method writes the tokens of its name."""

    def html_block(self, tokens: Tokens, idx: int, options: OptionsDict, env: Env) -> str:
        return rebuild_tags(tokens[idx].content)

    html_inline = html_block

    def fence(self, tokens: Tokens, idx: int, options: OptionsDict, env: Env) -> str:
        token = tokens[idx]
        return highlight(token.content, token.info.strip().partition(" ")[0], env["deadline"])

    code_block = fence

    def image(self, tokens: Tokens, idx: int, options: OptionsDict, env: Env) -> str:
        """Pictures are not loaded from elsewhere: who looks at a log is nobody's business."""
        address = str(tokens[idx].attrs.get("src", ""))
        words = escape(tokens[idx].content or address)
        if not is_web_address(address):
            return f'<span class="picture">{words}</span>'
        return f"<a{_write({'class': 'picture', 'href': address})}>{words}</a>"

    def link_open(self, tokens: Tokens, idx: int, options: OptionsDict, env: Env) -> str:
        """Where a link that is not followed would lead can still be read."""
        attributes = {name: str(value) for name, value in tokens[idx].attrs.items()}
        address = attributes.get("href", "")
        return f"<a{_write(attributes if is_web_address(address) else {'title': address})}>"

    def td_open(self, tokens: Tokens, idx: int, options: OptionsDict, env: Env) -> str:
        """The page allows no styles: how a column is aligned becomes a class."""
        side = str(tokens[idx].attrs.get("style", "")).removeprefix("text-align:")
        return f"<{tokens[idx].tag}{_write({'class': side} if side else {})}>"

    th_open = td_open

    def math_inline(self, tokens: Tokens, idx: int, options: OptionsDict, env: Env) -> str:
        return _set_maths(tokens[idx].content, "inline", env)

    def math_inline_double(self, tokens: Tokens, idx: int, options: OptionsDict, env: Env) -> str:
        return _set_maths(tokens[idx].content, "block", env)

    def math_block(self, tokens: Tokens, idx: int, options: OptionsDict, env: Env) -> str:
        return f"<div>{_set_maths(tokens[idx].content, 'block', env)}</div>\n"

    amsmath = math_block


def _write(attributes: dict[str, str]) -> str:
    return "".join(f' {name}="{escape(value)}"' for name, value in attributes.items())


def _set_maths(tex: str, display: str, env: Env) -> str:
    env["deadline"].check()
    env["formulas"] += 1
    formula = convert_tex(tex, display) if env["formulas"] <= _MOST_FORMULAS else None
    if formula is not None:
        return formula
    return f'<code class="tex" title="This TeX cannot be set">{escape(tex.strip())}</code>'
