"""One measurement of `tracklight.debugger` in its own process; see `benchmarks.debugger`.

``python -m benchmarks.debugger_probe training FOLDER ROUNDS SIZE`` trains a ResNet-18 with several
debuggers and prints what each adds to the processor time of a step as JSON.
``python -m benchmarks.debugger_probe dump FOLDER STEPS SIZE`` does the same with TensorFlow and its
dump. ``python -m benchmarks.debugger_probe open FOLDER`` and ``tensorflow FOLDER`` open a dump.
"""

from __future__ import annotations

import contextlib
import json
import resource
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any


def measure_training(folder: str, rounds: int, size: int) -> dict[str, float]:
    """Return what debuggers add to the processor time of a step, as shares of it.

    Each measurement is divided by the mean of those without a debugger right before and right
    after it, as the speed of a machine that others share drifts; the result is the median of the
    rounds. Debuggers without a limit are measured in every fifth round.
    """
    import torch

    from tracklight.debugger import watch

    variants: dict[str, Callable[[Any], Any]] = {
        "health": lambda model: watch(
            model, f"{folder}/health", every=1, history=0, parameters=False
        ),
        "recorder": lambda model: watch(
            model, f"{folder}/recorder", every=1, history=10, parameters=False
        ),
        "everything": lambda model: watch(model, f"{folder}/everything", every=1, history=10),
        "anomaly": lambda model: torch.autograd.set_detect_anomaly(True),
    }
    torch.manual_seed(0)
    model = make_resnet18(torch)
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    images, labels = torch.randn(32, 3, size, size), torch.randint(0, 10, (32,))

    def time_step(debugger: Any) -> float:
        with debugger:
            seconds = []
            # The first step describes the tensors, and is written when the second begins.
            for _ in range(5):
                began = time.process_time()
                _train(torch, model, optimizer, images, labels)
                seconds.append(time.process_time() - began)
        return statistics.median(seconds[2:])

    ratios: dict[str, list[float]] = {name: [] for name in variants}
    off = time_step(contextlib.nullcontext())
    for number in range(rounds):
        for name, make in variants.items():
            if name in ("health", "recorder") or number % 5 == 0:
                on, before = time_step(make(model)), off
                off = time_step(contextlib.nullcontext())
                ratios[name].append(2 * on / (before + off))
    return {name: statistics.median(values) - 1 for name, values in ratios.items()}


def _train(torch: Any, model: Any, optimizer: Any, images: Any, labels: Any) -> None:
    optimizer.zero_grad()
    torch.nn.functional.cross_entropy(model(images), labels).backward()
    optimizer.step()


def make_resnet18(torch: Any) -> Any:
    nn = torch.nn

    class Block(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self, inputs: int, outputs: int, stride: int) -> None:
            super().__init__()
            self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
            self.bn1 = nn.BatchNorm2d(outputs)
            self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
            self.bn2 = nn.BatchNorm2d(outputs)
            self.relu = nn.ReLU(inplace=True)
            self.shortcut = nn.Sequential()
            if stride != 1 or inputs != outputs:
                self.shortcut = nn.Sequential(
                    nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs)
                )

        def forward(self, x: Any) -> Any:
            y = self.relu(self.bn1(self.conv1(x)))
            return self.relu(self.bn2(self.conv2(y)) + self.shortcut(x))

    layers = [nn.Conv2d(3, 64, 3, 1, 1, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True)]
    width = 64
    for outputs, stride in ((64, 1), (128, 2), (256, 2), (512, 2)):
        layers += [Block(width, outputs, stride), Block(outputs, outputs, 1)]
        width = outputs
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 10))


def measure_tensorflow_dump(folder: str, steps: int, size: int) -> dict[str, float]:
    """Return what TensorFlow's dump adds to the processor time of a step, as a share of it."""
    import tensorflow as tf

    times = {}
    for name in ("off", "dump"):
        if name == "dump":
            tf.debugging.experimental.enable_dump_debug_info(folder, "FULL_HEALTH", 1000)
        tf.random.set_seed(0)
        train = _make_tensorflow_step(tf, size)
        train()  # traces the function
        seconds = []
        for _ in range(steps):
            began = time.process_time()
            train()
            seconds.append(time.process_time() - began)
        times[name] = statistics.median(seconds)
    return {"dump": times["dump"] / times["off"] - 1}


def _make_tensorflow_step(tf: Any, size: int) -> Callable[[], Any]:
    layers = tf.keras.layers

    def convolve(x: Any, filters: int, kernel: int, stride: int = 1) -> Any:
        x = layers.Conv2D(filters, kernel, stride, "same", use_bias=False)(x)
        return layers.BatchNormalization()(x)

    inputs = layers.Input((size, size, 3))
    x = layers.ReLU()(convolve(inputs, 64, 3))
    for filters, first_stride in ((64, 1), (128, 2), (256, 2), (512, 2)):
        for stride in (first_stride, 1):
            y = layers.ReLU()(convolve(x, filters, 3, stride))
            y = convolve(y, filters, 3)
            has_same_shape = stride == 1 and x.shape[-1] == filters
            x = layers.ReLU()(y + (x if has_same_shape else convolve(x, filters, 1, stride)))
    outputs = layers.Dense(10)(layers.GlobalAveragePooling2D()(x))
    model, optimizer = tf.keras.Model(inputs, outputs), tf.keras.optimizers.SGD(0.01)
    images = tf.random.normal((32, size, size, 3))
    labels = tf.random.uniform((32,), maxval=10, dtype=tf.int32)

    @tf.function  # type: ignore[untyped-decorator]
    def train() -> Any:
        with tf.GradientTape() as tape:
            scores = model(images, training=True)
            loss = tf.reduce_mean(
                tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=scores)
            )
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return loss

    return lambda: train().numpy()


def measure_opening(folder: str) -> dict[str, float]:
    """Open a dump, find its alerts and its root cause."""
    from tracklight.analysis.debugger.library import DebuggerLibrary
    from tracklight.index.catalog import Catalog
    from tracklight.logdir.access import parse_roots

    began, began_cpu = time.perf_counter(), time.process_time()
    catalog = Catalog(parse_roots(folder), cache=False)
    catalog.refresh()
    library = DebuggerLibrary(catalog)
    analysis = library.get(library.list_names()[0])
    count, cause = len(analysis.alerts), analysis.root_cause
    assert count and cause is not None
    return {
        "s": time.perf_counter() - began,
        "cpu_s": time.process_time() - began_cpu,
        "mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "alerts": count,
    }


def measure_tensorflow(folder: str) -> dict[str, float]:
    """Read the same dump with the reader that TensorBoard uses."""
    from tensorflow.python.debug.lib import debug_events_monitors, debug_events_reader

    began, began_cpu = time.perf_counter(), time.process_time()
    with debug_events_reader.DebugDataReader(folder) as reader:
        monitor = debug_events_monitors.InfNanMonitor(reader, limit=1000)
        reader.update()
        alerts = len(monitor.alerts())
    return {
        "s": time.perf_counter() - began,
        "cpu_s": time.process_time() - began_cpu,
        "mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "alerts": alerts,
    }


def main() -> None:
    what, folder, *numbers = sys.argv[1:]
    if what == "training":
        result = measure_training(folder, *map(int, numbers))
    elif what == "dump":
        result = measure_tensorflow_dump(folder, *map(int, numbers))
    else:
        result = (measure_opening if what == "open" else measure_tensorflow)(folder)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
