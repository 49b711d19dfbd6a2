"""Log from inside ``tf.function``: ``tf_function_program.py LOGDIR``."""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

import tracklight
from tests.writer.event_files import iter_events
from tracklight import summary
from tracklight.errors import UsageWarning

LOGDIR = Path(sys.argv[1])


def log_every_kind() -> None:
    @tf.function
    def log(x: Any, step: Any) -> None:
        summary.scalar("scalar", tf.reduce_mean(x), step=step, description="the mean")
        summary.image("image", tf.reshape(x, (1, 4, 4, 1)), step=step)
        summary.image("images", [tf.reshape(x, (4, 4, 1)), np.ones((2, 2, 1))], step=step)
        summary.histogram("histogram", x, step=step, buckets=4)
        summary.text("text", tf.strings.format("step {}", step), step=step)
        summary.audio("audio", tf.reshape(x, (1, 16, 1)), 8000, step=step)
        summary.tensor("tensor", tf.cast(x, tf.bfloat16), step=step)
        summary.write("write", x, step=step)
        summary.scalar("constant", 0.5, step)
        summary.flush()

    with summary.create_file_writer(LOGDIR / "kinds").as_default():
        for step in range(2):
            log(tf.linspace(0.0, float(step), 16), tf.constant(step, tf.int64))


def log_at_steps() -> None:
    variable = tf.Variable(0, dtype=tf.int64)

    @tf.function
    def by_variable() -> None:
        variable.assign_add(10)
        summary.scalar("variable", 1.0, step=variable)
        variable.assign_add(1)

    @tf.function
    def by_default() -> None:
        summary.scalar("default", 1.0)

    @tf.function
    def by_default_variable() -> None:
        summary.scalar("default variable", 1.0)
        variable.assign_add(1)

    @tf.function
    def by_scope() -> None:
        with summary.create_file_writer(LOGDIR / "inner").as_default(step=7):
            summary.scalar("inside", 1.0)

    @tf.function
    def unrolled() -> None:
        for step in range(20):
            summary.scalar("unrolled", tf.constant(step), step=step)

    @tf.function
    def looped() -> None:
        for step in tf.range(20):
            with tf.name_scope("body"):
                summary.scalar("looped", step, step=tf.cast(step, tf.int64))

    writer = summary.create_file_writer(LOGDIR / "steps")
    with writer.as_default():
        for step in (3, 4):
            by_variable()
            summary.set_step(step)
            by_default()
        summary.set_step(variable)
        for _ in range(2):
            by_default_variable()
        summary.set_step(None)
        by_scope()
        unrolled()
        looped()
        with tf.name_scope("ignored"):
            by_variable()


def log_to_two_writers() -> None:
    @tf.function
    def log(x: Any) -> None:
        summary.scalar("loss", x)

    for step in range(2):
        for name in ("train", "test"):
            with summary.create_file_writer(LOGDIR / name).as_default(step=step):
                log(tf.constant(float(step)))


def log_on_conditions() -> None:
    epoch = 0

    @tf.function
    def log(step: Any) -> None:
        summary.scalar("python", 1.0, step=step)
        with summary.record_if(lambda: tf.equal(step % 2, 0)):
            summary.scalar("callable tensor", 1.0, step=step)
        with summary.record_if(step > 1):
            summary.scalar("tensor", 1.0, step=step)
        if step > 2:
            summary.scalar("branch", 1.0, step=step)
        if summary.should_record_summaries():
            tf.print("")

    with summary.create_file_writer(LOGDIR / "conditions").as_default():
        with summary.record_if(lambda: epoch in (1, 3)):
            for epoch in range(5):
                log(tf.constant(epoch, tf.int64))


class Model(tf.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = tf.Variable(4.0)

    @tf.function
    def train_step(self, x: Any, step: Any) -> Any:
        with tf.GradientTape() as tape:
            with tf.name_scope("forward"):
                loss = (self.weight * x) ** 2
                summary.scalar("loss", loss, step=step)
        gradient = tape.gradient(loss, self.weight)
        self.weight.assign_sub(0.01 * gradient)
        return loss


def train() -> list[float]:
    model = Model()
    with summary.create_file_writer(LOGDIR / "train loop").as_default():
        return [float(model.train_step(tf.constant(1.0), tf.constant(i))) for i in range(5)]


def log_in_replicas() -> None:
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])

    @tf.function
    def log(x: Any) -> None:
        strategy.run(lambda: summary.scalar("replica", x))

    with summary.create_file_writer(LOGDIR / "replicas").as_default(step=3):
        log(tf.constant(2.0))


