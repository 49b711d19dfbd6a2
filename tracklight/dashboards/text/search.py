"""Finds words in all texts of some tags and runs, newest first, for as long as somebody waits."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import islice

import numpy as np

from tracklight.dashboards.text.answers import TextHit, TextSearchAnswer
from tracklight.dashboards.text.asks import TextSearchAsk
from tracklight.dashboards.text.files import iter_strings
from tracklight.dashboards.text.layout import Texts
from tracklight.dashboards.text.matching import Matcher, open_matcher
from tracklight.dashboards.text.reading import TextReader
from tracklight.errors import TracklightError, UsageError
from tracklight.media.markdown.deadline import TooLong
from tracklight.media.reader import ValueAsk
from tracklight.media.steps import StepsAsk, list_steps
from tracklight.plugin import Context

_MOST_SECONDS = 2.0
_MOST_HITS = 200
#: Characters that are shown on either side of a match, and of the match itself.
_AROUND = 60
_MOST_MATCH = 200


@dataclass(frozen=True)
class Place:
    """A text that may be searched, and when it was logged."""

    ask: ValueAsk
    step: int
    wall_time: float


def search(context: Context, reader: TextReader, ask: TextSearchAsk) -> TextSearchAnswer:
    """Hits in the order in which texts were logged, the last first."""
    places = _list_places(context, ask)
    answer = TextSearchAnswer([], ask.skip, len(places), 0)
    with closing(open_matcher(ask, _MOST_SECONDS)) as matcher:
        for place in places[ask.skip :]:
            try:
                answer.hits += _search_one(reader, place, matcher)
            except TooLong:
                _say_if_stuck(answer.searched == ask.skip, place)
                break
            except TracklightError:
                answer.unreadable += 1
            answer.searched += 1
            if len(answer.hits) >= _MOST_HITS:
                break
    return answer


def _list_places(context: Context, ask: TextSearchAsk) -> list[Place]:
    places = [
        Place(ValueAsk(series.run, series.tag, index, mark), step, wall_time)
        for series in list_steps(context, StepsAsk(ask.tags, ask.runs)).series
        for index, mark, step, wall_time in zip(
            series.index.tolist(),
            series.mark.tolist(),
            series.step.tolist(),
            np.nan_to_num(series.wall_time).tolist(),
            strict=True,
        )
    ]
    return sorted(places, key=lambda place: (place.wall_time, place.step), reverse=True)


def _say_if_stuck(is_first: bool, place: Place) -> None:
    """Who asks again would come to the same text again."""
    if is_first:
        where = f'the text of "{place.ask.tag}" at step {place.step}'
        raise UsageError(f"this expression takes too long on {where}; make it simpler")


def _search_one(reader: TextReader, place: Place, matcher: Matcher) -> list[TextHit]:
    return list(islice(_iter_hits(reader.read(place.ask), place, matcher), _MOST_HITS))


def _iter_hits(texts: Texts, place: Place, matcher: Matcher) -> Iterator[TextHit]:
    ask = place.ask
    assert ask.mark is not None
    for position, text in iter_strings(texts):
        lines = None
        for number, start, stop in matcher.find(text):
            lines = lines or text.split("\n")
            line, stop = lines[number], min(stop, start + _MOST_MATCH)
            yield TextHit(
                run=ask.run,
                tag=ask.tag,
                index=ask.index,
                mark=ask.mark,
                step=place.step,
                wall_time=place.wall_time,
                place=position,
                line=number + 1,
                before=line[max(0, start - _AROUND) : start],
                match=line[start:stop],
                after=line[stop : stop + _AROUND],
            )
