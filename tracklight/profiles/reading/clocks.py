"""Sets the clock of a device right, where the capture itself shows that it is wrong.

No kernel begins before the call that launches it. Where one does, the device's clock is behind that
of its host, and where all begin long after, it is ahead: then steps of the host and work of the
device would never meet. Who is launched by whom is told by numbers.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tracklight.profiles.durations import format_ms
from tracklight.profiles.trace import Trace
from tracklight.types import Bool, Int64

_KEYS = ("correlation_id", "correlation")
#: Clocks of devices are only known to so much; what is less is left as it is.
_LEAST_BEHIND_PS = 100_000_000
#: So long does no launch wait, if there are many.
_LEAST_AHEAD_PS = 10_000_000_000_000
_MS = 1e9


def set_clocks(trace: Trace) -> Trace:
    """The trace with devices moved in time so that what is launched follows its launch."""
    problems = list(trace.problems)
    start = trace.start_ps
    for process in sorted({track.process for track in trace.tracks if track.is_device}):
        mine = np.array([track.process == process for track in trace.tracks])[trace.track]
        waits = _find_waits(trace, mine & trace.on_device)
        shift = _find_shift(waits)
        if shift:
            start = start + np.where(mine & trace.on_device, shift, 0)
            way = "behind" if shift > 0 else "ahead of"
            problems.append(
                f"the clock of {process} was {format_ms(abs(shift) / _MS)} {way} the host's: "
                "corrected"
            )
    if start is trace.start_ps:
        return trace
    return replace(trace, start_ps=start - min(int(start.min()), 0), problems=tuple(problems))


def _find_shift(waits: Int64) -> int:
    if not len(waits):
        return 0
    # The shortest, but for a few that may be numbered wrong.
    few = len(waits) // 100
    least = int(np.partition(waits, few)[few])
    return -least if least < -_LEAST_BEHIND_PS or least > _LEAST_AHEAD_PS else 0


def _find_waits(trace: Trace, mine: Bool) -> Int64:
    """From the beginning of each launch to that of what it launched."""
    for key in _KEYS:
        events, numbers = trace.find_numbers(key)
        if len(events):
            calls = ~trace.on_device[events]
            order = np.argsort(numbers[calls], kind="stable")
            launched, launches = numbers[calls][order], events[calls][order]
            kernels, asked = events[mine[events]], numbers[mine[events]]
            place = np.searchsorted(launched, asked)
            met = place < len(launched)
            met[met] = launched[place[met]] == asked[met]
            waits: Int64 = trace.start_ps[kernels[met]] - trace.start_ps[launches[place[met]]]
            return waits
    return np.empty(0, np.int64)