def compare_tags() -> list[list[list[Any]]]:
    """Log the same with ``tf.summary``, and return tags and steps of both."""

    @tf.function
    def log(api: Any, x: Any) -> None:
        api.scalar("plain", x, step=1)
        with tf.name_scope("scope"):
            api.scalar("in scope", x, step=2)
            nested(api, x)
        if x > 0:
            api.scalar("in branch", x, step=3)
        for step in tf.range(tf.constant(2, tf.int64)):
            api.scalar("in loop", x, step=step)

    @tf.function
    def nested(api: Any, x: Any) -> None:
        api.text("nested", tf.as_string(x), step=4)

    found = []
    for name, api in (("theirs", tf.summary), ("ours", summary)):
        writer = api.create_file_writer(str(LOGDIR / name))
        with writer.as_default():
            log(api, tf.constant(1.0))
        writer.close()
        events = iter_events(LOGDIR / name)
        found.append([(v.tag.decode(), e.step) for e in events for v in e.summary.value])
    return [sorted(tags) for tags in found]


def train_keras() -> None:
    import keras

    from tracklight.keras import TensorBoard

    class Watched(keras.layers.Layer):
        def call(self, x: Any) -> Any:
            summary.histogram("activations", x)
            return x

    model = keras.Sequential([keras.layers.Dense(2), Watched(), keras.layers.Dense(1)])
    model.compile("sgd", "mse", jit_compile=False)
    x, y = np.ones((8, 3)), np.ones((8, 1))
    logger = TensorBoard(LOGDIR / "keras", update_freq=2, write_graph=False)
    model.fit(x, y, batch_size=2, epochs=1, verbose=0, callbacks=[logger])


def log_run() -> None:
    @tf.function
    def train_step(run: Any, x: Any) -> None:
        picture = tracklight.Image(tf.reshape(x, (1, 4, 4, 1)))
        run.log({"loss": tf.reduce_mean(x), "nested": {"picture": picture, "weights": x}})

    with tracklight.run(LOGDIR / "run") as run:
        for _ in range(3):
            train_step(run, tf.linspace(0.0, 1.0, 16))


def misuse() -> list[Any]:
    @tf.function(jit_compile=True)
    def compiled(x: Any) -> Any:
        summary.scalar("compiled", x, step=1)  # line: XLA
        return x * 2

    @tf.function
    def around(x: Any) -> Any:
        return compiled(x) + 1

    @tf.function
    def wrong(x: Any) -> None:
        for _ in tf.range(3):
            summary.scalar("wrong", x, step=1)  # line: shape

    @tf.function
    def stepless(x: Any) -> None:
        summary.scalar("stepless", x)  # line: no step

    @tf.function
    def ragged() -> None:
        summary.histogram("ragged", tf.ragged.constant([[1.0], [2.0, 3.0]]), step=1)  # line: ragged

    @tf.function
    def graph(x: Any) -> Any:
        with summary.record_if(x > 0):
            summary.graph(b"")  # line: condition
        return x

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with summary.create_file_writer(LOGDIR / "misuse").as_default():
            results = [float(around(tf.constant(2.0))), float(compiled(tf.constant(2.0)))]
            assert results == [5.0, 4.0]
            for _ in range(2):
                wrong(tf.ones(2))
                stepless(1.0)
            ragged()
            graph(tf.constant(1.0))
    return [
        (Path(item.filename).name, item.lineno, str(item.message))
        for item in caught
        if item.category is UsageWarning
    ]


def fail_strictly() -> str:
    @tf.function
    def log(x: Any) -> None:
        summary.scalar("strict", x, step=1)

    with summary.create_file_writer(LOGDIR / "strict", strict=True).as_default():
        try:
            log(tf.ones(2))
        except tf.errors.OpError as error:
            return str(error)
    return ""


def main() -> None:
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
    log_every_kind()
    log_at_steps()
    log_to_two_writers()
    log_on_conditions()
    log_in_replicas()
    train_keras()
    log_run()
    output = {
        "losses": train(),
        "tags": compare_tags(),
        "warnings": misuse(),
        "strict": fail_strictly(),
    }
    print()
    print(json.dumps(output))


if __name__ == "__main__":
    main()
