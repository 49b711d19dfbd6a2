"""The alert in the README fires for the run that the README's own example writes."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest

import tracklight
from tracklight import summary
from tracklight.server.alerts import parse_rule
from tracklight.server.alerts.monitor import AlertMonitor

ROOT = Path(__file__).parents[3]


def read_readme_alerts() -> list[str]:
    return re.findall(r"--alert '([^']+)'", (ROOT / "README.md").read_text(encoding="utf-8"))


def read_readme_writer() -> str:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (block,) = re.findall(
        r"```python\n(from tracklight import summary\n.*?)```", text, flags=re.DOTALL
    )
    return str(block)


def test_documented_alert_fires(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (alert,) = read_readme_alerts()
    exec(read_readme_writer(), {})
    with tracklight.open("logs", cache=False) as log:
        monitor = AlertMonitor(log.catalog)
        assert monitor.set_rules([parse_rule(alert, "readme")], log.runs) == []
        with summary.create_file_writer("logs/mine").as_default():
            summary.scalar("loss", math.nan, step=100)
        log.refresh()
        (fired,) = monitor.check_new_points(log.runs)
    assert (fired.run, fired.tag, fired.step) == ("mine", "loss", 100)


def test_documented_alerts_are_valid() -> None:
    text = (ROOT / "docs" / "alerts.md").read_text(encoding="utf-8")
    alerts = re.findall(r"--alert '([^']+)'", text)
    assert alerts
    for alert in alerts:
        parse_rule(alert, "docs")
