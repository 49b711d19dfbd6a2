"""Copy what a program prints to a file in the directory of its run.

Each line begins with its time and stream, as Kubernetes writes logs:
``2026-11-17T09:14:05.123456Z stdout F text``. A line that the program overwrites with carriage
returns, such as a progress bar, is written once, in its last state.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from typing import Any, BinaryIO

from tracklight.writer import warnings

FILE_NAME = "console.log"

#: Longer lines are split, so that a program that never ends its line cannot fill the memory.
_MAX_LINE_CHARS = 64 * 1024
#: Later output is dropped, with a last line that says so.
_MAX_FILE_BYTES = 256 << 20


class ConsoleCapture:
    """Copies ``sys.stdout`` and ``sys.stderr`` to a file until it is stopped.

    Output of other processes and of C code, which does not use these objects, is not captured.

    Args:
        run_dir: The directory of the run; remote directories are not supported.
    """

    def __init__(self, run_dir: str) -> None:
        self._lock = threading.Lock()
        self._file: BinaryIO | None = None
        self._bytes = 0
        self._second = (-1, "")
        self._tees: dict[str, _Tee] = {}
        if "://" in run_dir:
            warnings.warn_once("console", f"is captured in local directories only, not {run_dir}")
            return
        try:
            os.makedirs(run_dir, exist_ok=True)
            # Unbuffered: each line is one system call, and a killed process loses none.
            self._file = open(os.path.join(run_dir, FILE_NAME), "ab", buffering=0)
        except OSError as error:
            warnings.warn_once("console", f"cannot be captured in {run_dir}: {error}")
            return
        for name in ("stdout", "stderr"):
            tee = _Tee(getattr(sys, name), name, self)
            self._tees[name] = tee
            setattr(sys, name, tee)

    def write_line(self, stream: str, line: str) -> None:
        """Write a line with the current time. Failures are reported once."""
        second, microsecond = divmod(time.time_ns() // 1000, 1_000_000)
        with self._lock:
            if self._file is None:
                return
            if self._second[0] != second:
                text = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(second))
                self._second = second, text
            stamp = f"{self._second[1]}.{microsecond:06}Z"
            record = f"{stamp} {stream} F {line}\n".encode(errors="backslashreplace")
            self._bytes += len(record)
            if self._bytes > _MAX_FILE_BYTES:
                record = f"{stamp} stderr F (further output is not captured)\n".encode()
            try:
                self._file.write(record)
            except (OSError, ValueError) as error:
                self._file = None
                warnings.warn_once("console", f"is no longer captured: {error}")
            if self._bytes > _MAX_FILE_BYTES and self._file is not None:
                self._file.close()
                self._file = None

    def stop(self) -> None:
        """Restore the streams and close the file. Further calls do nothing."""
        for name, tee in self._tees.items():
            tee.end_line()
            # Another program may have replaced the stream meanwhile, and still writes to this one.
            if getattr(sys, name) is tee:
                setattr(sys, name, tee.original)
        self._tees = {}
        with self._lock:
            if self._file is not None:
                self._file.close()
                self._file = None


class _Tee:
    """A text stream that passes everything on and reports complete lines."""

    def __init__(self, original: Any, name: str, capture: ConsoleCapture) -> None:
        self.original = original
        self._name = name
        self._capture = capture
        self._line = ""

    def write(self, text: str) -> int:
        count: int = self.original.write(text)
        if "\n" not in text and len(self._line) + len(text) < _MAX_LINE_CHARS:
            # Only the last state of a progress bar is kept.
            self._line = text[text.rfind("\r") :] if "\r" in text[1:] else self._line + text
            return count
        *complete, self._line = (self._line + text).split("\n")
        if len(self._line) >= _MAX_LINE_CHARS:
            complete.append(self._line)
            self._line = ""
        for line in complete:
            self._capture.write_line(self._name, _get_last_state(line))
        return count

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    def end_line(self) -> None:
        """Report a line that was not ended."""
        line, self._line = _get_last_state(self._line), ""
        if line:
            self._capture.write_line(self._name, line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.original, name)

    def __iter__(self) -> Any:
        return iter(self.original)


def _get_last_state(line: str) -> str:
    """Return what a terminal shows of a line with carriage returns."""
    shown = ""
    for part in line.split("\r"):
        shown = part + shown[len(part) :]
    return shown
