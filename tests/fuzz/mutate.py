"""A small mutation fuzzer for machines without atheris: ``python -m tests.fuzz.mutate TARGET``.

It accepts the options of libFuzzer that ``tests.fuzz`` uses. It is not guided by coverage: it
mutates the seeds, which cover every kind of value, and reports the first input that raises.
"""

from __future__ import annotations

import math
import random
import sys
import time
from pathlib import Path

from tests.fuzz.targets import RUN

MAX_BYTES = 4096
_INTERESTING = [
    bytes(8),
    b"\xff" * 8,
    b"\x80" * 4,
    b"\x7f",
    b"\x00\x00\x00\x80",
    b"\xff\xff\xff\x7f",
]


def mutate(rng: random.Random, seeds: list[bytes]) -> bytes:
    """Return a seed with up to eight random edits: flip, insert, delete, repeat or splice."""
    data = bytearray(rng.choice(seeds))
    for _ in range(rng.randint(1, 8)):
        at = rng.randint(0, len(data))
        end = min(len(data), at + rng.randint(1, 16))
        kind = rng.randrange(6)
        if kind == 0 and at < len(data):
            data[at] ^= 1 << rng.randrange(8)
        elif kind == 1:
            data[at:at] = rng.randbytes(rng.randint(1, 8))
        elif kind == 2:
            del data[at:end]
        elif kind == 3:
            data[at:at] = data[at:end] * rng.randint(1, 4)
        elif kind == 4:
            value = rng.choice(_INTERESTING)
            data[at : at + len(value)] = value
        else:
            other = rng.choice(seeds)
            start = rng.randint(0, len(other))
            data[at:end] = other[start : start + rng.randint(1, 64)]
    return bytes(data[:MAX_BYTES])


def main(target: str, *arguments: str) -> int:
    options = dict(option[1:].split("=", 1) for option in arguments if option.startswith("-"))
    paths = [Path(argument) for argument in arguments if not argument.startswith("-")]
    run = RUN[target]
    if all(path.is_file() for path in paths):
        for path in paths:
            run(path.read_bytes())
        return 0
    seeds = [file.read_bytes() for path in paths for file in sorted(path.iterdir())]
    rng = random.Random(int(options.get("seed", 0)) or time.time_ns())
    deadline = time.monotonic() + float(options.get("max_total_time", math.inf))
    limit = int(options.get("runs", 0)) or math.inf
    runs = 0
    while runs < limit and time.monotonic() < deadline:
        data = seeds[runs] if runs < len(seeds) else mutate(rng, seeds)
        try:
            run(data)
        except BaseException:
            failed = Path(f"{options['artifact_prefix']}crash")
            failed.write_bytes(data)
            print(f"failing input: {failed}", file=sys.stderr)
            raise
        runs += 1
    print(f"Done {runs} runs", file=sys.stderr)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:]))
