from __future__ import annotations

from pathlib import Path

import pytest

from tracklight.logdir import watch
from tracklight.logdir.watch import find_mount_type, is_network_path

TABLE = r"""/dev/sda1 / ext4 rw 0 0
proc /proc proc rw 0 0
server:/export /data nfs4 rw,vers=4.2 0 0
/dev/sdb1 /data/local xfs rw 0 0
host /mnt/my\040share cifs rw 0 0
user@host: /home/me/remote fuse.sshfs rw 0 0
/dev/sdc1 /media/stick fuseblk rw 0 0
gluster /mnt/covered fuse.glusterfs rw 0 0
/dev/sdd1 /mnt/covered btrfs rw 0 0
C:\134 /mnt/c 9p rw 0 0
""".splitlines()


@pytest.mark.parametrize(
    ("path", "mount_type", "shared"),
    [
        ("/logs", "ext4", False),
        ("/", "ext4", False),
        ("/data", "nfs4", True),
        ("/data/logs", "nfs4", True),
        ("/database", "ext4", False),
        ("/data/local/logs", "xfs", False),
        ("/mnt/my share/logs", "cifs", True),
        ("/home/me/remote/logs", "fuse.sshfs", True),
        ("/media/stick/logs", "fuseblk", False),
        ("/mnt/covered/logs", "btrfs", False),
        ("/mnt/c/logs", "9p", True),
    ],
)
def test_recognizes_network_file_systems(
    path: str, mount_type: str, shared: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert find_mount_type(path, TABLE) == mount_type
    monkeypatch.setattr(watch, "_read_mounts", lambda: TABLE)
    assert is_network_path(path) is shared


def test_resolves_links(tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "far")
    table = [f"dev {tmp_path / 'far'} nfs rw 0 0"]
    assert find_mount_type(str(tmp_path / "link" / "logs"), table) == "nfs"


def test_nothing_is_network_without_mount_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "_MOUNT_TABLE", "/there/is/no/such/table")
    assert not is_network_path("/data")


def test_reads_mount_table_of_this_machine(tmp_path: Path) -> None:
    assert isinstance(is_network_path(str(tmp_path)), bool)
