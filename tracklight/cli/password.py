"""Asks for a password, and prints what lets in who knows it."""

from __future__ import annotations

import getpass
from argparse import Namespace

from tracklight.server.password import main


def password(flags: Namespace) -> None:
    main(flags.user or getpass.getuser())
