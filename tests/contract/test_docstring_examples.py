"""Public functions are documented, and the examples in docstrings run."""

from __future__ import annotations

import ast
import doctest
import importlib
import inspect
import re
import shutil
import textwrap
from collections.abc import Iterator
from dataclasses import is_dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import numpy as np
import pyarrow
import pytest
from pyarrow import parquet

import tracklight
from tests.analysis.profiles.sample_captures import DATA
from tests.contract.example_names import GIVEN
from tracklight import hparams, summary
from tracklight.errors import TracklightError, UsageError
from tracklight.formats import proto
from tracklight.torch import SummaryWriter

MODULES = (
    "tracklight",
    "tracklight.summary",
    "tracklight.hparams",
    "tracklight.projector",
    "tracklight.debugger",
    "tracklight.fairness",
    "tracklight.what_if",
    "tracklight.notebook",
    "tracklight.plugin",
    "tracklight.errors",
    "tracklight.torch",
)
#: Examples that need a framework, a notebook or a server, and are only parsed here. Other tests run
#: these functions.
ONLY_PARSED = {
    "tracklight.asgi",
    "tracklight.debugger.check_numerics",
    "tracklight.debugger.watch",
    "tracklight.notebook.chart",
    "tracklight.notebook.display",
    "tracklight.notebook.list",
    "tracklight.notebook.load_ipython_extension",
    "tracklight.notebook.show_session",
    "tracklight.notebook.start",
    "tracklight.notebook.unload_ipython_extension",
    "tracklight.Board",
    "tracklight.plugin.ValueReader",
    "tracklight.plugin.export_values",
    "tracklight.plugin.list_steps",
    "tracklight.plugin.SeriesQuery",
    "tracklight.plugin.TracklightError",
    "tracklight.Log.debugger",
    "tracklight.Log.watch",
    "tracklight.Graph",
    "tracklight.summary.graph",
    "tracklight.summary.trace_export",
    "tracklight.summary.trace_off",
    "tracklight.summary.trace_on",
    "tracklight.torch.SummaryWriter.add_figure",
    "tracklight.torch.SummaryWriter.add_graph",
    "tracklight.torch.SummaryWriter.add_histogram",
    "tracklight.torch.SummaryWriter.add_image",
    "tracklight.torch.SummaryWriter.add_onnx_graph",
    "tracklight.torch.SummaryWriter.add_scalar",
    "tracklight.what_if.DataTable",
    "tracklight.what_if.ModelFilePredictor",
    "tracklight.what_if.Session.distances",
    "tracklight.what_if.WitWidget",
    "tracklight.what_if.load_model",
    "tracklight.what_if.read_table",
    "tracklight.Series.to_pandas",
    "tracklight.Table.to_wide",
}
#: Names that import a framework, which the process of the unit tests must not do.
NEED_FRAMEWORK = {"tracklight.hparams.KerasCallback"}
#: Examples that read a log or a data set.
READING = tuple(
    f"tracklight.{name}"
    for name in (
        *("Graph", "HParamsTable", "Log", "RunView", "Series", "Table", "Values", "WideTable"),
        "open",
        *("fairness.FairnessResult", "fairness.evaluate", "what_if"),
        *("plugin.ConfinedFiles", "plugin.DataFiles"),
    )
)


def iter_documented() -> Iterator[tuple[str, list[doctest.Example]]]:
    """Yield every public name with examples in its docstring."""
    seen = set()
    for module_name in MODULES:
        module = importlib.import_module(module_name)
        names = getattr(module, "__all__", None) or [n for n in vars(module) if n[0] != "_"]
        for name in names:
            if f"{module_name}.{name}" in NEED_FRAMEWORK:
                continue
            value = getattr(module, name)
            for path, thing in iter_members(f"{module_name}.{name}", value):
                examples = doctest.DocTestParser().get_examples(inspect.getdoc(thing) or "", path)
                if examples and id(thing) not in seen:
                    seen.add(id(thing))
                    yield path, examples


