"""Recognize network file systems, where the kernel does not report changes.

Other machines change a network file system without the local kernel noticing. The same holds for
folders that a virtual machine or a container shares with its host.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable

_MOUNT_TABLE = "/proc/self/mounts"

_NETWORK_TYPES = {
    "9p",
    "acfs",
    "afs",
    "afp",
    "autofs",
    "beegfs",
    "ceph",
    "cifs",
    "davfs",
    "drvfs",
    "fakeowner",
    "gfs2",
    "glusterfs",
    "gpfs",
    "lustre",
    "ncpfs",
    "nfs",
    "nfs4",
    "ocfs2",
    "orangefs",
    "panfs",
    "prl_fs",
    "pvfs2",
    "smb2",
    "smb3",
    "smbfs",
    "vboxsf",
    "virtiofs",
    "vmhgfs",
    "weka",
    "wekafs",
}

_ESCAPE = re.compile(r"\\([0-7]{3})")


def is_network_path(path: str) -> bool:
    """Return whether other machines may change a directory without the local kernel noticing."""
    if sys.platform == "win32":
        return _is_windows_share(path)
    return _is_network_type(find_mount_type(path, _read_mounts()))


def find_mount_type(path: str, mounts: Iterable[str]) -> str | None:
    """Return the type of the file system of a path, from the lines of a mount table."""
    real = os.path.realpath(path)
    longest, mount_type = -1, None
    for line in mounts:
        fields = line.split(" ")
        point = _unescape(fields[1]).rstrip("/")
        # A later mount hides an earlier one at the same mount point.
        if len(point) >= longest and f"{real}/".startswith(f"{point}/"):
            longest, mount_type = len(point), fields[2]
    return mount_type


def _is_network_type(mount_type: str | None) -> bool:
    if mount_type is None:
        return False
    # fuseblk is a local disk, such as NTFS; other FUSE file systems may be remote.
    return mount_type in _NETWORK_TYPES or mount_type == "fuse" or mount_type.startswith("fuse.")


def _read_mounts() -> list[str]:
    try:
        with open(_MOUNT_TABLE, encoding="utf-8", errors="surrogateescape") as file:
            return file.read().splitlines()
    except OSError:  # not Linux: rely on the regular polling of local directories
        return []


def _unescape(point: str) -> str:
    """Decode blanks, tabs, newlines and backslashes, which the mount table writes in octal."""
    return _ESCAPE.sub(lambda match: chr(int(match[1], 8)), point)


def _is_windows_share(path: str) -> bool:
    import ctypes

    drive = os.path.splitdrive(os.path.realpath(path))[0]
    # getattr because type checkers only know this attribute on Windows.
    kernel = getattr(ctypes, "windll").kernel32  # noqa: B009
    remote = 4
    return drive.startswith("\\\\") or bool(kernel.GetDriveTypeW(f"{drive}\\") == remote)
