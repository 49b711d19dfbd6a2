"""``tracklight serve`` and ``tracklight password``: start the web server, hash its passwords.

Modules that few servers need (Optuna, webhooks, the browser) are imported on use, because every
import stays in memory for as long as the server runs.
"""

from __future__ import annotations

import sys
import tempfile
from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

from tracklight.analysis.debugger import DEFAULT_ALERT_KINDS, parse_alert_kinds
from tracklight.analysis.source import DataAccess
from tracklight.cli.logdir_arg import (
    check_positional_paths,
    create_catalog,
    list_missing,
    parse_data_dirs,
    show_loading,
    suggest_path,
)
from tracklight.errors import UsageError
from tracklight.logdir.object_store import METER
from tracklight.server.alerts import parse_rule
from tracklight.server.alerts.monitor import AlertSettings
from tracklight.server.app import ALL_INTERFACES, AuthSettings, Settings
from tracklight.server.middleware import AuditLog
from tracklight.server.serve import run_server
from tracklight.util.memory import limit_memory_retention


def serve(flags: Namespace, query: str = "") -> None:
    """Serve a log until Ctrl-C or SIGTERM. ``query`` is added to the URL that is shown."""
    check_positional_paths(flags)
    settings = parse_settings(flags)
    _configure_logging()
    limit_memory_retention()
    with ExitStack() as stack:
        studies = stack.enter_context(open_studies(flags.optuna))
        if flags.request_budget is not None:
            METER.set_budget(flags.request_budget)
        if flags.notifications:
            from tracklight.logdir.object_store import follow_notifications

            stack.enter_context(follow_notifications(flags.notifications))
        catalog = create_catalog(flags, studies)
        stack.callback(catalog.close)
        for path in list_missing(catalog.roots):
            _print_note(f'"{path}" does not exist yet; waiting for it.{suggest_path(path)}')

        def announce(url: str) -> None:
            if query:
                url += f"{'&' if '?' in url else '?'}{query}"
            print(f"tracklight at {url} (Ctrl-C to quit)", flush=True)
            stack.enter_context(show_loading(catalog, sys.stderr))
            if flags.open:
                _open_browser(url)

        if catalog.cluster is not None:
            from tracklight.analysis.jobs import ClusterTasks

            access = replace(settings.access, tasks=ClusterTasks(catalog.cluster))
            settings = replace(settings, access=access)
        run_server(catalog, settings, announce)


def password(flags: Namespace) -> None:
    """Prompt for a password and print the value for ``--auth``."""
    import getpass

    from tracklight.server.auth import prompt_password

    prompt_password(flags.user or getpass.getuser())


def parse_settings(flags: Namespace) -> Settings:
    """Convert the flags of ``serve`` to server settings.

    Raises:
        UsageError: The flags contradict each other, or an alert rule is invalid.
    """
    if flags.host and flags.bind_all:
        raise UsageError("give --host or --bind_all, not both")
    return Settings(
        host=ALL_INTERFACES if flags.bind_all else flags.host or "localhost",
        port=flags.port,
        path_prefix=flags.path_prefix,
        trusted_hosts=tuple(flags.trusted_host),
        embed_origins=tuple(flags.embed_origin),
        open_to_all=flags.no_token,
        auth=_parse_auth(flags),
        window_title=flags.window_title,
        reload_interval_s=flags.reload_interval,
        reuse_port=flags.reuse_port,
        alerts=_parse_alerts(flags),
        access=_parse_access(flags),
        audit_log=AuditLog(flags.audit_log) if flags.audit_log else None,
    )


@contextmanager
def open_studies(urls: Sequence[str]) -> Iterator[dict[str, Path]]:
    """Mirror Optuna storages into temporary log directories, and keep them up to date.

    Yields:
        The directories by name: ``optuna``, ``optuna-2`` and so on.
    """
    with ExitStack() as stack:
        folders = {}
        for number, url in enumerate(urls, 1):
            from tracklight.hparams.optuna_studies import follow_studies

            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="tracklight-optuna-"))
            stack.enter_context(follow_studies(url, Path(folder)))
            folders["optuna" if number == 1 else f"optuna-{number}"] = Path(folder)
        yield folders


def _parse_auth(flags: Namespace) -> AuthSettings:
    names = [name.strip() for text in flags.writers for name in text.split(",")]
    return AuthSettings(
        users=tuple(flags.auth),
        tls_cert=flags.tls_cert,
        tls_key=flags.tls_key,
        read_only=flags.read_only,
        writers=tuple(filter(None, names)) if flags.writers else None,
        user_header=flags.user_header,
    )


def _parse_access(flags: Namespace) -> DataAccess:
    return DataAccess(
        parse_data_dirs(flags.data_dir),
        tuple(flags.model_host),
        flags.allow_model_execution,
    )


def _parse_alerts(flags: Namespace) -> AlertSettings:
    rules = [parse_rule(text, f"flag-{number}") for number, text in enumerate(flags.alert, 1)]
    if flags.alert_webhook:
        from tracklight.server.alerts.monitor import validate_webhook_url

        validate_webhook_url(flags.alert_webhook)
    kinds = flags.debugger_alerts
    return AlertSettings(
        tuple(rules),
        flags.alert_webhook,
        DEFAULT_ALERT_KINDS if kinds is None else parse_alert_kinds(kinds),
    )


def _configure_logging() -> None:
    """Print warnings and errors of the server with the prefix of all other messages."""
    import logging

    logging.basicConfig(format="tracklight: %(message)s", level=logging.WARNING)


def _open_browser(url: str) -> None:
    import webbrowser

    if not webbrowser.open(url):
        _print_note("could not open a browser")


def _print_note(text: str) -> None:
    print(f"tracklight: note: {text}", file=sys.stderr)
