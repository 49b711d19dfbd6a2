"""The notebooks of docs/tutorials run from top to bottom and log what they say.

Those with the same framework run in one kernel, as importing it takes longer than most of them;
names and working directory are new for each.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tracklight
from tests.frameworks.programs import need
from tests.server.server_process import end_recorded_servers

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[3]
TUTORIALS = ROOT / "docs" / "tutorials"
#: The first notebook with a framework takes about twenty seconds, mostly to import it.
CELL_TIMEOUT_S = 300

#: The packages that each notebook needs.
NOTEBOOKS = {
    "keras_callback": ("keras", "tensorflow", "pandas"),
    "custom_loop": ("tensorflow",),
    "images_confusion_matrix": ("keras", "tensorflow", "matplotlib"),
    "histograms": ("keras", "tensorflow"),
    "graphs": ("tensorflow",),
    "hparams": ("keras", "tensorflow", "pandas"),
    "embeddings": (),
    "profiling": ("torch",),
    "nan_hunt": ("torch",),
    "what_if": ("sklearn", "pandas"),
}
#: Notebooks that need the same one of these share a kernel.
FRAMEWORKS = ("tensorflow", "torch")
#: Runs and tags that the log has afterwards.
LOGGED = {
    "keras_callback": [("units=4/train", "epoch_loss"), ("units=32/validation", "epoch_accuracy")],
    "custom_loop": [("custom/train", "gradient norm"), ("custom/test", "accuracy")],
    "images_confusion_matrix": [
        ("images", "training data"),
        ("images", "one of each class"),
        ("images", "confusion matrix"),
    ],
    "histograms": [
        ("histograms/activations", "hidden/output"),
        ("histograms/activations", "hidden/share of zeros"),
    ],
    "graphs": [("graphs", "standardize"), ("model/train", "keras")],
    "hparams": [("grid/0", "accuracy"), ("grid/7", "accuracy")],
    "profiling": [],
    "nan_hunt": [],
    "embeddings": [],
    "what_if": [],
}


#: Run before each notebook: no name of another one is left, and layers are numbered as in a new
#: kernel.
PROLOGUE = """\
%reset -f
import os, sys
os.chdir({folder!r})
if "keras" in sys.modules:
    sys.modules["keras"].utils.clear_session()
%reset -f
"""


class Kernels:
    """Kernels that run one notebook after another, one for each framework."""

    def __init__(self) -> None:
        self._clients: dict[str, Any] = {}

    def run(self, name: str, folder: Path) -> Any:
        """Execute all cells and return the notebook with its outputs; an error is raised."""
        nbformat = pytest.importorskip("nbformat")
        nbclient = pytest.importorskip("nbclient")
        notebook = nbformat.read(TUTORIALS / f"{name}.ipynb", as_version=4)
        prologue = nbformat.v4.new_code_cell(PROLOGUE.format(folder=str(folder)))
        notebook.cells.insert(0, prologue)
        framework = next((it for it in FRAMEWORKS if it in NOTEBOOKS[name]), "none")
        client = self._clients.pop(framework, None)
        if client is None:
            client = nbclient.NotebookClient(
                notebook,
                timeout=CELL_TIMEOUT_S,
                startup_timeout=CELL_TIMEOUT_S,
                kernel_name="python3",
            )
        client.nb = notebook
        try:
            client.execute(cleanup_kc=False)
        except BaseException:
            end_kernel(client)
            raise
        self._clients[framework] = client
        return notebook

    def close(self) -> None:
        while self._clients:
            end_kernel(self._clients.popitem()[1])


def end_kernel(client: Any) -> None:
    """End the kernel of a client, as it does after a notebook unless it is told not to."""
    client.nb = pytest.importorskip("nbformat").v4.new_notebook()
    client.execute(cleanup_kc=True)


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernels]:
    """Kernels with settings of their own; servers that notebooks start are stopped."""
    folder = tmp_path_factory.mktemp("kernels")
    with pytest.MonkeyPatch.context() as patch:
        for name in ("TRACKLIGHT_DATA_DIR", "TRACKLIGHT_CACHE_DIR", "IPYTHONDIR"):
            patch.setenv(name, str(folder / name.lower()))
        patch.setenv("JUPYTER_RUNTIME_DIR", str(folder / "runtime"))
        patch.setenv("PYTHONPATH", str(ROOT))
        patch.setenv("TF_CPP_MIN_LOG_LEVEL", "3")
        patch.setenv("CUDA_VISIBLE_DEVICES", "")
        kernels = Kernels()
        yield kernels
        kernels.close()
        end_recorded_servers()


def list_outputs(notebook: Any, kind: str) -> list[str]:
    """Return the outputs of one media type, or what was printed for ``text``."""
    found = []
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            if kind == "text" and output.output_type == "stream":
                found.append(output.text)
            found += [output.data[kind]] if kind in output.get("data", {}) else []
    return found


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_notebook_runs(name: str, kernels: Kernels, tmp_path: Path) -> None:
    need(*NOTEBOOKS[name])
    notebook = kernels.run(name, tmp_path)
    frames = [text for text in list_outputs(notebook, "text/html") if "tracklight-" in text]
    assert len(frames) == 1  # the board, or the What-If page
    if name == "what_if":
        return
    with tracklight.open(tmp_path / "logs") as log:
        for run, tag in LOGGED[name]:
            assert tag in log[run].tags(), run
        check(name, log, notebook, tmp_path)


def check(name: str, log: Any, notebook: Any, folder: Path) -> None:
    """Check what only one of the notebooks says."""
    if name == "images_confusion_matrix":
        assert len(log.images("images", "confusion matrix")) == 4
    elif name == "hparams":
        assert len(log.hparams()) == 8
    elif name == "embeddings":
        names = {path.name for path in (folder / "logs" / "embeddings").iterdir()}
        assert "projector_config.pbtxt" in names and any("sprite" in one for one in names)
    elif name == "profiling":
        # A batch of 32 samples takes 2 ms each to decode.
        assert log.profile("before").summary.steps.mean_ms > 60
        assert len(log.profile("after").steps) == 6
        assert any("input" in text.lower() for text in list_outputs(notebook, "text/plain"))
    elif name == "nan_hunt":
        printed = "".join(list_outputs(notebook, "text"))
        assert re.search(r'step \d+: "log" produced', printed), printed
        assert "nan" not in list_outputs(notebook, "text/plain")[-1]


def test_notebooks_are_listed_and_stored_without_outputs() -> None:
    assert {path.stem for path in TUTORIALS.glob("*.ipynb")} == set(NOTEBOOKS) == set(LOGGED)
    index = (TUTORIALS / "index.md").read_text("utf-8")
    for name in NOTEBOOKS:
        assert f"({name}.ipynb)" in index
        content = json.loads((TUTORIALS / f"{name}.ipynb").read_text("utf-8"))
        code = [cell for cell in content["cells"] if cell["cell_type"] == "code"]
        assert not any(cell["outputs"] or cell["execution_count"] for cell in code)
