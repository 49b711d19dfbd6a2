"""Print the download size of the core install: ``python tools/measure_install.py``."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIMIT_BYTES = 60_000_000


def read_core_requirements() -> list[str]:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    block = re.search(r"^dependencies = \[(.*?)^\]", text, re.DOTALL | re.MULTILINE)
    assert block, "pyproject.toml lists no dependencies"
    return re.findall(r'"([^"]+)"', block[1])


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        download = [sys.executable, "-m", "pip", "download", "--quiet", "--only-binary", ":all:"]
        subprocess.run([*download, "--dest", folder, *read_core_requirements()], check=True)
        sizes = {path.name: path.stat().st_size for path in Path(folder).iterdir()}
    for name, size in sorted(sizes.items(), key=lambda item: -item[1]):
        print(f"{size / 1e6:6.2f} MB  {name}")
    total = sum(sizes.values())
    print(f"{total / 1e6:6.2f} MB  in all (limit {LIMIT_BYTES / 1e6:.0f} MB)")
    sys.exit(total > LIMIT_BYTES)


if __name__ == "__main__":
    main()
