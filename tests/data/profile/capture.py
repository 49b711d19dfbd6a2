"""Takes the captures in this folder: ``capture.py torch|modules|memory|jax DIR``. Needs a GPU.

One framework a process, as only one of them can listen to the device.

Each program does one known thing, so that a test can hold what is shown against what was done:
the precision of its matrix products, where it waits for its input, and which copies overlap.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import lzma
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile, schedule

STEPS = 4
WIDTH = 1024
BATCH = 512


def main(framework: str, out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    programs = {
        "torch": capture_torch,
        "modules": capture_modules,
        "memory": capture_memory,
        "jax": capture_jax,
    }
    programs[framework](out)


def capture_torch(out: Path) -> None:
    _capture_torch(out / "torch_f32.pt.trace.json.gz", _train(torch.float32))
    _capture_torch(out / "torch_bf16.pt.trace.json.gz", _train(torch.bfloat16))
    _capture_torch(out / "torch_input.pt.trace.json.gz", _train(torch.float32, wait_s=0.02))
    _capture_torch(out / "torch_overlap.pt.trace.json.gz", _overlap())
    _capture_torch(out / "torch_ahead.pt.trace.json.gz", _run_ahead())
    _capture_torch(out / "torch_fp8.pt.trace.json.gz", _multiply_fp8())


def capture_modules(out: Path) -> None:
    """Capture stacks and modules, and save what PyTorch says about its operators."""
    model = nn.Sequential(
        nn.Linear(512, 1024),
        nn.ReLU(),
        nn.Sequential(nn.Linear(1024, 1024), nn.GELU()),
        nn.Linear(1024, 10),
    ).cuda()
    optimizer = torch.optim.Adam(model.parameters())

    def step() -> None:
        inputs, labels = torch.randn(256, 512, device="cuda"), torch.randint(10, (256,)).cuda()
        nn.functional.cross_entropy(model(inputs), labels).backward()
        optimizer.step()
        optimizer.zero_grad()
        torch.cuda.synchronize()

    step()
    with profile(record_shapes=True, with_stack=True, with_modules=True) as running:
        for _ in range(3):
            with torch.profiler.record_function("my_step"):
                step()
            running.step()
    plain = out / "torch_modules.pt.trace.json"
    running.export_chrome_trace(str(plain))
    (out / f"{plain.name}.gz").write_bytes(gzip.compress(plain.read_bytes(), mtime=0))
    plain.unlink()
    averages = {
        name: [
            (
                *(row.key, str(row.input_shapes), row.count),
                *(row.self_cpu_time_total, row.cpu_time_total),
                *(row.self_device_time_total, row.device_time_total),
            )
            for row in running.key_averages(group_by_input_shape=name == "shape")
            if row.device_type.name == "CPU"
        ]
        for name in ("name", "shape")
    }
    content = lzma.compress(json.dumps(averages).encode())
    (out / "torch_modules.averages.json.xz").write_bytes(content)


class Block(nn.Module):
    """A layer of a Transformer."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.attn = nn.MultiheadAttention(width, 4, batch_first=True)
        self.mlp = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )
        self.n1, self.n2 = nn.LayerNorm(width), nn.LayerNorm(width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = self.n1(x)
        x = x + self.attn(h, h, h, need_weights=False)[0]
        return x + self.mlp(self.n2(x))


def capture_memory(out: Path) -> None:
    """Save a snapshot of the allocator, and what PyTorch says about its memory."""
    memory = torch.cuda.memory
    memory._record_memory_history(max_entries=100_000, stacks="all")
    model = nn.Sequential(*(Block(256) for _ in range(3)), nn.Linear(256, 10)).cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(3):
        inputs = torch.randn(32, 64, 256).cuda()
        labels = torch.randint(10, (32, 64), device="cuda")
        outputs = model(inputs).flatten(0, 1)
        nn.functional.cross_entropy(outputs, labels.flatten()).backward()
        optimizer.step()
        optimizer.zero_grad()
    torch.cuda.synchronize()
    with contextlib.suppress(torch.OutOfMemoryError):
        torch.empty(1 << 50, device="cuda", dtype=torch.uint8)
    stats = torch.cuda.memory_stats()
    facts = {key: stats[key] for key in stats if ".all." in key and "bytes" in key}
    states = (value for state in optimizer.state.values() for value in state.values())
    facts["params"] = sum(parameter.nbytes for parameter in model.parameters())
    facts["state"] = sum(value.nbytes for value in states if value.is_cuda)
    plain = out / "torch_memory_snapshot.pickle"
    memory._dump_snapshot(str(plain))
    (out / "torch_memory_snapshot.json").write_text(json.dumps(facts))
    (out / f"{plain.name}.xz").write_bytes(lzma.compress(plain.read_bytes()))
    plain.unlink()


def capture_jax(out: Path) -> None:
    _capture_jax(out / "jax_f32.xplane.pb", jnp.float32)
    _capture_jax(out / "jax_bf16.xplane.pb", jnp.bfloat16)
    layers = [[jax.random.normal(jax.random.key(0), (512, 512)) * 0.02] * 6 for _ in range(6)]
    transformer = partial(_jax_sgd(_transformer_loss), layers, jnp.ones((8, 128, 512)))
    kernels = [jnp.ones((3, 3, 64, 64)) * 0.01 for _ in range(4)]
    cnn = partial(_jax_sgd(_cnn_loss), kernels, jnp.ones((32, 56, 56, 64)))
    products = partial(_jax_products, jnp.ones((8192, 8192), jnp.bfloat16))
    _capture_jax_loop(out / "jax_tf.xplane.pb", transformer, 12)
    _capture_jax_loop(out / "jax_input.xplane.pb", transformer, 8, wait_s=0.02)
    _capture_jax_loop(out / "jax_cnn.xplane.pb", cnn, 12)
    _capture_jax_loop(out / "jax_ahead.xplane.pb", products, 10, blocks=False)
    options = jax.profiler.ProfileOptions()
    options.advanced_configuration = {
        "gpu_pm_sample_counters": "sm__cycles_active.avg,dram__bytes_read.sum",
        "gpu_pm_sample_interval_us": 100,
    }
    _capture_jax_loop(out / "jax_counters.xplane.pb", transformer, 9, wait_s=0.005, options=options)


def _capture_torch(path: Path, steps: Iterator[None]) -> None:
    plan = schedule(wait=0, warmup=3, active=STEPS)
    activities = [ProfilerActivity.CPU, ProfilerActivity.CUDA]
    with (
        tempfile.TemporaryDirectory() as folder,
        profile(activities=activities, schedule=plan, record_shapes=True) as running,
    ):
        plain = Path(folder) / "trace.json"
        running.on_trace_ready = lambda done: done.export_chrome_trace(str(plain))
        for _ in range(3 + STEPS):
            next(steps)
            running.step()
        path.write_bytes(gzip.compress(plain.read_bytes(), mtime=0))


def _train(dtype: torch.dtype, wait_s: float = 0.0) -> Iterator[None]:
    """Steps of a small perceptron; with ``wait_s`` each batch is slow to come."""
    torch.backends.cuda.matmul.allow_tf32 = False
    model = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, 10)).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    loader = iter(torch.utils.data.DataLoader(_Batches(wait_s), batch_size=None))
    while True:
        inputs, labels = next(loader)
        with torch.autocast("cuda", dtype, enabled=dtype != torch.float32):
            loss = nn.functional.cross_entropy(model(inputs.cuda()), labels.cuda())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        torch.cuda.synchronize()
        yield


