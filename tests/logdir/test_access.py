from __future__ import annotations

import os
from pathlib import Path

from tests.index import logs
from tracklight.logdir.access import escapes_roots, is_inside, resolve_path
from tracklight.types import SettingsFile


def test_sibling_with_same_prefix_is_not_inside() -> None:
    assert is_inside("/logs/a", "/logs") and is_inside("/logs", "/logs")
    assert not is_inside("/logs2/a", "/logs")
    assert is_inside("s3://b/logs/a", "s3://b/logs") and is_inside("/a", "/")
    assert not is_inside(resolve_path("s3://b/logs/../x"), "s3://b/logs")


def test_link_to_file_elsewhere_escapes_roots(tmp_path: Path) -> None:
    (tmp_path / "logs" / "run").mkdir(parents=True)
    (tmp_path / "far").mkdir()
    (tmp_path / "far" / "config.json").write_text("{}")
    link = tmp_path / "logs" / "run" / "config.json"
    os.symlink(tmp_path / "far" / "config.json", link)
    assert escapes_roots(str(link), [str(tmp_path / "logs")])
    os.symlink(tmp_path / "far", tmp_path / "logs" / "linked")
    inside = str(tmp_path / "logs" / "linked" / "config.json")
    assert not escapes_roots(inside, [str(tmp_path / "logs")])


def test_settings_that_are_a_link_are_not_read(tmp_path: Path) -> None:
    logs.write(tmp_path / "logs", "run", logs.points(range(3)))
    (tmp_path / "secret").write_text('{"password": "hunter2"}')
    link = tmp_path / "logs" / "run" / "hparams.json"
    os.symlink(tmp_path / "secret", link)
    catalog = logs.open_catalog(tmp_path / "logs")
    try:
        catalog.read_settings(SettingsFile("run", str(link), ""))
    except PermissionError as error:
        assert "is outside" in str(error)
    else:
        raise AssertionError("it was read")
    finally:
        catalog.close()
