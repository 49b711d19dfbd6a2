from __future__ import annotations

import pytest

from tracklight.analysis.debugger import AlertKind, parse_alert_kinds
from tracklight.errors import UsageError
from tracklight.server.alerts import AlertRule, parse_rule, validate_rule


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
def test_parses_rules(text: str, rule: AlertRule) -> None:
    assert parse_rule(text, "1") == rule


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("loss", "is not an alert rule"),
        ("above 5", "is not an alert rule"),
        ("loss above", "is not an alert rule"),
        ("loss above five", '"five" is not a number'),
        ("loss above nan", "needs a number"),
        ("loss stalled 0", "at least one step"),
        ("/(/ nan", "is not a valid regular expression"),
    ],
)
def test_invalid_rule_raises_usage_error(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse_rule(text, "1")


def test_rule_without_number_is_invalid() -> None:
    with pytest.raises(UsageError, match='needs a number for "above"'):
        validate_rule(AlertRule("1", "loss", "above"))


def test_parses_kinds_of_debugger_alerts() -> None:
    assert parse_alert_kinds("all") == frozenset(AlertKind)
    assert parse_alert_kinds("none") == frozenset()
    assert parse_alert_kinds("nan, dead_units") == {AlertKind.NAN, AlertKind.DEAD_UNITS}
    with pytest.raises(UsageError, match='no kind "nans"; write "all", "none" or some of nan, inf'):
        parse_alert_kinds("nans")
