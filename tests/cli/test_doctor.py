from __future__ import annotations

import json
import sys
from contextlib import ExitStack, suppress
from pathlib import Path

import numpy as np
import pytest

from tests import builders as b
from tests.logdir.web_server import DeniedHandler, PlainHandler, serve_directory
from tests.plugin.skeleton import register
from tests.small_log import NAME
from tracklight.cli import doctor, main
from tracklight.cli.doctor import EXTRAS
from tracklight.errors import BindError
from tracklight.server.serve import bind_address


@pytest.fixture(autouse=True)
def isolated_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACKLIGHT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("TRACKLIGHT_DATA_DIR", str(tmp_path / "data"))


def run_doctor(
    capfd: pytest.CaptureFixture[str], *arguments: str
) -> tuple[int, list[tuple[str, str]]]:
    """Return the exit status, and severity and text of the findings on the log."""
    status = main(["doctor", "--json", "--no-config", *arguments])
    sections = json.loads(capfd.readouterr().out)
    findings = [it for section in sections[1:] for it in section["findings"]]
    return status, [(it["severity"], f"{it['text']} {it['hint']}") for it in findings]


def test_reports_the_installation(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    main(["doctor", "--no-config"])
    out = capfd.readouterr().out
    assert out.startswith("tracklight ")
    assert f"cache directory {tmp_path / 'cache'} is writable" in out
    for extra in EXTRAS:
        assert f'extra "{extra}"' in out
    assert not (tmp_path / "cache").exists()


def test_reports_an_unwritable_folder_as_error(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("TRACKLIGHT_DATA_DIR", str(tmp_path / "file" / "data"))
    assert main(["doctor", "--no-config"]) == 4
    assert f"notes directory {tmp_path / 'file' / 'data'} is not writable" in capfd.readouterr().out


def test_reports_contents_of_a_log(small_logdir: Path, capfd: pytest.CaptureFixture[str]) -> None:
    status, findings = run_doctor(capfd, str(small_logdir), "--exclude=kinds")
    texts = [text for _, text in findings]
    assert any("event files (" in text for text in texts)
    assert any("Scalars: 2 tags" in text for text in texts)
    assert any("1 run excluded by --include or --exclude: kinds" in text for text in texts)
    assert any("2 values in 1 series hidden" in text for text in texts)
    has_errors = any(severity == "error" for severity, _ in findings)
    assert status == (4 if has_errors else 0)


def test_reports_corrupt_records_and_empty_runs(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    for run in ("broken", "empty"):
        (tmp_path / "logs" / run).mkdir(parents=True)
    records = [b.scalar("loss", step, 0.5) for step in range(5)]
    records[2] = b.flip(records[2], -6)
    (tmp_path / "logs" / "broken" / NAME).write_bytes(b"".join(records))
    (tmp_path / "logs" / "empty" / NAME).touch()

    status, findings = run_doctor(capfd, str(tmp_path / "logs"))

    assert status == 4
    assert any(
        it == "error" and "1 corrupt record in 1 run: broken" in text for it, text in findings
    )
    assert any(it == "note" and "1 run without data: empty" in text for it, text in findings)


def test_explains_a_directory_without_event_files(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "logs" / "mlruns").mkdir(parents=True)
    status, findings = run_doctor(capfd, str(tmp_path / "logs"))
    assert status == 4
    assert [severity for severity, _ in findings] == ["error", "note", "note"]
    assert "MLflow" in findings[2][1]


def test_reports_a_missing_directory(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    status, findings = run_doctor(capfd, str(tmp_path / "nowhere"))
    assert status == 4
    assert "there is no such directory" in findings[0][1]


def test_names_missing_extras_with_their_packages(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "_find_version", lambda package: None)
    main(["doctor", "--no-config"])
    out = capfd.readouterr().out
    assert 'note  extra "projector" is not installed (missing h5py and pyarrow): ' in out
    assert "pip install 'tracklight[projector]'" in out


@pytest.mark.parametrize("suffix", ["", ".tmp"])
def test_recognizes_debugger_dumps(
    suffix: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "logs" / "debug"
    folder.mkdir(parents=True)
    kinds = "metadata source_files stack_frames graphs execution graph_execution_traces"
    for kind in kinds.split():
        (folder / f"tfdbg_events.1700000000.host.{kind}{suffix}").write_bytes(b"x")
    _, findings = run_doctor(capfd, str(tmp_path / "logs"))
    named = [text for severity, text in findings if severity == "ok" and "Debugger: " in text]
    if suffix:
        assert named == []
    else:
        (text,) = named
        assert "Debugger: 1 dump of TensorFlow: debug" in text
        assert not any("event file" in text for severity, text in findings if severity == "error")


def test_recognizes_other_unsupported_files(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    old, new = (tmp_path / "logs" / run / "plugins" / "profile" / "1" for run in ("old", "new"))
    for folder in (old, new):
        folder.mkdir(parents=True)
        (folder / "host.op_profile.json").touch()
    (new / "host.xplane.pb").touch()
    (tmp_path / "logs" / "run-1.wandb").touch()
    (tmp_path / "logs" / "metrics.csv").touch()
    _, findings = run_doctor(capfd, str(tmp_path / "logs"))
    texts = [text for _, text in findings]
    assert any("old TensorFlow profiler" in t and "old/plugins/profile/1 no" in t for t in texts)
    assert any("Weights & Biases run files: . " in text for text in texts)
    assert any("CSVLogger" in text for text in texts)


def test_counts_embeddings_and_captures(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    logdir = tmp_path / "logs"
    session = logdir / "conv" / "plugins" / "profile" / "2024_01_01"
    session.mkdir(parents=True)
    (session / "host.xplane.pb").touch()
    np.save(logdir / "conv" / "words.npy", np.ones((5, 3), np.float32))
    status, findings = run_doctor(capfd, str(logdir))
    assert status == 0
    texts = [text for _, text in findings]
    assert "Profile: 1 capture in 1 file " in texts
    assert "Projector: 1 embedding " in texts
    assert not any("without data" in text or "no event file" in text for text in texts)


def test_reports_unreadable_embeddings(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "words.npy").write_bytes(b"no array")
    _, findings = run_doctor(capfd, str(tmp_path / "logs"))
    assert any("Projector cannot show words.npy" in text for _, text in findings)


def test_counts_run_metadata_as_graphs(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "logs").mkdir()
    records = [
        b.event(b.blob(8, b.blob(1, b"step1"), b.blob(2, b"")), step=1),
        b.event(b.summary(b.value("odd", b.metadata("npmi"), b.tensor(b.FLOAT))), step=1),
    ]
    (tmp_path / "logs" / NAME).write_bytes(b"".join(map(b.record, records)))
    _, findings = run_doctor(capfd, str(tmp_path / "logs"))
    texts = [text for _, text in findings]
    assert "Graphs: 1 tag " in texts
    assert not any("graph_tagged_run_metadata" in text for text in texts)
    assert any('1 tag of the plugin "npmi" (nPMI): odd no dashboard' in text for text in texts)


@pytest.mark.parametrize(
    ("files", "cause"),
    [
        ([[0, 0, 1]], "a later value at the same step"),
        ([[0, 1, 2, 1]], "goes back later in the same file"),
        ([[0, 1, 2], [1, 2, 3]], "as after a restart"),
    ],
)
def test_mentions_restarts_only_where_possible(
    files: list[list[int]], cause: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "logs").mkdir()
    for number, steps in enumerate(files):
        start = 1_700_000_000 + 1000 * number
        loss = b.summary(b.value("loss", b.simple(0.5)))
        events = [b.event(loss, step=step, wall=start + at) for at, step in enumerate(steps)]
        name = f"events.out.tfevents.{start}.host"
        (tmp_path / "logs" / name).write_bytes(b"".join(map(b.record, events)))
    _, findings = run_doctor(capfd, str(tmp_path / "logs"))
    (text,) = [text for _, text in findings if "hidden" in text]
    assert cause in text
    assert ("restart" in text) == (len(files) > 1)


def test_reports_what_is_missing_in_the_installation(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "PAGE_DIR", tmp_path)
    monkeypatch.setitem(sys.modules, "tracklight.formats._scan", None)
    with ExitStack() as stack:
        with suppress(BindError):  # then another program listens there
            stack.enter_context(bind_address("localhost", 6006))
        assert main(["doctor", "--no-config"]) == 4
    out = capfd.readouterr().out
    assert "the web page is not built, so only the HTTP API is served" in out
    assert "the event reader is not compiled, so large logs load slowly" in out
    assert "port 6006 is in use" in out


def test_lists_dashboards_of_other_packages(
    small_logdir: Path,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    entries = "good = good_dashboard:Good\nbroken = good_dashboard:None_Such"
    monkeypatch.syspath_prepend(register(tmp_path / "site", entries))
    (tmp_path / "site/good_dashboard.py").write_text(
        "class Good:\n    title = 'Good scalars'\n    plugins = ['scalars']\n"
    )
    assert main(["doctor", "--no-config", str(small_logdir)]) in (0, 4)
    out = capfd.readouterr().out
    assert 'dashboard "good" is provided by good_dashboard:Good' in out
    assert 'dashboard "broken" is provided by good_dashboard:None_Such' in out
    assert "Good scalars: 2 tags" in out


@pytest.mark.parametrize("handler", [PlainHandler, DeniedHandler])
def test_checks_logs_on_web_servers(
    small_logdir: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    handler: type[PlainHandler],
) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with serve_directory(small_logdir, handler) as server:
        _, findings = run_doctor(capfd, server.url)
    texts = [text.rstrip() for _, text in findings]
    assert "remote: checked for changes every few seconds" in texts
    if handler is PlainHandler:
        assert any("event files (" in text for text in texts)
    else:
        problem = f'cannot list "{server.url}": the server denied access (403)'
        assert f"{problem} check the permissions" in texts
