"""Tells directories whose changes the kernel reports from those it cannot know about.

A network file system is changed by other machines, of which this kernel hears nothing; so are the
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
    """Whether other machines may change what is in a directory without this one being told."""
    if sys.platform == "win32":
        return _is_windows_share(path)
    return _is_network_type(find_mount_type(path, _read_mounts()))


def find_mount_type(path: str, mounts: Iterable[str]) -> str | None:
    """Find the type of file system that a path is on, from the lines of a mount table."""
    real = os.path.realpath(path)
    longest, found = -1, None
    for line in mounts:
        fields = line.split(" ")
        point = _unescape(fields[1]).rstrip("/")
        # A later line covers an earlier one at the same place.
        if len(point) >= longest and f"{real}/".startswith(f"{point}/"):
            longest, found = len(point), fields[2]
    return found


def _is_network_type(mount_type: str | None) -> bool:
    if mount_type is None:
        return False
    # fuseblk is a local disk behind a driver, such as NTFS; other FUSE file systems are anything.
    return mount_type in _NETWORK_TYPES or mount_type == "fuse" or mount_type.startswith("fuse.")


def _read_mounts() -> list[str]:
    try:
        with open(_MOUNT_TABLE, encoding="utf-8", errors="surrogateescape") as file:
            return file.read().splitlines()
    except OSError:  # not Linux: the safety poll of the watcher has to do
        return []


def _unescape(point: str) -> str:
    """The table writes blanks, tabs, newlines and backslashes in octal."""
    return _ESCAPE.sub(lambda found: chr(int(found[1], 8)), point)


def _is_windows_share(path: str) -> bool:
    import ctypes

    drive = os.path.splitdrive(os.path.realpath(path))[0]
    # Looked up by name because type checkers only know this attribute on Windows.
    kernel = getattr(ctypes, "windll").kernel32  # noqa: B009
    remote = 4
    return drive.startswith("\\\\") or bool(kernel.GetDriveTypeW(f"{drive}\\") == remote)
