from __future__ import annotations

import math
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from tracklight.analysis.experiments.settings_files import parse_yaml
from tracklight.errors import FormatError

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
    assert parse_yaml(text) == content


def read_lines(*lines: str) -> Any:
    return parse_yaml("\n".join(lines))


def test_reads_handwritten_yaml() -> None:
    text = """
    # settings
    lr: 1e-3   # without a decimal point
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
    assert read_lines(*(line[4:] for line in text.splitlines())) == {
        "lr": 0.001,
        "model": {"layers": [64, 64], "act": {"name": "relu", "slope": 0.5}},
        "note": "two\nlines\n",
        "tags": ["a", {"b": 1}],
        "empty": None,
    }
    assert math.isnan(parse_yaml("x: .nan")["x"])


def test_only_the_first_document_is_read() -> None:
    assert read_lines("a: 1", "---", "b: 2") == {"a": 1}
    assert read_lines("---", "a: 1", "...", "b: [") == {"a": 1}


def test_aliases_are_resolved() -> None:
    text = ("base: &base {lr: 0.1, sizes: &sizes [1, 2]}", "copy: *base", "only: *sizes")
    base = {"lr": 0.1, "sizes": [1, 2]}
    assert read_lines(*text) == {"base": base, "copy": base, "only": [1, 2]}


def test_merge_keys_are_resolved() -> None:
    text = ("a: &a {x: 1, y: 1}", "b: &b {y: 2, z: 2}", "c: {<<: [*a, *b], x: 3}", "d: {<<: *b}")
    assert read_lines(*text)["c"] == {"x": 3, "y": 1, "z": 2}
    assert read_lines(*text)["d"] == {"y": 2, "z": 2}


def test_folded_texts_are_folded() -> None:
    assert read_lines("note: >", "  one", "  line", "", "  another", "") == {
        "note": "one line\nanother\n"
    }
    assert read_lines("note: >-", "  one", "  line")["note"] == "one line"


def test_escapes_are_decoded() -> None:
    assert parse_yaml(r'x: "\u00e9\x41\t\U0001F600"')["x"] == "éA\t😀"
    assert parse_yaml(yaml.safe_dump({"x": "naïve ☃"}))["x"] == "naïve ☃"


@pytest.mark.parametrize(
    ("text", "number"),
    [("1e-3", 1e-3), ("1E5", 1e5), ("-2e+4", -2e4), (".5e1", 5.0), ("1_000", 1000), ("0x1F", 31)],
)
def test_reads_numbers_in_all_notations(text: str, number: float) -> None:
    assert parse_yaml(f"x: {text}")["x"] == number
    assert parse_yaml(f"x: '{text}'")["x"] == text


def test_dates_and_binary_data_stay_strings() -> None:
    assert parse_yaml("x: 2024-05-01")["x"] == "2024-05-01"
    assert parse_yaml("x: !!binary aGVsbG8=")["x"] == "aGVsbG8="


def test_python_objects_are_read_as_data() -> None:
    """Lightning writes hparams.yaml with PyYAML's dump() of Python objects."""
    text = """
    betas: !!python/tuple
    - 0.9
    - 0.999
    args: !!python/object:argparse.Namespace
      lr: 0.1
      layers: [1, 2]
    path: !!python/object/apply:pathlib.PosixPath
    - /
    - data
    activation: !!python/name:torch.nn.functional.relu ''
    kind: !!python/object/apply:builtins.type [x]
    phase: !!python/complex '1.0+2.0j'
    big: !!python/long 7
    none: !!python/none ''
    name: !!python/unicode 'net'
    custom: !Scale 3
    after: 1
    """
    assert read_lines(*(line[4:] for line in text.splitlines())) == {
        "betas": [0.9, 0.999],
        "args": {"lr": 0.1, "layers": [1, 2]},
        "path": ["/", "data"],
        "activation": "torch.nn.functional.relu",
        "kind": ["x"],
        "phase": "1.0+2.0j",
        "big": 7,
        "none": None,
        "name": "net",
        "custom": 3,
        "after": 1,
    }