class _Batches(torch.utils.data.Dataset):
    def __init__(self, wait_s: float) -> None:
        self._wait_s = wait_s

    def __len__(self) -> int:
        return 1_000

    def __getitem__(self, index: int) -> tuple[torch.Tensor, torch.Tensor]:
        time.sleep(self._wait_s)
        return torch.randn(BATCH, WIDTH), torch.randint(10, (BATCH,))


def _overlap() -> Iterator[None]:
    """The next batch is copied on a stream of its own while this one is computed."""
    side = torch.cuda.Stream()
    pinned = torch.randn(32 * BATCH, WIDTH).pin_memory()
    weight = torch.randn(4 * WIDTH, 4 * WIDTH, device="cuda")
    while True:
        with torch.cuda.stream(side):
            pinned.to("cuda", non_blocking=True)
        product = weight
        for _ in range(4):
            product = product @ weight
        torch.cuda.synchronize()
        yield


def _multiply_fp8() -> Iterator[None]:
    """Matrix products in 8 bits, whose scales are in 32 bits."""
    matrix = torch.randn(4 * WIDTH, 4 * WIDTH, device="cuda").to(torch.float8_e4m3fn)
    scale = torch.ones((), device="cuda")
    while True:
        for _ in range(3):
            torch._scaled_mm(matrix, matrix.t(), scale, scale, out_dtype=torch.bfloat16)
        yield


