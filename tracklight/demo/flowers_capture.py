"""A capture of some steps of the network that tells flowers apart, on a host with one GPU.

Everything is laid out in time as it would run: the host waits for a batch, copies it, launches
kernels one after the other, and reads the loss, for which it must wait until the device is done.
"""

from __future__ import annotations

import numpy as np

from tracklight.demo.flowers_input import read_batch, take_batch
from tracklight.demo.flowers_memory import Memory
from tracklight.demo.flowers_model import BATCH, COLOURS, SIDE, Kernel, list_kernels
from tracklight.demo.xspace import Line, Plane, Told, encode_space

_HOST = "trainer"
_STEPS = 10
_BATCH_BYTES = 4 * BATCH * SIDE * SIDE * COLOURS
#: Bytes a microsecond: memory that may be swapped out is copied twice.
_COPIES = {"pageable": 5.4e3, "pinned": 11.2e3}
_LAUNCH_US = 4.2
#: What Python does of a step when its function is over.
_REST_US = 150
_DEVICE: dict[str, Told] = {
    "device_vendor": "Nvidia",
    "gpu_device_name": "NVIDIA L4",
    "clock_rate": 2_040_000,
    "core_count": 58,
    "memory_bandwidth": 300_048_000_000,
    "memory_size": 23_580_639_232,
    "compute_cap_major": 8,
    "compute_cap_minor": 9,
}


def write_capture(
    began_s: float, *, first_step: int, tuned: bool, rng: np.random.Generator
) -> bytes:
    """The bytes of a capture; ``tuned``: with prefetched batches and in mixed precision."""
    program = _Program(tuned, rng)
    now = 300.0
    for number in range(first_step, first_step + _STEPS):
        now = program.run_step(number, now)
    began_ns = round(began_s * 1e9)
    end_ns = began_ns + round(now * 1000)
    times: dict[str, Told] = {"profile_start_time": began_ns, "profile_stop_time": end_ns}
    return encode_space([program.device, program.host, Plane("Task Environment", **times)], _HOST)


class _Program:
    """Where the host and the device are in time."""

    def __init__(self, tuned: bool, rng: np.random.Generator) -> None:
        self._tuned, self._rng = tuned, rng
        self._kernels = list_kernels(mixed=tuned)
        self.device = Plane("/device:GPU:0", **_DEVICE)
        self.host = Plane("/host:CPU")
        self._compute = self.device.add_line(20, "Stream #20(Compute)")
        self._copies = self.device.add_line(21, "Stream #21(MemcpyH2D)")
        self._reads = self.device.add_line(22, "Stream #22(MemcpyD2H)")
        self._python = self.host.add_line(1, "python")
        self._executor = self.host.add_line(2, "tf_Compute/2")
        self._input = self.host.add_line(3, "tf_data_iterator_get_next/3")
        self._ahead = self.host.add_line(4, "tf_data_prefetch/4") if tuned else self._input
        self._memory = Memory(self._executor)
        self._is_free = self._is_copied = 0.0
        self._launched = 0

    def run_step(self, number: int, at_us: float) -> float:
        """Do all that a step is, from ``at_us`` on; gives when the next one begins."""
        self._at = at_us + self._wait(140)
        begins = self._at
        self._get_batch(number)
        self._copy_batch()
        self._at += self._wait(40)
        for kernel in self._kernels:
            self._launch(kernel)
            self._memory.keep(kernel, self._at)
        self._read_loss()
        self._memory.forget(self._at)
        ends = self._at + self._wait(60)
        self._say_python(number, at_us, begins, ends)
        return ends + _REST_US + self._wait(15)

    def _get_batch(self, number: int) -> None:
        asked: dict[str, Told] = {"id": 1000 + number, "iter_num": 0}
        executor = self._at
        if self._tuned:
            self._at = take_batch(
                self._input, self._ahead, self._rng, number, self._at + 20, **asked
            )
        else:
            self._at = read_batch(self._input, self._rng, self._at + 20, **asked)
        start = "ExecutorState::ProcessAsync::Start"
        self._executor.add(start, executor + 10, 6, name="IteratorGetNext")

    def _copy_batch(self) -> None:
        """Bring the batch to the device; that of a tuned program is there, and the next set out."""
        memory = "pinned" if self._tuned else "pageable"
        details = f"kind_src:{memory} kind_dst:device size:{_BATCH_BYTES} dest:0 async:1"
        took = _BATCH_BYTES / _COPIES[memory]
        self._is_copied = self._call(
            self._copies, "MemcpyH2D", "cuMemcpyHtoDAsync", took, self._at + 12,
            memcpy_details=details, tf_op="IteratorGetNext:IteratorGetNext",
        )  # fmt: skip
        if not self._tuned:
            self._is_free = max(self._is_free, self._is_copied)

    def _launch(self, kernel: Kernel) -> None:
        took = kernel.took_us * float(np.exp(self._rng.normal(0, 0.03)))
        op, began = f"{kernel.op}:{kernel.type}", self._at
        ready = max(self._is_free + 0.8, began + _LAUNCH_US + 5)
        self._is_free = self._call(
            self._compute, kernel.name, "cuLaunchKernel", took, ready, tf_op=op,
            kernel_details=kernel.launch, theoretical_occupancy_pct=kernel.shape.occupancy,
        )  # fmt: skip
        self._executor.add(op, began, self._at - began + 3)
        self._at += 5 + self._wait(3)

    def _call(
        self, stream: Line, name: str, call: str, took: float, ready: float, **told: Told
    ) -> float:
        """Call something on the device at once; gives when it will have been done."""
        self._launched += 1
        number = self._launched
        self._executor.add(call, self._at + 2, _LAUNCH_US, correlation_id=number)
        stream.add(name, ready, took, correlation_id=number, **told)
        self._at += _LAUNCH_US + 3
        return ready + took

    def _read_loss(self) -> None:
        ready = max(self._is_free, self._at) + 3
        details = "kind_src:device kind_dst:pageable size:8 dest:0 async:0"
        done = self._call(
            self._reads, "MemcpyD2H", "cuMemcpyDtoHAsync", 1.9, ready, memcpy_details=details
        )
        self._executor.add("cuStreamSynchronize", self._at, max(done - self._at, 1) + 6)
        self._at = max(done, self._at) + 10

    def _say_python(self, number: int, step: float, begins: float, ends: float) -> None:
        """What stands around all that: the step, and calls that only hand on to others."""
        turn: dict[str, Told] = {"id": 1000 + number}
        self._python.add("train", step, ends + _REST_US - step, step_num=number, _r=1)
        function = "__inference_multi_step_on_iterator_2011"
        calls = ("multi_step_on_iterator", "TFE_Py_ExecuteCancelable", "KernelAndDeviceFunc::Run")
        for depth, call in enumerate(calls):
            inner = begins - 30 + 8 * depth
            self._python.add(call, inner, ends - inner - 8 * depth, eager_op=function)
        self._python.add("FunctionRun", begins - 4, 12, **turn, _r=1, _pt=2, _p=number + 1)
        self._executor.add(
            "ExecutorState::Process", begins, ends - begins - 20, **turn, iter_num=0, _ct=2,
            _c=number + 1,
        )  # fmt: skip

    def _wait(self, usual_us: float) -> float:
        return usual_us * float(np.exp(self._rng.normal(0, 0.1)))
