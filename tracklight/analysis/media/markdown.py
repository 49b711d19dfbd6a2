"""Render Markdown from logs to HTML that is safe to insert into the page.

Logs are untrusted. Two independent steps protect the page, both based on allowlists:
`markdown_html.render_html` generates HTML from Markdown and rebuilds the few HTML tags that a text
may contain, and `markdown_html.sanitize` parses the result and keeps only what the page can show.
What is not allowed is shown as text, not dropped.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from tracklight.analysis.media.time_limits import Deadline, DeadlineExceededError
from tracklight.errors import Message

#: Longer texts are shown as plain text.
MAX_CHARACTERS = 200_000
_MAX_RENDER_S = 1.0


@dataclass(frozen=True)
class RenderedMarkdown:
    """The HTML of a text; without it, ``note`` says why the plain text is shown."""

    html: str | None
    note: Message | None = None


def start_deadline() -> Deadline:
    """Start the time limit for one text, or for all cells of one table.

    Returns:
        A deadline that several calls of `render_markdown` may share.

    Example:
        >>> deadline = start_markdown_deadline()
        >>> cells = [render_markdown(text, deadline) for text in ("one", "*two*")]
    """
    return Deadline(_MAX_RENDER_S, time.thread_time)


def render_markdown(text: str, deadline: Deadline | None = None) -> RenderedMarkdown:
    """Render a text within limits on size and time. Never raises.

    Args:
        text: Untrusted Markdown.
        deadline: A limit shared with other texts; by default a new one is started.

    Returns:
        Safe HTML, or the reason for which the text can only be shown as logged.

    Example:
        >>> render_markdown("**bold** <script>").html
        '<p><strong>bold</strong> &lt;script&gt;</p>\\n'
    """
    if len(text) > MAX_CHARACTERS:
        return RenderedMarkdown(
            None,
            Message.format(
                "text.too_long_to_render",
                "Longer than {limit:,} characters: shown as logged.",
                limit=MAX_CHARACTERS,
            ),
        )
    # Importing the parser takes 0.1 s, which logs without text need not wait for.
    from tracklight.analysis.media.markdown_html import render_html, sanitize

    try:
        return RenderedMarkdown(sanitize(render_html(text, deadline or start_deadline())))
    except DeadlineExceededError:
        return RenderedMarkdown(
            None,
            Message(
                "text.too_slow_to_render",
                "This Markdown takes too long to render: shown as logged.",
            ),
        )
    except Exception:  # third-party parsers on untrusted input
        return RenderedMarkdown(
            None,
            Message("text.cannot_render", "This Markdown cannot be rendered: shown as logged."),
        )
