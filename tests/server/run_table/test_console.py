from __future__ import annotations

import pytest

from tracklight.server.run_table.run_files import MAX_LINE_CHARS, decode_text_file, parse_console


def read_texts(text: str) -> list[str]:
    return [line.text for line in parse_console(text)]


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", []),
        ("a\nb\n", ["a", "b"]),
        ("a\r\nb", ["a", "b"]),
        (" 10%\r 50%\r100%\ndone", ["100%", "done"]),
        ("loading...\rok\n", ["okading..."]),
        ("loading...\r\x1b[Kok\n", ["ok"]),
        ("abc\b\bX\n", ["aXc"]),
        ("\x1b[32mgreen\x1b[0m\n", ["\x1b[32mgreen\x1b[0m"]),
        ("\x1b]0;title\x07text\n", ["text"]),
        ("one\ntwo\n\x1b[2Afirst\nsecond\n", ["first", "second"]),
        ("bell\x07\n", ["bell"]),
        ("loading\x1b[2Kok\n", ["ok"]),
        ("loading\x1b[1Kok\n", ["loadingok"]),
        ("loading\x1b[Gok\n", ["okading"]),
    ],
)
def test_shows_lines_as_a_terminal_does(text: str, lines: list[str]) -> None:
    assert read_texts(text) == lines


def test_long_lines_are_cut() -> None:
    assert [len(text) for text in read_texts("x" * 20_000 + "\n" + "\r" + "y" * 20_000)] == [
        MAX_LINE_CHARS,
        MAX_LINE_CHARS,
    ]


def test_reads_captured_lines() -> None:
    (line,) = parse_console("2023-11-14T22:13:20.250000Z stderr F failed\n")
    assert (line.time, line.stream, line.text) == (1.7e9 + 0.25, "stderr", "failed")


def test_reads_times_of_logging() -> None:
    (line, other, impossible) = parse_console(
        "2026-01-02T03:04:05Z INFO start\nno time\n2026-13-02T03:04:05Z INFO end\n"
    )
    assert line.time == 1767323045.0
    assert line.text.endswith("INFO start")
    assert (other.time, other.stream) == (None, None)
    assert (impossible.time, impossible.text) == (None, "2026-13-02T03:04:05Z INFO end")


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", ""),
        ("héllo".encode(), "héllo"),
        ("hé€".encode()[:-1], "hé"),  # the preview ends within a character
        (b"a\xffb", None),
        (b"a\xe2\x82b", None),
        (b"a\0b", None),
    ],
)
def test_only_utf8_is_text(data: bytes, text: str | None) -> None:
    assert decode_text_file(data) == text
