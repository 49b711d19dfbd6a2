"""The examples in docs/writing.md work without warnings."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.writer.event_files import read_values

PAGE = Path(__file__).resolve().parents[2] / "docs" / "writing.md"
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
#: The TensorFlow example is tested in tests/frameworks.
EXAMPLES = [block for block in BLOCKS if "import tensorflow" not in block]


@pytest.mark.parametrize("example", EXAMPLES)
def test_example_works(example: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TRACKLIGHT_STRICT", "1")
    exec(compile(example, "writing.md", "exec"), {})
    assert all(read_values(folder) for folder in (tmp_path / "logs").iterdir())


def test_there_are_examples() -> None:
    assert len(EXAMPLES) == 3
