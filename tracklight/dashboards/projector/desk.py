"""Long computations on embeddings: started, followed and found again by their keys."""

from __future__ import annotations

from dataclasses import dataclass, field

from tracklight.dashboards.projector.answers import JobRow
from tracklight.dashboards.projector.library import Found
from tracklight.errors import LogError, UsageError
from tracklight.plugin import Context
from tracklight.projections.devices import Device
from tracklight.projections.jobs import Compute, Job, Jobs, LayoutStore
from tracklight.projections.neighbours import Metric
from tracklight.types import Float32, Int32
from tracklight.util.file_cache import FileCache
from tracklight.util.lru_cache import LruCache

_MOST_PLANS = 100
_MAX_LAYOUT_BYTES = 512 << 20


@dataclass(eq=False)
class Plan:
    """What a job is made of, and what is said of its result beside the places."""

    found: Found
    rows: Int32 | None
    """Those that it is about; None for all."""
    spherize: bool
    metric: Metric = "euclidean"
    is_loose: bool = False
    """Whether only neighbours count, and not how far apart others are."""
    words: str | None = None
    explained: list[float] = field(default_factory=list)
    is_exact: bool = True
    notes: list[str] = field(default_factory=list)
    device: Device = "cpu"


class Desk:
    """The jobs of a server; may be asked from any thread."""

    def __init__(self, context: Context) -> None:
        folder = context.log.cache_folder
        cache = FileCache(folder / "projections", max_bytes=_MAX_LAYOUT_BYTES) if folder else None
        self._jobs: Jobs[Float32] = Jobs(LayoutStore(cache) if cache else None)
        self._plans: LruCache[str, Plan] = LruCache(max_items=_MOST_PLANS)

    def start(self, key: str, plan: Plan, compute: Compute, is_kept: bool = True) -> JobRow:
        known = self._jobs.find(key)
        found = self._plans.find(key)
        if found is None or known is None or known.state in ("failed", "cancelled"):
            self._plans.put(key, plan)
            found = plan
        return tell(self._jobs.start(key, compute, is_kept), found)

    def get_plan(self, key: str) -> Plan:
        plan = self._plans.find(key)
        if plan is None:
            raise LogError("the server no longer knows this projection; start it again")
        return plan

    def get(self, key: str) -> tuple[Job[Float32], Plan]:
        job, plan = self._jobs.find(key), self.get_plan(key)
        if job is None:
            raise LogError("the server no longer has this projection; start it again")
        return job, plan

    def get_layout(self, key: str) -> tuple[Float32, Plan]:
        """The places that a job has come to so far."""
        job, plan = self.get(key)
        if job.result is None:
            raise UsageError("this projection has no places yet; wait until it has some")
        return job.result, plan

    def close(self) -> None:
        """Stop all jobs and wait for the one that runs."""
        self._jobs.close()

    def cancel(self, key: str) -> JobRow:
        job, plan = self.get(key)
        job.cancel()
        return tell(job, plan)


def tell(job: Job[Float32], plan: Plan) -> JobRow:
    return JobRow(
        job.key, job.state, job.doing, job.done, job.total, job.problem, job.revision, plan.device
    )
