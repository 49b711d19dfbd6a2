"""Asks for a password, and prints what lets in who knows it."""

from __future__ import annotations

import getpass
from argparse import Namespace

from tracklight.server.auth import prompt_password


def password(flags: Namespace) -> None:
    prompt_password(flags.user or getpass.getuser())
