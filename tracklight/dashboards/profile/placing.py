"""Which instruction of a program each event is: several tools ask, and it takes long to find."""

from __future__ import annotations

from tracklight.dashboards.profile.opened import Opened
from tracklight.profiles.program import Placement, Program, place_events, read_programs


def get_programs(opened: Opened) -> list[Program]:
    return opened.find("programs", lambda: read_programs(opened.trace))


def get_placement(opened: Opened) -> Placement:
    return opened.find("placement", lambda: place_events(opened.trace, get_programs(opened)))
