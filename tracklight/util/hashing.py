"""Short, stable hashes of keys of any length."""

from __future__ import annotations

import hashlib


def hash_key(*parts: str, size_bytes: int = 12) -> str:
    """Return a hexadecimal hash of some strings that is the same in every process.

    Not for secrets. The parts may be file names that are not valid UTF-8.

    Args:
        parts: The strings; ``("a", "b")`` and ``("ab",)`` have different hashes.
        size_bytes: Length of the hash, half the number of digits.
    """
    text = "\0".join(parts)
    try:
        data = text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # surrogates that do not come from a file name
        data = text.encode("utf-8", "surrogatepass")
    return hashlib.blake2b(data, digest_size=size_bytes).hexdigest()
