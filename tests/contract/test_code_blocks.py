"""The code blocks of the documentation are valid, and the Python ones run."""

from __future__ import annotations

import ast
import configparser
import contextlib
import importlib
import json
import re
import shlex
import shutil
import textwrap
from collections.abc import Iterator
from pathlib import Path

import msgspec
import numpy as np
import pytest
import yaml

from tests.analysis.profiles.sample_captures import DATA
from tests.contract.example_names import GIVEN
from tests.contract.pages import PAGES, ROOT, Block, iter_blocks, list_spans
from tracklight import hparams, summary
from tracklight.cli.flags import parse_flags, read_config
from tracklight.cli.parser import create_parsers
from tracklight.formats import proto

#: Pages whose Python blocks run here from top to bottom. The README, plugins and writing have tests
#: of their own, examples with a framework run in tests/frameworks, those of notebooks in
#: tests/notebook.
RUN = (
    *("quickstart.md", "serving.md", "reading.md", "fairness.md", "profiling.md", "what-if.md"),
    *(f"dashboards/{name}.md" for name in ("audio", "custom_scalars", "fairness", "histograms")),
    *(f"dashboards/{name}.md" for name in ("hparams", "images", "mesh", "pr_curves", "projector")),
    *(f"dashboards/{name}.md" for name in ("scalars", "text", "what_if")),
)
#: What is in blocks of these pages that need Keras, or a log that does not exist.
NOT_RUN = ("tracklight.keras", "/home/me/logs")


@pytest.fixture(autouse=True)
def own_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("TRACKLIGHT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("TRACKLIGHT_DATA_DIR", str(tmp_path / "data"))


@pytest.mark.parametrize("block", [*iter_blocks("python")], ids=str)
def test_python_blocks_compile(block: Block) -> None:
    ast.parse(textwrap.dedent(block.code))


@pytest.mark.parametrize("name", RUN)
def test_python_blocks_run(name: str, resnet_log: Path) -> None:
    names = dict(GIVEN)
    blocks = [block for block in iter_blocks("python") if block.page == ROOT / "docs" / name]
    assert blocks
    for block in blocks:
        if not any(text in block.code for text in NOT_RUN):
            exec(compile(block.code, str(block), "exec"), names)


@pytest.fixture
def resnet_log(tmp_path: Path) -> Path:
    """The log that the examples read."""
    nodes = [
        proto.NodeDef(name=b"x", op=b"Placeholder"),
        proto.NodeDef(name=b"dense/kernel", op=b"VarHandleOp"),
        proto.NodeDef(name=b"dense/MatMul", op=b"MatMul", input=[b"x", b"dense/kernel"]),
    ]
    with summary.create_file_writer(tmp_path / "logs" / "resnet" / "train").as_default():
        for step in (0, 500):
            summary.scalar("loss", 1.0, step=step)
            summary.scalar("accuracy", 0.5, step=step)
            summary.image("input", np.zeros((1, 8, 8, 3)), step=step)
            summary.pr_curve("pr", [True, False], [0.9, 0.2], step=step)
            summary.mesh("cube", np.zeros((1, 8, 3)), step=step)
        summary.graph(proto.GraphDef(node=nodes).SerializeToString())
        hparams.hparams({"lr": 0.1, "optimizer": "adam"})
    capture = "worker.1794790000000000000.pt.trace.json.gz"
    shutil.copyfile(DATA / "torch_f32.pt.trace.json.gz", tmp_path / "logs/resnet/train" / capture)
    return tmp_path / "logs"


@pytest.mark.parametrize("block", [*iter_blocks("sh")], ids=str)
def test_shell_blocks_use_existing_flags(block: Block) -> None:
    for words in iter_commands(block.code):
        parse_flags(words)


def iter_commands(code: str) -> Iterator[list[str]]:
    """Yield the arguments of each tracklight command in a shell block."""
    for line in code.replace("\\\n", " ").splitlines():
        line = re.sub(r'eval "\$\((.*?)\)"', r"\1", line)
        for command in re.split(r"&&|\|", line):
            words = shlex.split(command, comments=True)
            if words and words[0] == "ssh":
                words = words[4:]
            if words and words[0].rpartition("/")[2] == "tracklight":
                yield words[1:]


def test_finds_commands_in_shell_blocks() -> None:
    code = "a && tracklight x \\\n  --port 1 # c\nssh -L 1:a:2 far tracklight y\npip install ."
    assert list(iter_commands(code)) == [["x", "--port", "1"], ["y"]]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_in_sentences_exist(page: Path) -> None:
    """Commands in the text use existing flags, make targets, extras and scripts."""
    text = page.read_text(encoding="utf-8")
    for span in list_spans(page):
        if span.startswith("tracklight ") and "…" not in span:
            for words in iter_commands(span):
                # A sentence may leave out the value of the last flag. `--version` ends the program.
                with contextlib.suppress(SystemExit):
                    parse_flags([*words, "X"] if words[-1] in VALUE_FLAGS else words)
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"(?:^|`|\n)make ([a-z][a-z-]*)", text))
    assert [name for name in targets if not re.search(rf"^{name}:", makefile, re.MULTILINE)] == []
    extras = {
        extra
        for names in re.findall(r"pip install '?(?:tracklight|\.)\[([\w,]+)\]", text)
        for extra in names.split(",")
    }
    assert extras - read_extras() == set()
    scripts = re.findall(r"python (tools/\w+\.py)", text)
    assert [name for name in scripts if not (ROOT / name).is_file()] == []


