"""Serves a log until it is stopped; imports nothing that a board at rest has no use for."""

from __future__ import annotations

import sys
from argparse import Namespace
from contextlib import ExitStack

from tracklight.alerts.rules import parse_rule
from tracklight.cli.catalog import create_catalog
from tracklight.cli.loading import show_loading
from tracklight.cli.missing import check_positional, find_missing, suggest_path
from tracklight.cli.studies import open_studies
from tracklight.errors import UsageError
from tracklight.index.memory import be_frugal
from tracklight.server.alerts import AlertSettings
from tracklight.server.door import Door
from tracklight.server.run import serve as run_server
from tracklight.server.settings import EVERYWHERE, Settings


def serve(flags: Namespace) -> None:
    check_positional(flags)
    settings = parse_settings(flags)
    _configure_logging()
    be_frugal()
    with ExitStack() as ending:
        studies = ending.enter_context(open_studies(flags.optuna))
        catalog = create_catalog(flags, studies)
        ending.callback(catalog.close)
        for path in find_missing(catalog.roots):
            waiting = f'"{path}" does not exist yet; waiting for it.{suggest_path(path)}'
            print(f"tracklight: note: {waiting}", file=sys.stderr)

        def announce(url: str) -> None:
            print(f"tracklight at {url} (Ctrl-C to quit)", flush=True)
            ending.enter_context(show_loading(catalog, sys.stderr))
            if flags.open:
                _open_browser(url)

        run_server(catalog, settings, announce)


def parse_settings(flags: Namespace) -> Settings:
    if flags.host and flags.bind_all:
        raise UsageError("give --host or --bind_all, not both")
    return Settings(
        host=EVERYWHERE if flags.bind_all else flags.host or "localhost",
        port=flags.port,
        path_prefix=flags.path_prefix,
        trusted_hosts=tuple(flags.trusted_host),
        open_to_all=flags.no_token,
        door=Door(tuple(flags.auth), flags.tls_cert, flags.tls_key, flags.read_only),
        window_title=flags.window_title,
        reload_interval_s=flags.reload_interval,
        reuse_port=flags.reuse_port,
        alerts=_parse_alerts(flags),
    )


def _configure_logging() -> None:
    """Give warnings and errors of the server the prefix that all messages have."""
    import logging

    logging.basicConfig(format="tracklight: %(message)s", level=logging.WARNING)


def _open_browser(url: str) -> None:
    import webbrowser

    if not webbrowser.open(url):
        print("tracklight: note: no browser could be opened here", file=sys.stderr)


def _parse_alerts(flags: Namespace) -> AlertSettings:
    rules = [parse_rule(text, f"flag-{number}") for number, text in enumerate(flags.alert, 1)]
    if flags.alert_webhook:
        from tracklight.alerts.webhook import check_url

        check_url(flags.alert_webhook)
    return AlertSettings(tuple(rules), flags.alert_webhook)
