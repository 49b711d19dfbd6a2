"""Finds words in all texts of some tags and runs, newest first, for as long as somebody waits."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from itertools import islice

import numpy as np

from tracklight.dashboards.text.answers import TextHit, TextSearchAnswer
from tracklight.dashboards.text.asks import TextSearchAsk
from tracklight.dashboards.text.files import iter_strings
from tracklight.dashboards.text.layout import Texts
from tracklight.dashboards.text.matching import Matcher, open_matcher
from tracklight.dashboards.text.places import Place, Places
from tracklight.errors import UsageError
from tracklight.media.markdown.deadline import TooLong
from tracklight.plugin import Context

_MOST_SECONDS = 2.0
_MOST_HITS = 200
#: Characters that are shown on either side of a match, and of the match itself.
_AROUND = 60
_MOST_MATCH = 200


def search(context: Context, ask: TextSearchAsk) -> TextSearchAnswer:
    """Hits in the order in which texts were logged, the last first."""
    places = Places(context, ask.tags, ask.runs)
    answer = TextSearchAnswer([], ask.skip, len(places), 0)
    with closing(open_matcher(ask, _MOST_SECONDS)) as matcher:
        for place, text in places.iter_texts(ask.skip):
            try:
                hits = _iter_hits(text.array, place, matcher) if text else ()
                answer.hits += islice(hits, _MOST_HITS)
            except TooLong:
                _say_if_stuck(answer.searched == ask.skip, place)
                break
            answer.unreadable += text is None
            answer.searched += 1
            if len(answer.hits) >= _MOST_HITS:
                break
    return answer


def _say_if_stuck(is_first: bool, place: Place) -> None:
    """Who asks again would come to the same text again."""
    if is_first:
        step = place.series.step[place.index]
        where = f'the text of "{place.series.tag}" at step {step}'
        raise UsageError(f"this expression takes too long on {where}; make it simpler")


def _iter_hits(texts: Texts, place: Place, matcher: Matcher) -> Iterator[TextHit]:
    series, index = place.series, place.index
    for position, text in iter_strings(texts):
        lines = None
        for number, start, stop in matcher.find(text):
            lines = lines or text.split("\n")
            line, stop = lines[number], min(stop, start + _MOST_MATCH)
            yield TextHit(
                run=series.run,
                tag=series.tag,
                index=index,
                mark=place.mark,
                step=int(series.step[index]),
                wall_time=float(np.nan_to_num(series.wall_time[index])),
                place=position,
                line=number + 1,
                before=line[max(0, start - _AROUND) : start],
                match=line[start:stop],
                after=line[stop : stop + _AROUND],
            )