#: Flags that sentences name without their value.
VALUE_FLAGS = ("--static",)


def read_extras() -> set[str]:
    project = msgspec.toml.decode((ROOT / "pyproject.toml").read_bytes())["project"]
    return set(project["optional-dependencies"])


@pytest.mark.parametrize("block", [*iter_blocks("yaml")], ids=str)
def test_yaml_blocks_are_valid(block: Block) -> None:
    assert [*yaml.safe_load_all(block.code)]


@pytest.mark.parametrize("block", [*iter_blocks("json")], ids=str)
def test_json_blocks_are_valid(block: Block) -> None:
    json.loads(block.code)


#: The tables of a pyproject.toml, which are not settings of tracklight.
PYPROJECT = "[project."


@pytest.mark.parametrize(
    "block", [it for it in iter_blocks("toml") if not it.code.startswith(PYPROJECT)], ids=str
)
def test_toml_blocks_are_valid_settings(block: Block, tmp_path: Path) -> None:
    (tmp_path / "tracklight.toml").write_text(block.code, encoding="utf-8")
    _, parsers = create_parsers()
    for command in ("serve", "inspect", "export", "doctor"):
        settings = read_config(tmp_path / "tracklight.toml", command, parsers)
        parse_flags([command, *settings.arguments, "logs", "--no-config"])


def test_unit_and_container_start_existing_commands() -> None:
    blocks = {block.language: block.code for block in iter_blocks("ini", "dockerfile")}
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read_string(blocks["ini"])
    start = shlex.split(unit["Service"]["ExecStart"])
    entry = re.search(r"^ENTRYPOINT (.+)$", blocks["dockerfile"], re.MULTILINE)
    assert entry is not None
    for words in (start, json.loads(entry[1])):
        assert words[0].endswith("tracklight")
        assert parse_flags(words[1:]).port == 6006


def test_all_flags_are_documented() -> None:
    page = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8").replace("_", "-")
    _, parsers = create_parsers()
    flags = {
        flag
        for parser in parsers.values()
        for flag, action in parser._option_string_actions.items()
        if flag.startswith("--") and action.help != "==SUPPRESS=="
    }
    assert [flag for flag in sorted(flags - {"--help"}) if flag not in page] == []


def test_migration_guide_uses_existing_names() -> None:
    page = (ROOT / "docs" / "migration.md").read_text(encoding="utf-8")
    names = set(re.findall(r"`(tracklight(?:\.\w+)+)", page)) - {"tracklight.dashboards"}
    assert len(names) > 8
    assert [name for name in sorted(names) if not _exists(name)] == []


def _exists(name: str) -> bool:
    """Return whether a name can be imported.

    Integrations are searched for its definition instead: they would load several frameworks into
    this process.
    """
    module, _, attribute = name.rpartition(".")
    if module.split(".")[1:2] not in (["torch"], ["keras"], ["jax"]):
        return hasattr(importlib.import_module(module), attribute)
    place = ROOT.joinpath(*module.split("."))
    files = place.rglob("*.py") if place.is_dir() else [place.with_suffix(".py")]
    defined = re.compile(rf"^(?:class|def) {attribute}\b", re.MULTILINE)
    return any(defined.search(file.read_text(encoding="utf-8")) for file in files)
