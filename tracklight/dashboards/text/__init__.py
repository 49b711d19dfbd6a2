"""The Text dashboard: Markdown and arrays of strings at every step, with search and diff.

Start reading at `TextDashboard`. `texts` reads, renders and searches logged texts, `diff` compares
two of them, `schemas` has the requests and responses.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tracklight.analysis.media import (
    StepsRequest,
    StepsResponse,
    ValueRequest,
    export_values,
    has_fingerprint,
    list_steps,
    value_path,
)
from tracklight.dashboards.text.diff import diff_texts
from tracklight.dashboards.text.schemas import (
    RawTextRequest,
    TextDiffRequest,
    TextDiffResponse,
    TextRequest,
    TextResponse,
    TextSearchRequest,
    TextSearchResponse,
)
from tracklight.dashboards.text.texts import (
    TextReader,
    create_text_file,
    render_texts,
    search_texts,
    split_lines,
)
from tracklight.plugin import Blob, Context, Dashboard, Route


class TextDashboard(Dashboard):
    """Renders texts on the server, so that the page only gets safe HTML."""

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

    def steps(self, request: StepsRequest) -> StepsResponse:
        """Return the steps and times at which texts were logged."""
        return list_steps(self.context, request)

    def render(self, request: TextRequest) -> TextResponse:
        """Return a text as safe HTML or raw, or a part of an array as a table."""
        return render_texts(self._reader.read(request), request)

    def raw(self, request: RawTextRequest) -> Blob:
        """Return a raw text as a file; an array as JSON."""
        return create_text_file(self._reader.read(request), request)

    def search(self, request: TextSearchRequest) -> TextSearchResponse:
        """Search the texts of some tags and runs and return matching lines."""
        return search_texts(self.context, request)

    def diff(self, request: TextDiffRequest) -> TextDiffResponse:
        """Compare two texts line by line and mark the words that differ."""
        before = split_lines(self._reader.read(request.before))
        after = split_lines(self._reader.read(request.after))
        return diff_texts(before, after, request.context)

    def _export_value(self, request: ValueRequest) -> Iterator[tuple[str, object]]:
        """Yield the responses with which the page shows a text in both forms."""
        texts = self._reader.read(request)
        fields = request.run, request.tag, request.index, request.fingerprint
        for form in ("markdown", "raw"):
            response = render_texts(texts, TextRequest(*fields, form))
            yield value_path("render", request, form=form), response
        yield value_path("raw", request), create_text_file(texts, RawTextRequest(*fields))
