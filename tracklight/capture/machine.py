"""Logs how busy the machine is while a program runs, beside its own scalars."""

from __future__ import annotations

import threading
from collections import defaultdict

from tracklight.capture.readings import Readings
from tracklight.sdk import lenient
from tracklight.sdk.writer import EventWriter

_EVERY_S = 1.0
_SUFFIX = ".system"
_ENDS_S = 5.0


class MachineLog:
    """Takes a reading each second, in a thread of its own.

    Curves of scalars go by steps, so what is logged is the mean of all readings of a step, or of
    the steps of a second where those are short. A program that counts no steps gets one a reading.
    """

    def __init__(self, folder: str, *, strict: bool, every_s: float = _EVERY_S) -> None:
        self.step: int | None = None
        self._folder, self._strict, self._every_s = folder, strict, every_s
        self._is_over = threading.Event()
        self._thread: threading.Thread | None = None
        self._sums: dict[str, list[float]] = defaultdict(list)
        self._logged = -1

    def start(self) -> None:
        self._readings = Readings()
        self._writer = EventWriter(self._folder, filename_suffix=_SUFFIX, strict=self._strict)
        self._thread = threading.Thread(target=self._run, name="tracklight-machine", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Take a last reading, and close the file."""
        thread, self._thread = self._thread, None
        if thread is not None:
            self._is_over.set()
            thread.join(_ENDS_S)
            self._writer.close()

    def _run(self) -> None:
        with lenient.guard("profile (sample)", strict=False):
            while not self._is_over.wait(self._every_s):
                self._take()
            self._take()

    def _take(self) -> None:
        for name, value in self._readings.read().items():
            self._sums[name].append(value)
        step = self._logged + 1 if self.step is None else self.step
        if step > self._logged:
            for name, values in self._sums.items():
                self._writer.scalar(f"system/{name}", sum(values) / len(values), step)
            self._sums.clear()
            self._logged = step
