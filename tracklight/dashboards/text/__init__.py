"""The Text dashboard: Markdown and arrays of strings at every step, searched and compared."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tracklight.analysis.media.static_export import export_values, value_path
from tracklight.analysis.media.values import (
    StepsRequest,
    StepsResponse,
    ValueRequest,
    has_fingerprint,
    list_steps,
)
from tracklight.dashboards.text.schemas import (
    RawTextRequest,
    TextDiffRequest,
    TextDiffResponse,
    TextRequest,
    TextResponse,
    TextSearchRequest,
    TextSearchResponse,
)
from tracklight.dashboards.text.texts import TextReader, create_text_file, render_texts, split_lines
from tracklight.plugin import Blob, Context, Dashboard, Route


class TextDashboard(Dashboard):
    """Lays texts out where they are read, so that the page gets nothing but safe HTML."""

    name = "text"
    title = "Text"
    plugins = ("text",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._reader = TextReader(context)

    def routes(self) -> Sequence[Route]:
        return [
            Route("steps", StepsRequest, self.steps),
            Route("render", TextRequest, self.render, "GET", immutable=has_fingerprint),
            Route("raw", RawTextRequest, self.raw, "GET"),
            Route("search", TextSearchRequest, self.search),
            Route("diff", TextDiffRequest, self.diff),
        ]

    def export_static(self, runs: Sequence[str]) -> Iterator[tuple[str, object]]:
        return export_values(self.context, self.plugins, runs, self._export_value)

    def steps(self, ask: StepsRequest) -> StepsResponse:
        """When texts were logged."""
        return list_steps(self.context, ask)

    def render(self, ask: TextRequest) -> TextResponse:
        """One text as safe HTML or as it was logged, or a part of an array as a table."""
        return render_texts(self._reader.read(ask), ask)

    def raw(self, ask: RawTextRequest) -> Blob:
        """One text as it was logged, as a file; an array as JSON."""
        return create_text_file(self._reader.read(ask), ask)

    def search(self, ask: TextSearchRequest) -> TextSearchResponse:
        """Lines in which something is found, in all texts of some tags and runs."""
        # Only who searches has to load this.
        from tracklight.dashboards.text.texts import search_texts

        return search_texts(self.context, ask)

    def diff(self, ask: TextDiffRequest) -> TextDiffResponse:
        """Two texts line by line, with the words that differ."""
        from tracklight.dashboards.text.diff import diff_texts

        before, after = (split_lines(self._reader.read(one)) for one in (ask.before, ask.after))
        return diff_texts(before, after, ask.context)

    def _export_value(self, ask: ValueRequest) -> Iterator[tuple[str, object]]:
        """What the page asks for to show a text either way."""
        texts = self._reader.read(ask)
        for form in ("markdown", "raw"):
            whole = TextRequest(ask.run, ask.tag, ask.index, ask.mark, form)
            yield value_path("render", ask, form=form), render_texts(texts, whole)
        yield (
            value_path("raw", ask),
            create_text_file(texts, RawTextRequest(*_get_value_fields(ask))),
        )


def _get_value_fields(ask: ValueRequest) -> tuple[str, str, int, int | None]:
    return ask.run, ask.tag, ask.index, ask.mark
