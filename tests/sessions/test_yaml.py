from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracklight.errors import FormatError
from tracklight.sessions.yaml import read_yaml

yaml = pytest.importorskip("yaml")

LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-(10**9), 10**9)
    | st.floats(allow_nan=False)
    | st.text("abz 0.1:-#'\"\\[]{},&*!|>%@`~\té", max_size=12)
)
NAMES = st.text("abcXYZ_.0 -", min_size=1, max_size=6).map(lambda name: f"k{name}".strip())
TREES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3)
)


@settings(max_examples=150, deadline=None)
@given(st.dictionaries(NAMES, TREES, min_size=1, max_size=4), st.sampled_from([True, False, None]))
def test_reads_what_pyyaml_writes(content: dict[str, object], flow: bool | None) -> None:
    text = yaml.safe_dump(content, default_flow_style=flow, width=10**6, allow_unicode=True)
    assert read_yaml(text) == content


def test_what_people_write() -> None:
    text = """
    # settings
    lr: 1e-3   # as people write it
    model: !!python/object:models.Net
      layers: [64, 64]
      act: {name: relu, slope: .5}
    note: |
      two
      lines
    tags:
    - a
    - b: 1
    empty:
    """
    lines = "\n".join(line[4:] for line in text.splitlines())
    assert read_yaml(lines) == {
        "lr": 0.001,
        "model": {"layers": [64, 64], "act": {"name": "relu", "slope": 0.5}},
        "note": "two\nlines",
        "tags": ["a", {"b": 1}],
        "empty": None,
    }
    assert math.isnan(read_yaml("x: .nan")["x"])


@settings(max_examples=300, deadline=None)
@given(st.text("ab:-[]{},\"'\\\n  #|>!&*1.", max_size=60))
def test_other_texts_are_an_error_or_something(text: str) -> None:
    try:
        read_yaml(text)
    except FormatError:
        pass


@pytest.mark.parametrize("text", ["[" * 500, "- " * 300 + "a", "a: " + "x" * 20_000])
def test_hostile_texts_are_refused(text: str) -> None:
    with pytest.raises(FormatError):
        read_yaml(text)
