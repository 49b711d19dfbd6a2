"""Whether a process that is known by its id still runs, if that can be told from here."""

from __future__ import annotations

import os

#: Tolerance for the rounding of start times, in seconds.
_START_TOLERANCE_S = 2.0


def find_pid_namespace() -> str:
    """Return a text that is the same for all processes that see the same process ids.

    It changes when the machine is started again, and differs between containers. Empty where the
    system does not tell, which is everywhere but on Linux.
    """
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            boot_id = file.read().strip()
        return f"{boot_id}/{os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return ""


def is_process_alive(pid: int, wall_time: float) -> bool:
    """Return whether a process of this namespace still runs.

    Args:
        pid: The id of the process.
        wall_time: A time at which the process ran. A process that started later has reused the id.
    """
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            # The name of the program, in parentheses, may contain spaces.
            fields = file.read().rpartition(b")")[2].split()
    except OSError:
        return False
    state, start_ticks = fields[0], int(fields[19])
    started_s = _read_boot_time_s() + start_ticks / os.sysconf("SC_CLK_TCK")
    return state not in (b"Z", b"X") and started_s <= wall_time + _START_TOLERANCE_S


def _read_boot_time_s() -> float:
    with open("/proc/stat", "rb") as file:
        return next(float(line.split()[1]) for line in file if line.startswith(b"btime "))
