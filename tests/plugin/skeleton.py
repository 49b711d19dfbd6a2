"""Make packages with dashboards look installed."""

from __future__ import annotations

from pathlib import Path

SKELETON = Path(__file__).parents[2] / "examples" / "plugin_skeleton"


def register(folder: Path, entry_points: str) -> Path:
    """Create the metadata of a package with entry points; put ``folder`` on ``sys.path``."""
    info = folder / "third_party_dashboard-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: third-party-dashboard\nVersion: 1.0\n"
    )
    (info / "entry_points.txt").write_text(f"[tracklight.dashboards]\n{entry_points}\n")
    return folder
