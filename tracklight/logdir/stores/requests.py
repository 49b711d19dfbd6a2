"""Count the requests to object stores, which cost money, and limit them by a budget per hour.

Counted are the requests that `tracklight.logdir.remote` sends, each attempt separately. A listing
is one request per page of 1,000 keys. Attempts that a library of a store repeats by itself are not
visible here.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, get_args

Operation = Literal["list", "stat", "read"]
OPERATIONS: tuple[Operation, ...] = get_args(Operation)

#: Keys in one response to a listing, in S3, Google Cloud Storage and Azure alike (at most).
KEYS_PER_PAGE = 1000

_HOUR_S = 3600.0


@dataclass
class RequestCounts:
    """Requests and received bytes by operation since the start of a process."""

    requests: Counter[str] = field(default_factory=Counter)
    bytes: Counter[str] = field(default_factory=Counter)
    retries: int = 0

    @property
    def total(self) -> int:
        return sum(self.requests.values())


def count_pages(keys: int) -> int:
    """Return how many requests a listing of ``keys`` keys takes."""
    return max(1, -(-keys // KEYS_PER_PAGE))


class RequestBudget:
    """A budget of requests per hour, as a token bucket.

    Requests are never refused: what was asked for is read, and the budget may become negative by
    at most one hour's worth. Callers that can wait ask `get_wait_s` first.

    Args:
        per_hour: How many requests to send in an hour.
        clock: Returns the time in seconds.
    """

    def __init__(self, per_hour: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.per_hour = per_hour
        self._clock = clock
        self._remaining = float(per_hour)
        self._updated_s = clock()

    @property
    def remaining(self) -> float:
        now_s = self._clock()
        gained = (now_s - self._updated_s) * self.per_hour / _HOUR_S
        self._remaining = min(float(self.per_hour), self._remaining + gained)
        self._updated_s = now_s
        return self._remaining

    def spend(self, requests: int) -> None:
        self._remaining = max(-float(self.per_hour), self.remaining - requests)

    def get_wait_s(self, requests: int) -> float:
        """Return after how many seconds ``requests`` more are within the budget; 0 for now."""
        missing = min(requests, self.per_hour) - self.remaining
        return max(0.0, missing * _HOUR_S / self.per_hour)


class RequestMeter:
    """The requests of this process to object stores, and those of its shards on a cluster."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._own = RequestCounts()
        self._shards: dict[str, RequestCounts] = {}
        self._budget: RequestBudget | None = None

    @property
    def budget(self) -> RequestBudget | None:
        return self._budget

    def set_budget(self, per_hour: int | None) -> None:
        """Limit requests from now on; None removes the limit."""
        self._budget = None if per_hour is None else RequestBudget(per_hour)

    def add(self, operation: Operation, requests: int = 1, received_bytes: int = 0) -> None:
        with self._lock:
            self._own.requests[operation] += requests
            self._own.bytes[operation] += received_bytes
            if self._budget is not None:
                self._budget.spend(requests)

    def add_retry(self) -> None:
        with self._lock:
            self._own.retries += 1

    def set_shard(self, instance: str, counts: RequestCounts) -> None:
        """Replace the counts of a process that reads a part of the log."""
        with self._lock:
            known = self._shards.get(instance, RequestCounts())
            self._shards[instance] = counts
            if self._budget is not None:
                self._budget.spend(counts.total - known.total)

    def get_own(self) -> RequestCounts:
        """Return a copy of the counts of this process."""
        with self._lock:
            own = self._own
            return RequestCounts(own.requests.copy(), own.bytes.copy(), own.retries)

    def get_totals(self) -> RequestCounts:
        """Return the counts of this process and of all shards."""
        with self._lock:
            parts = [self._own, *self._shards.values()]
            return RequestCounts(
                sum((part.requests for part in parts), Counter()),
                sum((part.bytes for part in parts), Counter()),
                sum(part.retries for part in parts),
            )

    def get_wait_s(self, requests: int) -> float:
        """Return how long a refresh of ``requests`` requests has to wait for the budget."""
        with self._lock:
            return 0.0 if self._budget is None else self._budget.get_wait_s(requests)


#: The meter of this process.
METER = RequestMeter()
