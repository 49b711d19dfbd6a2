"""Reads rules, and says what is wrong with one that makes no sense.

On the command line a rule is a tag and what must not happen to it:

    train/loss above 10
    */loss nan
    /acc(uracy)?$/ below 0.1
    val/acc stalled 500 max        no higher value for 500 steps
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from fnmatch import translate

import msgspec

from tracklight.errors import UsageError
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
    match_tags(rule.tag)
    if rule.kind == "nan":
        return
    if rule.value is None or not math.isfinite(rule.value):
        raise UsageError(f'the rule on "{rule.tag}" needs a number for "{rule.kind}"')
    if rule.kind == "stalled" and rule.value <= 0:
        raise UsageError(f'the rule on "{rule.tag}" needs at least one step for "stalled"')


def match_tags(pattern: str) -> Callable[[str], bool]:
    """What tells whether a tag is meant: by a glob, or by a regular expression in slashes."""
    if len(pattern) > 1 and pattern.startswith("/") and pattern.endswith("/"):
        try:
            expression = re.compile(pattern[1:-1])
        except re.error as error:
            raise UsageError(f"{pattern} is no regular expression: {error}") from error
        return lambda tag: expression.search(tag) is not None
    glob = re.compile(translate(pattern))
    return lambda tag: glob.match(tag) is not None


def _parse_number(text: str | None) -> float | None:
    try:
        return None if text is None else float(text)
    except ValueError:
        raise UsageError(f'"{text}" is no number') from None
