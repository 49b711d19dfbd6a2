"""Studies of Optuna as a further log directory."""

from __future__ import annotations

import sys
import tempfile
from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tracklight.cli.logdir_arg import (
    check_positional_paths,
    create_catalog,
    list_missing,
    suggest_path,
)
from tracklight.cli.progress import show_loading
from tracklight.errors import UsageError
from tracklight.server.alerts.monitor import AlertSettings
from tracklight.server.alerts.rules import parse_rule
from tracklight.server.app import ALL_INTERFACES, AuthSettings, Settings
from tracklight.server.serve import run_server
from tracklight.util.memory import limit_memory_retention


@contextmanager
def open_studies(urls: Sequence[str]) -> Iterator[dict[str, Path]]:
    """By name, folders in which the studies of each storage are runs for as long as this lasts."""
    with ExitStack() as ending:
        folders = {}
        for number, url in enumerate(urls, 1):
            from tracklight.hparams.optuna_studies import follow_studies  # few have studies

            folder = ending.enter_context(tempfile.TemporaryDirectory(prefix="tracklight-optuna-"))
            ending.enter_context(follow_studies(url, Path(folder)))
            folders["optuna" if number == 1 else f"optuna-{number}"] = Path(folder)
        yield folders


# Serves a log until it is stopped; imports nothing that a board at rest has no use for.


def serve(flags: Namespace) -> None:
    check_positional_paths(flags)
    settings = parse_settings(flags)
    _configure_logging()
    limit_memory_retention()
    with ExitStack() as ending:
        studies = ending.enter_context(open_studies(flags.optuna))
        catalog = create_catalog(flags, studies)
        ending.callback(catalog.close)
        for path in list_missing(catalog.roots):
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
        host=ALL_INTERFACES if flags.bind_all else flags.host or "localhost",
        port=flags.port,
        path_prefix=flags.path_prefix,
        trusted_hosts=tuple(flags.trusted_host),
        open_to_all=flags.no_token,
        auth=AuthSettings(tuple(flags.auth), flags.tls_cert, flags.tls_key, flags.read_only),
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
        from tracklight.server.alerts.webhook import validate_webhook_url

        validate_webhook_url(flags.alert_webhook)
    return AlertSettings(tuple(rules), flags.alert_webhook)
