"""``tracklight doctor``: check the installation and a log directory."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Iterator

import msgspec

from tracklight.cli.catalog import create_catalog
from tracklight.cli.check_install import check_install
from tracklight.cli.check_log import check_log
from tracklight.cli.findings import Section, is_unwell, iter_lines
from tracklight.cli.given import find_given
from tracklight.cli.loading import count_bytes
from tracklight.cli.progress import show_bar
from tracklight.cli.statuses import UNWELL


def doctor(flags: Namespace) -> int:
    sections = list(_iter_sections(flags))
    if flags.json:
        sys.stdout.buffer.write(msgspec.json.encode(sections) + b"\n")
    else:
        sys.stdout.writelines(f"{line}\n" for line in iter_lines(sections))
    return UNWELL if is_unwell(sections) else 0


def _iter_sections(flags: Namespace) -> Iterator[Section]:
    yield check_install()
    if find_given(flags) is None:
        return
    catalog = create_catalog(flags)
    try:
        with show_bar("reading", lambda: count_bytes(catalog)):
            catalog.refresh()
        yield from check_log(catalog)
    finally:
        catalog.close()
