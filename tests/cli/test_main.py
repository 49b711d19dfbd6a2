from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

import tracklight
from tests.small_log import NAME
from tracklight.cli import main
from tracklight.cli.flags import parse_flags
from tracklight.cli.logdir_arg import check_positional_paths
from tracklight.server.serve import bind_address

COMMAND = [sys.executable, "-W", "error", "-m", "tracklight"]


@pytest.fixture(autouse=True)
def isolated_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def test_inspect(small_logdir: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", "--logdir", str(small_logdir)]) == 0

    out, err = capfd.readouterr()
    assert "run10/train  (2 tags" in out
    assert err == ""


def test_inspect_json_of_a_selection(small_logdir: Path, capfd: pytest.CaptureFixture[str]) -> None:
    words = ["inspect", str(small_logdir), "--json", "--run", "run*/*", "--tag", "acc"]
    assert main(words) == 0

    runs = json.loads(capfd.readouterr().out)["runs"]
    assert list(runs) == ["run10/train"]
    assert list(runs["run10/train"]["tags"]) == ["acc"]


def test_inspect_writes_no_cache(small_logdir: Path, tmp_path: Path) -> None:
    assert main(["inspect", str(small_logdir), "--json"]) == 0
    assert not (tmp_path / "cache").exists()


def test_include_and_exclude(small_logdir: Path, capfd: pytest.CaptureFixture[str]) -> None:
    words = ["inspect", str(small_logdir), "--json", "--include=run*", "--exclude=run2"]
    assert main(words) == 0

    assert list(json.loads(capfd.readouterr().out)["runs"]) == ["run10/train"]


def test_export(small_logdir: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    words = ["export", f"--logdir={small_logdir}", "--format=csv", f"--out={out}"]
    assert main([*words, "--kind=scalars", "--tag=loss"]) == 0
    assert len(out.read_text().splitlines()) == 1 + 6 + 1

    assert main([*words, "--tag=loss", "--overwritten"]) == 0
    assert len(out.read_text().splitlines()) == 1 + 8 + 1


def test_export_to_standard_output(small_logdir: Path, capfd: pytest.CaptureFixture[str]) -> None:
    words = ["export", str(small_logdir), "--format=json", "--out=-", "--run=run10/train"]
    assert main(words) == 0

    series = json.loads(capfd.readouterr().out)
    assert [(it["run"], it["tag"], it["value"]) for it in series] == [
        ("run10/train", "acc", [0.5]),
        ("run10/train", "loss", [2.5]),
    ]


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["inspect", "LOG", "--run=run2/trian"], 1, 'no run "run2/trian"; nearest: "run2/train"'),
        (["inspect", "LOG", "--run=x*"], 1, "no run matches x*"),
        (["inspect", "LOG", "--tag=los"], 1, 'no tag "los" in any run; nearest: "loss"'),
        (["inspect", "LOG", "--tag=re:^x"], 1, "no tag matches re:^x"),
        (["inspect", "LOG/nowhere"], 1, "there is no directory"),
        (["inspect", "LOG/run2/trian"], 1, 'Did you mean "LOG/run2/train"?'),
        (["inspect", "LOG/rnu2/train"], 1, 'Did you mean "LOG/run2/train"?'),
        (["LOG/run2/trian"], 1, 'Did you mean "LOG/run2/train"?'),
        (["serve", "LOG/nowhere"], 1, "use --logdir"),
        (["insepct", "LOG"], 2, 'no command or directory "insepct". Did you mean "inspect"?'),
        (["Export", "LOG"], 2, 'Did you mean "export"?'),
        (["--port=0", "insepct", "LOG"], 2, 'Did you mean "inspect"?'),
        (["--port=0", "inspect", "LOG"], 2, "comes before its flags: tracklight inspect"),
        (["inspect"], 2, "no log directory was given"),
        (["--inspect", "--event_file=LOG/nothing"], 2, "there is no event file"),
        (["--inspect", "--event_file=LOG/kinds/EVENTS", "--logdir=LOG"], 2, "directory once"),
        (["inspect", "LOG", "--cache", "--cache-dir=LOG/cache"], 2, "is inside the log directory"),
        (["LOG", "--port=TAKEN"], 3, "choose another port, or 0 for a free one"),
        (["LOG", "--host=203.0.113.7"], 3, "(Cannot assign requested address); check --host"),
        (["LOG", "--port=abc"], 2, '--port: "abc" is not a port; use a number from 0 to 65535'),
        (["LOG", "--port=-1"], 2, '"-1" is not a port'),
        (["LOG", "--reload_interval=often"], 2, '"often" is not a number of seconds'),
        (["--logdir=LOG", "--db=sqlite:x"], 2, "reads event files, not databases"),
        (["LOG", "--tls-cert=LOG/x.pem"], 2, "--tls-cert and --tls-key"),
        (["inspect", "LOG", "--logdir=LOG"], 2, "give the log directory once"),
        (["inspect", "LOG", "--memory=lots"], 2, '"lots" is not a size in bytes'),
        (["export", "LOG", "--out=-", "--kind=images"], 2, "a folder or a .zip file"),
        (["export", "LOG", "--out=x.png", "--kind=images"], 2, "a folder or a .zip file"),
        (["export", "LOG", "--out=LOG", "--kind=images"], 2, "choose a new or empty directory"),
        (["export", "LOG", "--out=x.csv", "--kind=graphs"], 2, "invalid choice: 'graphs'"),
        (["export", "LOG"], 2, "give --out FILE, or --static"),
        (["export", "LOG", "--out=x.xlsx"], 2, 'unknown format for "x.xlsx"'),
        (["export", "LOG", "--out=-"], 2, 'unknown format for "-"'),
        (["export", "LOG", "--static=x", "--out=-"], 2, "--static cannot be combined"),
        (["export", "LOG", "--static=LOG"], 2, "choose a new or empty directory"),
        (["export", "LOG", "--static=x", "--view=?selected=none"], 1, "this view shows no run"),
        (
            ["export", "LOG", "--format=csv", "--out=LOG/no/such"],
            1,
            'cannot write "LOG/no/such": No',
        ),
        (["export", "LOG", "--static=LOG/no/x.html"], 1, 'cannot write "LOG/no/x.html": No such'),
        (["serve", "LOG", "--host=localhost", "--bind_all"], 2, "--host or --bind_all"),
        (["LOG", "--alert=loss rises"], 2, '"loss rises" is not an alert rule'),
        (["LOG", "--alert-webhook=ftp://host/"], 2, "an http:// or https:// URL"),
        (["--bogus"], 2, "unrecognized arguments: --bogus; see `tracklight --help`"),
        (["--lgodir=LOG"], 2, 'Did you mean "--logdir"?'),
        (["demo", "LOG"], 2, "choose a new or empty directory"),
    ],
)
def test_errors_are_one_line(
    arguments: list[str],
    status: int,
    message: str,
    small_logdir: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    with bind_address("localhost", 0) as taken:
        names = {"LOG": str(small_logdir), "EVENTS": NAME, "TAKEN": str(taken.getsockname()[1])}
        for name, value in names.items():
            arguments = [argument.replace(name, value) for argument in arguments]
            message = message.replace(name, value)
        assert main(arguments) == status

    out, err = capfd.readouterr()
    assert out == ""
    assert err.startswith("tracklight: ")
    assert message in err
    assert err.count("\n") == 1


def test_reads_a_single_event_file(small_logdir: Path, capfd: pytest.CaptureFixture[str]) -> None:
    file = str(small_logdir / "kinds" / NAME)
    for words in (["inspect", file], ["--inspect", "--event_file", file]):
        assert main([*words, "--json", "--tag=matrix"]) == 0

        (run,) = json.loads(capfd.readouterr().out)["runs"].values()
        assert list(run["tags"]) == ["matrix"]
        assert [it["path"] for it in run["files"]] == [NAME]


def test_serves_a_directory_named_like_a_mistyped_command(
    small_logdir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_logdir.rename(small_logdir.with_name("insepct"))
    monkeypatch.chdir(small_logdir.parent)
    flags = parse_flags(["insepct"])
    check_positional_paths(flags)
    assert flags.command == "serve"


def test_error_shows_missing_paths_relative_to_the_current_directory(
    small_logdir: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(small_logdir)
    assert main(["inspect", "rnu2"]) == 1
    message = 'tracklight: there is no directory "rnu2". Did you mean "run2"?\n'
    assert capfd.readouterr().err == message


@pytest.mark.parametrize("words", [["--version"], ["--version_tb"], ["--logdir=x", "--version"]])
def test_version(words: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_info:
        main(words)

    assert exit_info.value.code == 0
    assert capfd.readouterr().out == f"tracklight {tracklight.__version__}\n"


@pytest.fixture
def server(small_logdir: Path) -> Iterator[subprocess.Popen[str]]:
    command = [*COMMAND, f"--logdir={small_logdir}", "--port=0", "--samples_per_plugin=images=94"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        yield process
        process.kill()


def test_serve_prints_the_url_and_stops_on_ctrl_c(server: subprocess.Popen[str]) -> None:
    assert server.stdout is not None and server.stderr is not None
    line = server.stdout.readline()
    match = re.fullmatch(r"tracklight at (http://localhost:\d+/) \(Ctrl-C to quit\)\n", line)
    assert match is not None
    with urllib.request.urlopen(match[1] + "api/v1/runs", timeout=60) as response:
        assert response.status == 200

    server.send_signal(signal.SIGINT)

    assert server.wait(60) == 0
    (note,) = server.stderr.read().splitlines()
    assert note.startswith("tracklight: note: --samples-per-plugin is ignored: ")


def test_serve_waits_for_a_missing_log(tmp_path: Path) -> None:
    command = [*COMMAND, "--logdir", str(tmp_path / "later"), "--port=0"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None and process.stderr is not None
            (url,) = re.findall(r"http://\S+", process.stdout.readline())
            # The parent process may ignore SIGINT, and so does the server until it runs.
            with urllib.request.urlopen(f"{url}api/v1/runs", timeout=60) as response:
                assert response.status == 200
            process.send_signal(signal.SIGINT)
            assert process.wait(60) == 0
        finally:
            process.kill()
        assert 'later" does not exist yet; waiting for it.' in process.stderr.read()


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGPIPE")
def test_closed_pipe_is_not_an_error(nasty_logdir: Path) -> None:
    command = [*COMMAND, "inspect", str(nasty_logdir), "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.read(1)
        process.stdout.close()
        assert process.stderr.read() == b""


def test_password_prints_the_value_for_auth(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("getpass.getpass", lambda prompt: "sesame")
    assert main(["password", "ada"]) == 0
    user, _, hashed = capfd.readouterr().out.strip().partition(":")
    assert user == "ada"
    assert hashed and "sesame" not in hashed