def test_tags_run_no_code(tmp_path: Path) -> None:
    target = tmp_path / "made"
    for tag in ("object/apply:os.mkdir", "object/new:os.mkdir"):
        assert parse_yaml(f"x: !!python/{tag} ['{target}']\ny: 1") == {"x": [str(target)], "y": 1}
    assert not target.exists()


def test_keys_are_strings() -> None:
    text = ("1: a", "true: b", "on: c", "null: d", "? [1, 2]", ": e")
    assert read_lines(*text) == {"1": "a", "true": "b", "on": "c", "null": "d", "[1, 2]": "e"}


def make_alias_bomb(form: str, levels: int = 40) -> str:
    lines = ["a0: &a0 [x, x]"] if form == "list" else ["a0: &a0 {k: x}"]
    for level in range(1, levels):
        before = f"*a{level - 1}"
        lines.append(
            {
                "list": f"a{level}: &a{level} [{', '.join([before] * 9)}]",
                "mapping": f"a{level}: &a{level} {{p: {before}, q: {before}, r: {before}}}",
                "merge": f"a{level}: &a{level} {{<<: [{', '.join([before] * 9)}]}}",
            }[form]
        )
    return "\n".join(lines)


@pytest.mark.parametrize("form", ["list", "mapping", "merge"])
def test_rejects_alias_bombs_quickly(form: str) -> None:
    start = time.process_time()
    with pytest.raises(FormatError, match="more than"):
        parse_yaml(make_alias_bomb(form))
    assert time.process_time() - start < 1


def test_merging_takes_linear_time() -> None:
    large = ", ".join(f"k{n}: 1" for n in range(20_000))
    text = f"a: &a {{{large}}}\nb: &b {{x: 1}}\nc: {{<<: [*a{', *b' * 20_000}]}}"
    start = time.process_time()
    assert len(parse_yaml(text)["c"]) == 20_001
    assert time.process_time() - start < 10


@pytest.mark.parametrize(
    "text",
    [
        "[" * 500,
        "[" * 100_000,
        "{a: " * 100_000,
        "- " * 300 + "a",
        "\n".join(f"a{n}: &a{n} [{f'*a{n - 1}' if n else 1}]" for n in range(2000)),
        "a: &a [*a]",
        "a: *unknown",
        "a: b: c",
    ],
    ids=lambda text: text[:12],
)
def test_rejects_hostile_input(text: str) -> None:
    with pytest.raises(FormatError) as caught:
        parse_yaml(text)
    assert "\n" not in str(caught.value)


def test_reads_long_scalars_in_linear_time() -> None:
    """Matching and parsing long numbers could be quadratic."""
    values = ["x" * 300_000, "9" * 300_000, f"1.{'0' * 300_000}e5", "1:" * 100_000 + "1"]
    start = time.process_time()
    assert parse_yaml("\n".join(f"- {value}" for value in values)) == values
    assert parse_yaml("\n".join(f"- !!int {value}" for value in values)) == values
    assert time.process_time() - start < 2


@settings(max_examples=300, deadline=None)
@given(st.text("ab:-[]{},\"'\\\n  #|>!&*1.", max_size=60))
def test_any_text_is_parsed_or_rejected(text: str) -> None:
    try:
        parse_yaml(text)
    except FormatError:
        pass


def test_works_without_libyaml(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(yaml, "CSafeLoader")
    assert parse_yaml("a: &a [1e-3, !!python/tuple [1]]\nb: *a") == {
        "a": [0.001, [1]],
        "b": [0.001, [1]],
    }
    with pytest.raises(FormatError):
        parse_yaml("[" * 100_000)


def test_yaml_is_imported_only_when_a_file_is_read() -> None:
    code = "import sys, tracklight.analysis.experiments.settings_files as s; "
    code += "assert 'yaml' not in sys.modules; "
    code += "s.parse_settings('hparams.yaml', b'a: 1'); assert 'yaml' in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
