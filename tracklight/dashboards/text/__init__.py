"""The Text dashboard: Markdown and arrays of strings at every step, searched and compared."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tracklight.dashboards.text.answers import TextAnswer, TextDiffAnswer, TextSearchAnswer
from tracklight.dashboards.text.asks import RawTextAsk, TextAsk, TextDiffAsk, TextSearchAsk
from tracklight.dashboards.text.files import make_file, split_lines
from tracklight.dashboards.text.layout import lay_out
from tracklight.dashboards.text.reading import TextReader
from tracklight.media.addresses import value_path
from tracklight.media.copies import iter_copies
from tracklight.media.reader import ValueAsk, has_mark
from tracklight.media.steps import StepsAnswer, StepsAsk, list_steps
from tracklight.plugin import Blob, Context, Dashboard, Route


class Text(Dashboard):
    """Lays texts out where they are read, so that the page gets nothing but safe HTML."""

    name = "text"
    title = "Text"
    plugins = ("text",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._reader = TextReader(context)

    def routes(self) -> Sequence[Route]:
        return [
            Route("steps", StepsAsk, self.steps),
            Route("render", TextAsk, self.render, "GET", immutable=has_mark),
            Route("raw", RawTextAsk, self.raw, "GET"),
            Route("search", TextSearchAsk, self.search),
            Route("diff", TextDiffAsk, self.diff),
        ]

    def export_static(self, runs: Sequence[str]) -> Iterator[tuple[str, object]]:
        return iter_copies(self.context, self.plugins, runs, self._copy)

    def steps(self, ask: StepsAsk) -> StepsAnswer:
        """When texts were logged."""
        return list_steps(self.context, ask)

    def render(self, ask: TextAsk) -> TextAnswer:
        """One text as safe HTML or as it was logged, or a part of an array as a table."""
        return lay_out(self._reader.read(ask), ask)

    def raw(self, ask: RawTextAsk) -> Blob:
        """One text as it was logged, as a file; an array as JSON."""
        return make_file(self._reader.read(ask), ask)

    def search(self, ask: TextSearchAsk) -> TextSearchAnswer:
        """Lines in which something is found, in all texts of some tags and runs."""
        # Only who searches has to load this.
        from tracklight.dashboards.text.search import search

        return search(self.context, ask)

    def diff(self, ask: TextDiffAsk) -> TextDiffAnswer:
        """Two texts line by line, with the words that differ."""
        from tracklight.dashboards.text.diff import compare

        before, after = (split_lines(self._reader.read(one)) for one in (ask.before, ask.after))
        return compare(before, after, ask.context)

    def _copy(self, ask: ValueAsk) -> Iterator[tuple[str, object]]:
        """What the page asks for to show a text either way."""
        texts = self._reader.read(ask)
        for form in ("markdown", "raw"):
            whole = TextAsk(ask.run, ask.tag, ask.index, ask.mark, form)
            yield value_path("render", ask, form=form), lay_out(texts, whole)
        yield value_path("raw", ask), make_file(texts, RawTextAsk(*_fields(ask)))


def _fields(ask: ValueAsk) -> tuple[str, str, int, int | None]:
    return ask.run, ask.tag, ask.index, ask.mark
