"""Run the fuzzers, with atheris if it is installed, otherwise with a simple mutation fuzzer.

python -m tests.fuzz --seconds 600           all targets, ten minutes in total
python -m tests.fuzz scan --seconds 60       one target
python -m tests.fuzz scan --runs 500         the same 500 mutations each time, as tests do
python -m tests.fuzz scan some/file          run a failing input again
"""

from __future__ import annotations

import argparse
import importlib.util
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.fuzz.targets import RUN, SEEDS


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz")
    parser.add_argument("target", nargs="?", choices=RUN)
    parser.add_argument("inputs", nargs="*", help="files to run once instead of fuzzing")
    parser.add_argument("--seconds", type=int, default=60, help="total time for all targets")
    parser.add_argument("--runs", type=int, default=0, help="mutate so often, without atheris")
    chosen = parser.parse_args()
    targets = [chosen.target] if chosen.target else list(RUN)
    seconds = chosen.seconds // len(targets)
    return max(fuzz(each, chosen.inputs, seconds, chosen.runs) for each in targets)


def fuzz(target: str, inputs: list[str], seconds: int, runs: int) -> int:
    """Fuzz in a subprocess, because libFuzzer never returns; nonzero if an input failed."""
    with tempfile.TemporaryDirectory() as corpus:
        for number, seed in enumerate(SEEDS[target]()):
            Path(corpus, f"seed-{number}").write_bytes(seed)
        options = [
            *([f"-runs={runs}", "-seed=1"] if runs else [f"-max_total_time={seconds}"]),
            "-max_len=4096",
            "-timeout=60",
            "-rss_limit_mb=2048",
            f"-artifact_prefix={tempfile.gettempdir()}/tracklight-fuzz-{target}-",
        ]
        # What atheris tries depends on the time and on versions of Python.
        fuzzer = "run" if importlib.util.find_spec("atheris") and not runs else "mutate"
        command = [sys.executable, "-m", f"tests.fuzz.{fuzzer}", target, *options]
        return subprocess.run([*command, *(inputs or [corpus])], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
