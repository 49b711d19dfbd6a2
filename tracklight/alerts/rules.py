"""Parse and validate alert rules.

On the command line a rule is a pattern for series (see `tracklight.logdir.globs`) and a condition:

    train/loss above 10
    */loss nan
    re:acc(uracy)?$ below 0.1
    val/acc stalled 500 max        no higher value for 500 steps
"""

from __future__ import annotations

import math
import re

import msgspec

from tracklight.errors import UsageError
from tracklight.logdir.globs import compile_series_pattern
from tracklight.notes.book import Rule

_TEXT = re.compile(
    r"(?P<tag>\S.*?)\s+(?:(?P<nan>nan)|(?P<kind>above|below)\s+(?P<value>\S+)"
    r"|stalled\s+(?P<steps>\S+)(?:\s+(?P<goal>min|max))?)"
)


def parse_rule(text: str, id: str) -> Rule:
    """A rule as it is given on the command line."""
    match = _TEXT.fullmatch(text.strip())
    if match is None:
        raise UsageError(
            f'"{text}" is no rule; one reads "TAG above NUMBER", "TAG below NUMBER", "TAG nan" or '
            '"TAG stalled STEPS min" (or max)'
        )
    words = match.groupdict()
    rule = msgspec.convert(
        {
            "id": id,
            "tag": words["tag"],
            "kind": words["nan"] or words["kind"] or "stalled",
            "value": _parse_number(words["value"] or words["steps"]),
            "goal": words["goal"] or ("min" if words["steps"] else None),
        },
        Rule,
    )
    check_rule(rule)
    return rule


def check_rule(rule: Rule) -> None:
    """Raise a UsageError that says what is wrong, if anything is."""
    compile_series_pattern(rule.tag)
    if rule.kind == "nan":
        return
    if rule.value is None or not math.isfinite(rule.value):
        raise UsageError(f'the rule on "{rule.tag}" needs a number for "{rule.kind}"')
    if rule.kind == "stalled" and rule.value <= 0:
        raise UsageError(f'the rule on "{rule.tag}" needs at least one step for "stalled"')


def _parse_number(text: str | None) -> float | None:
    try:
        return None if text is None else float(text)
    except ValueError:
        raise UsageError(f'"{text}" is no number') from None
