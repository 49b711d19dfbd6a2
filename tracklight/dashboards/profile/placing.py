"""Which instruction and which op each event is: several tools ask, and it takes long to find."""

from __future__ import annotations

from tracklight.dashboards.profile.opened import Opened
from tracklight.profiles.ops.book import Naming
from tracklight.profiles.ops.naming import name_ops
from tracklight.profiles.ops.sums import Ops, sum_ops
from tracklight.profiles.program.program import Placement, Program, place_events, read_programs
from tracklight.profiles.steps.division import Rules
from tracklight.profiles.xprof.host_ops import sum_as_xprof


def get_programs(opened: Opened) -> list[Program]:
    return opened.find("programs", lambda: read_programs(opened.trace))


def get_placement(opened: Opened) -> Placement:
    return opened.find("placement", lambda: place_events(opened.trace, get_programs(opened)))


def get_naming(opened: Opened) -> Naming:
    return opened.find("naming", lambda: name_ops(opened.trace, get_placement(opened)))


def get_ops(opened: Opened, rules: Rules = "ours") -> Ops:
    if rules == "xprof":
        return opened.find("ops of xprof", lambda: sum_as_xprof(opened.trace))
    return opened.find("ops", lambda: sum_ops(opened.trace, get_naming(opened)))
