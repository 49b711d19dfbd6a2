"""How fast devices can be: what their makers say, else what their number of units comes to."""

from __future__ import annotations

import re
from typing import NamedTuple

from tracklight.profiles.devices import Device


class Peaks(NamedTuple):
    """Operations a second in 32 bits on plain units, in TF32 and in 16 bits on tensor cores.

    0 where a device has no such units, or nobody says.
    """

    plain: float
    tensor_32: float
    tensor_16: float
    bytes_per_s: float
    is_guess: bool = False
    """It was reckoned, and nobody promised it."""


_T = 1e12
#: Dense, without the doubling for sparse matrices; longer names first, as they hold shorter ones.
_KNOWN: dict[str, Peaks] = {
    "GB200": Peaks(80 * _T, 1250 * _T, 2500 * _T, 8.0e12),
    "B200": Peaks(75 * _T, 1125 * _T, 2250 * _T, 8.0e12),
    "H200": Peaks(67 * _T, 495 * _T, 989 * _T, 4.8e12),
    "GH200": Peaks(67 * _T, 495 * _T, 989 * _T, 4.0e12),
    "H100 PCIe": Peaks(51 * _T, 378 * _T, 756 * _T, 2.0e12),
    "H100": Peaks(67 * _T, 495 * _T, 989 * _T, 3.35e12),
    "A100-SXM4-80GB": Peaks(19.5 * _T, 156 * _T, 312 * _T, 2.04e12),
    "A100": Peaks(19.5 * _T, 156 * _T, 312 * _T, 1.56e12),
    "L40S": Peaks(91.6 * _T, 183 * _T, 362 * _T, 0.864e12),
    "L40": Peaks(90.5 * _T, 90.5 * _T, 181 * _T, 0.864e12),
    "L4": Peaks(30.3 * _T, 60 * _T, 121 * _T, 0.3e12),
    "A10G": Peaks(31.5 * _T, 35 * _T, 70 * _T, 0.6e12),
    "A10": Peaks(31.2 * _T, 62.5 * _T, 125 * _T, 0.6e12),
    "V100": Peaks(15.7 * _T, 0.0, 125 * _T, 0.9e12),
    "T4": Peaks(8.1 * _T, 0.0, 65 * _T, 0.32e12),
    "RTX 5090": Peaks(105 * _T, 105 * _T, 210 * _T, 1.79e12),
    "RTX 4090": Peaks(82.6 * _T, 82.6 * _T, 165 * _T, 1.01e12),
    "RTX 3090": Peaks(35.6 * _T, 35.6 * _T, 71 * _T, 0.936e12),
    "MI300X": Peaks(163 * _T, 654 * _T, 1307 * _T, 5.3e12),
}
#: By capability: operations a cycle of one multiprocessor, plain and in 16 bits on tensor cores.
_PER_CYCLE = {
    (7, 0): (128, 1024), (7, 5): (128, 1024), (8, 0): (128, 2048), (8, 6): (256, 1024),
    (8, 9): (256, 1024), (9, 0): (256, 4096), (10, 0): (256, 8192), (12, 0): (256, 1024),
}  # fmt: skip


def find_peaks(device: Device) -> Peaks | None:
    """None where neither its name nor what it is made of is known."""
    known = next((peaks for name, peaks in _KNOWN.items() if _has_word(device.name, name)), None)
    if known is not None:
        # What the device says of its own memory goes before what is printed on the box.
        return known._replace(bytes_per_s=device.bytes_per_s or known.bytes_per_s)
    per_cycle = _PER_CYCLE.get(device.capability)
    cycles = device.multiprocessors * device.clock_hz
    if per_cycle is None or not cycles or not device.bytes_per_s:
        return None
    plain, tensor = (each * cycles for each in per_cycle)
    has_32 = device.capability >= (8, 0)
    return Peaks(plain, tensor / 2 if has_32 else 0.0, tensor, device.bytes_per_s, True)


def _has_word(name: str, word: str) -> bool:
    return re.search(rf"(?<![A-Za-z0-9]){word}(?![A-Za-z0-9])", name) is not None