def iter_members(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    module = getattr(value, "__module__", "") or ""
    if not (inspect.isfunction(value) or inspect.isclass(value)) or "tracklight" not in module:
        return
    # A struct without a docstring of its own has that of msgspec.
    if inspect.isfunction(value) or (value.__doc__ or "") not in (msgspec.Struct.__doc__ or ""):
        yield path, value
    if inspect.isclass(value):
        for name, member in vars(value).items():
            function = member.fget if isinstance(member, property) else member
            if inspect.isfunction(function) and (name[0] != "_" or name == "__getitem__"):
                yield f"{path}.{name}", function


EXAMPLES = dict(iter_documented())


def iter_functions() -> Iterator[tuple[str, Any]]:
    """Yield the public functions by their path."""
    for module_name in MODULES:
        module = importlib.import_module(module_name)
        for name in getattr(module, "__all__", ()):
            path = f"{module_name}.{name}"
            value = None if path in NEED_FRAMEWORK else getattr(module, name)
            if inspect.isfunction(value) and value.__module__.startswith("tracklight"):
                yield path, value


FUNCTIONS = dict(iter_functions())


#: Classes whose instances users get from functions, which document their arguments.
RETURNED = {
    *("tracklight.Board", "tracklight.Graph", "tracklight.HParamsTable", "tracklight.Log"),
    *("tracklight.Run", "tracklight.RunView", "tracklight.Table", "tracklight.Values"),
    *("tracklight.fairness.DifferenceTable", "tracklight.fairness.FairnessResult"),
    "tracklight.what_if.ThresholdTable",
}


def iter_constructors() -> Iterator[tuple[str, type]]:
    """Yield the public classes that users create with a constructor written by hand.

    Fields of dataclasses and structs are documented one by one.
    """
    for module_name in MODULES:
        module = importlib.import_module(module_name)
        for name in getattr(module, "__all__", ()):
            path = f"{module_name}.{name}"
            value = None if path in NEED_FRAMEWORK | RETURNED else getattr(module, name)
            if not inspect.isclass(value) or issubclass(value, Exception):
                continue
            function = vars(value).get("__init__")
            is_own = getattr(function, "__module__", "").startswith("tracklight")
            if is_own and not is_dataclass(value):
                yield path, value


CONSTRUCTORS = dict(iter_constructors())


def iter_raising() -> Iterator[tuple[str, Any, str]]:
    """Yield every public function, method and constructor with its docstring.

    What a constructor raises is documented by its class.
    """
    seen = set()
    for module_name in MODULES:
        module = importlib.import_module(module_name)
        names = getattr(module, "__all__", None) or [n for n in vars(module) if n[0] != "_"]
        for name in set(names):
            if f"{module_name}.{name}" in NEED_FRAMEWORK:
                continue
            for path, thing in iter_members(f"{module_name}.{name}", getattr(module, name)):
                function = vars(thing).get("__init__") if inspect.isclass(thing) else thing
                # Dataclasses and structs have constructors without source code.
                if hasattr(function, "__code__") and function.__code__.co_filename[0] != "<":
                    if function not in seen:
                        seen.add(function)
                        yield path, function, inspect.getdoc(thing) or ""


RAISING = {path: (function, doc) for path, function, doc in iter_raising()}


class AnyOutput(doctest.OutputChecker):
    """Accept any output: examples show that of a larger log or data set."""

    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        return True


class ShownOutput(doctest.OutputChecker):
    """Compare output only where the docstring shows some."""

    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        return not want or super().check_output(want, got, optionflags)


@pytest.fixture(scope="module")
def log_tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The logs that the examples read."""
    folder = tmp_path_factory.mktemp("examples")
    node = proto.NodeDef(name=b"dense/MatMul", op=b"MatMul")
    for run in ("resnet/train", "resnet/eval", "train", "classifier", "sweep/3/train"):
        with summary.create_file_writer(folder / "logs" / run).as_default():
            for step in range(3):
                summary.scalar("loss", 1.0 / (step + 1), step=step)
                summary.scalar("accuracy", 0.5, step=step)
                summary.image("input", np.zeros((1, 8, 8, 3)), step=step)
                summary.histogram("weights", np.arange(10.0), step=step)
                summary.tensor("attention", np.eye(3), step=step)
                summary.pr_curve("cats", [True, False], [0.9, 0.2], step=step)
            summary.graph(proto.GraphDef(node=[node]).SerializeToString())
            hparams.hparams({"lr": 0.1})
    with summary.create_file_writer(folder / "logs" / "tts").as_default():
        summary.audio("sample", np.zeros((1, 800, 1)), sample_rate=16_000, step=0)
    with summary.create_file_writer(folder / "logs" / "translate").as_default():
        summary.text("sample", "words", step=0)
    with summary.create_file_writer(folder / "logs" / "shapes").as_default():
        summary.mesh("cube", np.zeros((1, 8, 3)), step=0)
    capture = "worker.1794790000000000000.pt.trace.json.gz"
    shutil.copyfile(DATA / "torch_f32.pt.trace.json.gz", folder / "logs" / "train" / capture)
    return folder


@pytest.fixture
def names(log_tree: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    """Names that examples use without defining them."""
    monkeypatch.chdir(log_tree)
    monkeypatch.setenv("TRACKLIGHT_CACHE_DIR", str(log_tree / "cache"))
    found: dict[str, Any] = {"np": np, "tracklight": tracklight, "step": 0, "loss": 0.5}
    found["pixels"] = np.zeros((8, 8, 3))
    for module in ("tracklight.plugin", "tracklight.errors", "tracklight.fairness"):
        public = vars(importlib.import_module(module))
        found |= {name: value for name, value in public.items() if name[0] != "_"}
    found |= {name: GIVEN[name] for name in ("frame", "classifier", "data", "train")}
    frame = GIVEN["frame"]
    found["result"] = tracklight.fairness.evaluate(
        frame, label="approved", prediction="score", slices=["sex"]
    )
    found["session"] = tracklight.what_if.Session(frame, model=GIVEN["classifier"], label="income")
    found["epoch"] = 0
    columns = {"label": frame["approved"], "score": frame["score"], "sex": frame["sex"]}
    parquet.write_table(pyarrow.table(columns), "predictions.parquet")
    found["log"] = tracklight.open("logs")
    found["writer"] = summary.create_file_writer(log_tree / "written")
    found["run"] = SimpleNamespace(log=lambda *_, **__: True)
    found["torch_writer"] = SummaryWriter(log_tree / "torch", strict=True)
    yield found
    found["writer"].close()
    found["torch_writer"].close()


def list_missing_sections(function: Any) -> list[str]:
    """Return what the docstring of a function or class lacks."""
    doc = inspect.getdoc(function) or ""
    signature = inspect.signature(function)
    missing = [
        name
        for name in signature.parameters
        if not re.search(rf"^ +(.*, )?\**{name}(, .*)?: ", doc, re.MULTILINE)
    ]
    if inspect.isclass(function):
        return missing + (["Example"] if "Example:" not in doc else [])
    is_first_line = doc.startswith(("Return ", "Yield "))
    if signature.return_annotation != "None" and not is_first_line and "Returns:" not in doc:
        missing.append("Returns")
    if "Example:" not in doc:
        missing.append("Example")
    return missing


def list_undocumented_errors(function: Any, doc: str) -> list[str]:
    """Return tracklight's errors that a function raises itself and its docstring lacks.

    A base class of an error documents it as well.
    """
    section = doc.partition("Raises:")[2].partition("\n\n")[0]
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    inner = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
    undocumented = set()
    nodes: list[ast.AST] = list(ast.iter_child_nodes(tree.body[0]))
    while nodes:
        node = nodes.pop()
        if isinstance(node, inner):
            continue
        nodes.extend(ast.iter_child_nodes(node))
        if not isinstance(node, ast.Raise):
            continue
        raised = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
        error = function.__globals__.get(raised.id) if isinstance(raised, ast.Name) else None
        if isinstance(error, type) and issubclass(error, TracklightError):
            names = [base.__name__ for base in error.__mro__]
            if not any(re.search(rf"\b{name}\b", section) for name in names):
                undocumented.add(error.__name__)
    return sorted(undocumented)


@pytest.mark.parametrize("path", sorted(FUNCTIONS))
def test_function_is_documented(path: str) -> None:
    assert list_missing_sections(FUNCTIONS[path]) == []


@pytest.mark.parametrize("path", sorted(CONSTRUCTORS))
def test_class_is_documented(path: str) -> None:
    assert list_missing_sections(CONSTRUCTORS[path]) == []


def test_finds_missing_sections() -> None:
    def scale(factor: float) -> float:
        """Scale a chart."""
        return factor

    assert list_missing_sections(scale) == ["factor", "Returns", "Example"]


def test_errors_are_documented() -> None:
    assert len(RAISING) > 250
    undocumented = {path: list_undocumented_errors(*RAISING[path]) for path in RAISING}
    assert {path: errors for path, errors in undocumented.items() if errors} == {}


def test_finds_undocumented_errors() -> None:
    def scale(factor: float) -> float:
        if factor == 0:
            raise UsageError("the factor is 0")
        return factor

    assert list_undocumented_errors(scale, "Scale a chart.") == ["UsageError"]
    documented = "Scale a chart.\n\nRaises:\n    {}: The factor is 0.\n"
    assert list_undocumented_errors(scale, documented.format("UsageError")) == []
    assert list_undocumented_errors(scale, documented.format("TracklightError")) == []
    assert list_undocumented_errors(scale, documented.format("LogError")) == ["UsageError"]


def test_finds_examples() -> None:
    assert len(EXAMPLES) > 60
    assert len(FUNCTIONS) > 50
    assert len(CONSTRUCTORS) > 15
    assert set(ONLY_PARSED) <= set(EXAMPLES)


@pytest.mark.parametrize("path", sorted(set(EXAMPLES) - ONLY_PARSED))
def test_example_runs(path: str, names: dict[str, Any]) -> None:
    test = doctest.DocTest(EXAMPLES[path], names, path, None, None, None)
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    output: list[str] = []
    checker = AnyOutput() if path.startswith(READING) else ShownOutput()
    runner = doctest.DocTestRunner(checker, verbose=False, optionflags=flags)
    with names["writer"].as_default():
        if path.startswith("tracklight.torch."):
            test.globs = {**names, "SummaryWriter": SummaryWriter, "writer": names["torch_writer"]}
        runner.run(test, out=output.append, clear_globs=False)
    assert output == []


@pytest.mark.parametrize("path", sorted(ONLY_PARSED))
def test_example_compiles(path: str) -> None:
    for example in EXAMPLES[path]:
        compile(example.source, path, "single")
