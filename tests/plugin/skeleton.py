"""The example of a third-party dashboard, installed without an installer."""

from __future__ import annotations

from pathlib import Path

SKELETON = Path(__file__).parents[2] / "examples" / "plugin_skeleton"


def register(folder: Path, entry_points: str) -> Path:
    """A folder for ``sys.path`` in which a package with these entry points seems installed."""
    info = folder / "somebodys_dashboard-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: somebodys-dashboard\nVersion: 1.0\n"
    )
    (info / "entry_points.txt").write_text(f"[tracklight.dashboards]\n{entry_points}\n")
    return folder
