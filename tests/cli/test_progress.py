from __future__ import annotations

import io
import time

from tracklight.cli.logdir_arg import ProgressCounter, format_bar, show_progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_prints_nothing_without_a_terminal() -> None:
    out = io.StringIO()
    with show_progress("reading", lambda: (1, 2), out):
        time.sleep(0.15)

    assert out.getvalue() == ""


def test_bar_disappears_when_done() -> None:
    out, counter = Terminal(), ProgressCounter(4)
    with show_progress("reading", counter.read, out):
        counter.add(1)
        deadline = time.monotonic() + 60
        while "25%" not in out.getvalue() and time.monotonic() < deadline:
            time.sleep(0.01)

    assert "reading ██" in out.getvalue()
    assert out.getvalue().endswith("\r\x1b[K")


def test_bar_length_follows_progress() -> None:
    none, half, all_ = (format_bar("x", done, 8, 2.0) for done in (0, 4, 8))

    assert (none.count("█"), half.count("█") * 2) == (0, all_.count("█"))
    assert "2 s left" in half
    assert len(none) == len(half) == len(all_)


def test_bar_handles_overflow_and_zero_totals() -> None:
    assert "100%" in format_bar("x", 9, 8, 1.0)
    assert "0%" in format_bar("x", 0, 0, 1.0)
