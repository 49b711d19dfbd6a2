"""Serves a log until it is stopped; imports nothing that a board at rest has no use for."""

from __future__ import annotations

from argparse import Namespace

from tracklight.alerts.rules import parse_rule
from tracklight.cli.catalog import create_catalog
from tracklight.errors import UsageError
from tracklight.index.memory import be_frugal
from tracklight.server.alerts import AlertSettings
from tracklight.server.run import serve as run_server


def serve(flags: Namespace) -> None:
    if flags.host and flags.bind_all:
        raise UsageError("give --host or --bind_all, not both")
    alerts = _parse_alerts(flags)
    be_frugal()
    catalog = create_catalog(flags)
    try:
        run_server(
            catalog,
            "0.0.0.0" if flags.bind_all else flags.host or "localhost",
            flags.port,
            path_prefix=flags.path_prefix,
            trusted_hosts=flags.trusted_host,
            open_to_all=flags.no_token,
            alerts=alerts,
            announce=lambda url: print(f"tracklight at {url} (Ctrl-C to quit)", flush=True),
        )
    finally:
        catalog.close()


def _parse_alerts(flags: Namespace) -> AlertSettings:
    rules = [parse_rule(text, f"flag-{number}") for number, text in enumerate(flags.alert, 1)]
    if flags.alert_webhook:
        from tracklight.alerts.webhook import check_url

        check_url(flags.alert_webhook)
    return AlertSettings(tuple(rules), flags.alert_webhook)
