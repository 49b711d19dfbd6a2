"""All that a server is told when it is started."""

from __future__ import annotations

from dataclasses import dataclass

from tracklight.server.alerts import NO_ALERTS, AlertSettings
from tracklight.server.door import PLAIN_DOOR, Door

#: Listening there is listening at every address of the machine, of either kind.
EVERYWHERE = ""


@dataclass(frozen=True)
class Settings:
    """Where a board is served, to whom, and how.

    Port 0 takes a free one; no port at all takes 6006, or the next after it that is free. Bound
    to other than this machine, the address carries a token without which nobody gets in, unless
    ``open_to_all`` waives that. A ``reload_interval_s`` of 0 reads the log once.
    """

    host: str = "localhost"
    port: int | None = None
    path_prefix: str = ""
    trusted_hosts: tuple[str, ...] = ()
    open_to_all: bool = False
    door: Door = PLAIN_DOOR
    window_title: str = ""
    reload_interval_s: float | None = None
    reuse_port: bool = False
    alerts: AlertSettings = NO_ALERTS
