"""Markdown out of logs as HTML that is safe to put into the page.

A log may come from anybody. What is shown of it is built from lists of what is allowed, in two
walls: `parser` makes its HTML out of Markdown and rebuilds the few tags that texts may hold
themselves; `sanitise` then takes the result apart and keeps what the page knows how to show.
Nothing is left out: what a wall does not let through is shown as the text that it is.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from tracklight.analysis.media.time_limits import Deadline, DeadlineExceededError

#: Longer texts are shown as they are; nobody reads a book in a card.
MAX_CHARACTERS = 200_000
_MAX_RENDER_S = 1.0


@dataclass(frozen=True)
class RenderedMarkdown:
    """A text as HTML; or, with None, a sentence on why it is shown as it was logged."""

    html: str | None
    note: str | None = None


def start_deadline() -> Deadline:
    """The time that one text, or the cells of one table together, may take."""
    return Deadline(_MAX_RENDER_S, time.thread_time)


def render_markdown(text: str, deadline: Deadline | None = None) -> RenderedMarkdown:
    """Render any text, within a bound on size and time; never raises."""
    if len(text) > MAX_CHARACTERS:
        return RenderedMarkdown(
            None, f"Longer than {MAX_CHARACTERS:,} characters: shown as logged."
        )
    # Loading the parser takes a tenth of a second, which a board without texts need not wait for.
    from tracklight.analysis.media.markdown_parser import render_html
    from tracklight.analysis.media.safe_html import sanitize

    try:
        return RenderedMarkdown(sanitize(render_html(text, deadline or start_deadline())))
    except DeadlineExceededError:
        return RenderedMarkdown(None, "This Markdown takes too long to lay out: shown as logged.")
    except Exception:  # three libraries that are fed with whatever somebody logged
        return RenderedMarkdown(None, "This Markdown cannot be laid out: shown as logged.")
