"""The static export contains what the page shows without a server."""

from __future__ import annotations

from pathlib import Path

from tests.analysis.media.conftest import Open, open_log
from tests.dashboards.images import samples
from tests.dashboards.images.conftest import picture_record
from tests.dashboards.images.samples import load, noise, save
from tests.index import logs
from tracklight.analysis.media import StepsResponse
from tracklight.dashboards.images import ImageInfoResponse, Images
from tracklight.plugin import Blob

__all__ = ["open_log"]


def test_exports_thumbnails(tmp_path: Path, open_log: Open) -> None:
    animation = samples.gif(3)
    values = [
        [save(noise(700, 900, 3)), b"no picture"],
        [animation, samples.mp4()],
    ]
    records = (picture_record(step, parts) for step, parts in enumerate(values))
    logs.write(tmp_path, "a", b"".join(records))
    parts = dict(Images(open_log(tmp_path)).export_static(["a"]))
    steps = parts["steps/picture"]
    assert isinstance(steps, StepsResponse)
    (series,) = steps.series
    first, second = (
        f"run=a&tag=picture&index={n}&fingerprint={series.fingerprint[n]}" for n in (0, 1)
    )
    assert set(parts) == {
        "steps/picture",
        f"about?{first}",
        f"thumbnail?{first}&part=0&size=512",
        f"about?{second}",
        f"thumbnail?{second}&part=0&size=512",
        f"picture?{second}&part=0",
        f"picture?{second}&part=1",
    }
    about = parts[f"about?{first}"]
    assert isinstance(about, ImageInfoResponse)
    assert [part.problem is None for part in about.parts] == [True, False]
    thumbnail = parts[f"thumbnail?{first}&part=0&size=512"]
    assert isinstance(thumbnail, Blob)
    assert load(thumbnail.content).shape == (398, 512, 3)
    # Noise takes more than half a megabyte without loss.
    assert thumbnail.media_type == "image/webp" and len(thumbnail.content) < 250_000
    assert parts[f"picture?{second}&part=0"] == Blob(animation, "image/gif", immutable=True)


def test_exports_small_images_unchanged(tmp_path: Path, open_log: Open) -> None:
    data = save(noise(512, 300, 3))
    logs.write(tmp_path, "a", picture_record(1, [data]))
    parts = dict(Images(open_log(tmp_path)).export_static(["a"]))
    (blob,) = (it for it in parts.values() if isinstance(it, Blob))
    assert (blob.content, blob.media_type) == (data, "image/png")


def test_exports_nothing_without_images(tmp_path: Path, open_log: Open) -> None:
    logs.write(tmp_path, "a", logs.points(range(3)))
    assert dict(Images(open_log(tmp_path)).export_static(["a"])) == {}