def _run_ahead() -> Iterator[None]:
    """The host launches all steps at once and never waits for the device."""
    weight = torch.randn(8 * WIDTH, 8 * WIDTH, device="cuda")
    while True:
        product = weight
        for _ in range(2):
            product = torch.tanh(product @ weight)
        yield


def _capture_jax_loop(
    path: Path,
    step: Callable[[], object],
    steps: int,
    *,
    blocks: bool = True,
    wait_s: float = 0.0,
    options: jax.profiler.ProfileOptions | None = None,
) -> None:
    """Capture steps; with ``wait_s``, each waits for its input before its marker."""
    for _ in range(3):
        jax.block_until_ready(step())
    with tempfile.TemporaryDirectory() as folder:
        with jax.profiler.trace(folder, profiler_options=options):
            for number in range(steps):
                if wait_s:
                    with jax.profiler.TraceAnnotation("input_pipeline"):
                        time.sleep(wait_s)
                with jax.profiler.StepTraceAnnotation("train", step_num=number):
                    result = step()
                    if blocks:
                        jax.block_until_ready(result)
            jax.block_until_ready(result)
        (found,) = Path(folder).glob("plugins/profile/*/*.xplane.pb")
        path.with_suffix(".pb.xz").write_bytes(lzma.compress(found.read_bytes()))


def _jax_sgd(loss: Callable[..., jax.Array]) -> Callable[..., object]:
    def step(weights: object, inputs: jax.Array) -> object:
        gradients = jax.grad(loss)(weights, inputs)
        return jax.tree.map(lambda weight, change: weight - 0.01 * change, weights, gradients)

    return jax.jit(step)


def _transformer_loss(layers: list[list[jax.Array]], x: jax.Array) -> jax.Array:
    for query, key, value, output, up, down in layers:
        h = x - x.mean(-1, keepdims=True)
        h = h / jnp.sqrt((h * h).mean(-1, keepdims=True) + 1e-5)
        scores = jax.nn.softmax((h @ query) @ jnp.swapaxes(h @ key, 1, 2) / 22.0, -1)
        x = x + (scores @ (h @ value)) @ output
        x = x + jax.nn.gelu(x @ up) @ down
    return (x**2).mean()


def _cnn_loss(kernels: list[jax.Array], x: jax.Array) -> jax.Array:
    for kernel in kernels:
        layout = ("NHWC", "HWIO", "NHWC")
        x = jax.lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=layout)
        x = jax.nn.relu(x)
    return (x**2).mean()


@jax.jit
def _jax_products(x: jax.Array) -> jax.Array:
    for _ in range(10):
        x = jnp.tanh(x @ x)
    return x


def _capture_jax(path: Path, dtype: jnp.dtype) -> None:
    step, weights = _jax_step(dtype)
    inputs = jnp.ones((BATCH, WIDTH), dtype)
    weights = jax.block_until_ready(step(weights, inputs))
    with tempfile.TemporaryDirectory() as folder:
        with jax.profiler.trace(folder):
            for number in range(STEPS):
                with jax.profiler.StepTraceAnnotation("train", step_num=number):
                    weights = jax.block_until_ready(step(weights, inputs))
        (found,) = Path(folder).glob("plugins/profile/*/*.xplane.pb")
        shutil.copyfile(found, path)


def _jax_step(dtype: jnp.dtype) -> tuple[Callable[[jax.Array, jax.Array], jax.Array], jax.Array]:
    def loss(weights: jax.Array, inputs: jax.Array) -> jax.Array:
        return jnp.tanh(inputs @ weights).astype(jnp.float32).mean()

    @jax.jit
    def step(weights: jax.Array, inputs: jax.Array) -> jax.Array:
        return weights - jnp.asarray(0.01, dtype) * jax.grad(loss)(weights, inputs)

    return step, jnp.ones((WIDTH, WIDTH), dtype)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
