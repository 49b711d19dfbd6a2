from __future__ import annotations

import pytest

from tracklight.errors import UsageError
from tracklight.server.alerts.rules import parse_rule, validate_rule
from tracklight.server.alerts.rules import AlertRule


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("train/loss above 10", AlertRule("1", "train/loss", "above", 10.0)),
        ("my own tag below -1e-3", AlertRule("1", "my own tag", "below", -0.001)),
        ("*/loss nan", AlertRule("1", "*/loss", "nan")),
        ("val/acc stalled 500 max", AlertRule("1", "val/acc", "stalled", 500.0, "max")),
        ("loss stalled 20", AlertRule("1", "loss", "stalled", 20.0, "min")),
    ],
)
def test_a_rule_is_read_as_it_is_written(text: str, rule: AlertRule) -> None:
    assert parse_rule(text, "1") == rule


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("loss", "is no rule"),
        ("above 5", "is no rule"),
        ("loss above", "is no rule"),
        ("loss above five", '"five" is no number'),
        ("loss above nan", "needs a number"),
        ("loss stalled 0", "at least one step"),
        ("/(/ nan", "is not a valid regular expression"),
    ],
)
def test_what_is_wrong_with_a_rule_is_said(text: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        parse_rule(text, "1")


def test_a_rule_from_the_page_needs_its_number() -> None:
    with pytest.raises(UsageError, match='needs a number for "above"'):
        validate_rule(AlertRule("1", "loss", "above"))
