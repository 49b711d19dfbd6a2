"""Logs values from a training program, with the words of ``tf.summary``.

    writer = tracklight.summary.create_file_writer("logs/run1")
    with writer.as_default():
        for step in range(1000):
            tracklight.summary.scalar("loss", loss, step=step)

Every function that logs returns True if the value was accepted, and False if there is no default
writer, if `record_if` says no, or if the value made no sense: then a warning says why, once for
each line of the program (an exception in strict mode). Arrays may come from NumPy, TensorFlow,
PyTorch, JAX or be plain lists.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

from tracklight.sdk import lenient, state
from tracklight.sdk.scopes import add_scope
from tracklight.sdk.state import Condition, find_active_writer
from tracklight.sdk.writer import EventWriter
from tracklight.tracing import trace_export, trace_off, trace_on

if TYPE_CHECKING:
    from tracklight.formats.proto import Message

__all__ = [
    "FileWriter",
    "audio",
    "create_file_writer",
    "custom_scalars",
    "experimental",
    "flush",
    "get_step",
    "graph",
    "histogram",
    "image",
    "mesh",
    "pr_curve",
    "record_if",
    "scalar",
    "set_step",
    "should_record_summaries",
    "tensor",
    "text",
    "trace_export",
    "trace_off",
    "trace_on",
    "write",
]


class FileWriter(EventWriter):
    """Writes one event file; made by `create_file_writer`."""

    @contextmanager
    def as_default(self, step: object | None = None) -> Iterator[FileWriter]:
        """Log here inside a ``with``, at ``step`` where none is given; flush at its end."""
        at = nullcontext() if step is None else state.step.holding(step)
        try:
            with state.writer.holding(self), at:
                yield self
        finally:
            self.flush()

    def set_as_default(self, step: object | None = None) -> None:
        """Log here from now on, in this thread and in all that have no writer of their own."""
        state.writer.set(self)
        if step is not None:
            state.step.set(step)

    def init(self) -> None:
        """Nothing to do; there because ``tf.summary`` has it."""

    def close(self) -> None:
        state.writer.replace(self, None)
        super().close()


def create_file_writer(
    logdir: str | os.PathLike[str],
    max_queue: int | None = None,
    flush_millis: float | None = None,
    filename_suffix: str | None = None,
    *,
    strict: bool | None = None,
) -> FileWriter:
    """A writer of a new event file in ``logdir``, a folder or an address such as ``s3://…``.

    What is logged is in the file after ``flush_millis`` (1,000, and 30,000 in object stores) or
    when ``max_queue`` records wait, whichever is first. ``strict`` makes misuse an exception.
    """
    return FileWriter(
        logdir,
        max_queue=max_queue,
        flush_s=None if flush_millis is None else flush_millis / 1000,
        filename_suffix=filename_suffix or "",
        strict=strict,
    )


def set_step(step: object) -> None:
    """The step of all that is logged without one, in this thread and those that never set one."""
    state.step.set(step)


def get_step() -> object:
    """What `set_step` was last called with; None if it was not."""
    return state.step.get()


def record_if(condition: Condition) -> AbstractContextManager[None]:
    """Log only if ``condition``, or what it returns when called, is true, inside a ``with``."""
    return state.condition.holding(condition)


def should_record_summaries() -> bool:
    """Whether what is logged now would be recorded."""
    return find_active_writer() is not None


def flush(writer: EventWriter | None = None) -> None:
    """Wait until all that was logged is in the file of ``writer``, by default the default one."""
    writer = state.writer.get() if writer is None else writer
    if writer is not None:
        writer.flush()


def scalar(name: str, data: Any, step: int | None = None, description: str | None = None) -> bool:
    """Log one number: a float, an int, or an array or tensor that holds one."""
    writer = find_active_writer()
    if writer is None:
        return False
    if description is None:
        # The case that has to be fast: what it cannot take, it refuses by raising.
        try:
            at: Any = state.step.get() if step is None else step
            return writer.scalar(add_scope(name), data, at)
        except (TypeError, ValueError, OverflowError):
            pass
    return _log_scalar(writer, name, data, step, description)


def _log_scalar(
    writer: EventWriter, name: str, data: object, step: object, description: str | None
) -> bool:
    from tracklight.sdk.arrays import as_number

    with lenient.guard(_call("scalar", name), strict=writer.strict):
        (tag, at), number = _check(name, step), as_number(data)
        if not description:
            return writer.scalar(tag, number, at)
        from tracklight.sdk.values import build_scalar

        return _add(writer, [build_scalar(tag, number, description=description)], at)
    return False


def image(
    name: str,
    data: Any,
    step: int | None = None,
    max_outputs: int = 3,
    description: str | None = None,
) -> bool:
    """Log pictures: [k, height, width, channels] of uint8 or of floats in [0, 1], or one of them.

    Lists of pictures, PNG, JPEG and GIF files as bytes, PIL images and Matplotlib figures are taken
    as well. No more than ``max_outputs`` are logged.
    """

    def build(tag: str) -> Message:
        from tracklight.sdk.values import build_images

        return build_images(tag, data, max_outputs, description=description or "")

    return _log("image", name, step, build)


def audio(
    name: str,
    data: Any,
    sample_rate: int,
    step: int | None = None,
    max_outputs: int = 3,
    encoding: str | None = None,
    description: str | None = None,
) -> bool:
    """Log clips of sound: floats in [-1, 1] of [k, frames, channels], or a WAV file's bytes."""

    def build(tag: str) -> Message:
        from tracklight.sdk.values import build_audio

        if encoding not in (None, "wav"):
            raise lenient.Misuse("encoding", f"must be 'wav', not {encoding!r:.100}")
        return build_audio(tag, data, sample_rate, max_outputs, description=description or "")

    return _log("audio", name, step, build)


def text(name: str, data: Any, step: int | None = None, description: str | None = None) -> bool:
    """Log a Markdown text, or an array of them, which is shown as a table; 64 MiB at most."""

    def build(tag: str) -> Message:
        from tracklight.sdk.values import build_text

        return build_text(tag, data, description=description or "")

    return _log("text", name, step, build)


def histogram(
    name: str,
    data: Any,
    step: int | None = None,
    buckets: int | None = None,
    description: str | None = None,
) -> bool:
    """Log how numbers are spread, in 30 buckets unless told otherwise.

    They are copied at once and counted in the writer's thread; NaN and infinities apart.
    """

    writer = find_active_writer()
    if writer is None:
        return False
    with lenient.guard(_call("histogram", name), strict=writer.strict):
        from tracklight.sdk.values import put_off_histogram

        tag, at = _check(name, step)
        count = 30 if buckets is None else buckets
        about = {"description": description or ""}
        build, size_bytes = put_off_histogram(tag, data, count, **about)
        # Each one's metadata has its own sums in it.
        return writer.add_later(build, at, size_bytes=size_bytes, always_describe=True)
    return False


def mesh(
    name: str,
    vertices: Any,
    faces: Any = None,
    colors: Any = None,
    config_dict: Mapping[str, Any] | None = None,
    step: int | None = None,
    description: str | None = None,
) -> bool:
    """Log meshes of vertices [k, n, 3] and faces [k, m, 3], or point clouds without faces.

    Colours are given for each vertex; ``config_dict`` has camera, lights and material.
    """

    def build(tag: str) -> list[Message]:
        from tracklight.sdk.values import build_mesh

        about = {"description": description or ""}
        return build_mesh(tag, vertices, faces, colors, config_dict, **about)

    return _log("mesh", name, step, build)


def pr_curve(
    name: str,
    labels: Any,
    predictions: Any,
    step: int | None = None,
    num_thresholds: int = 201,
    weights: Any = None,
    description: str | None = None,
) -> bool:
    """Log precision and recall of predictions in [0, 1] for labels that are true or false."""

    def build(tag: str) -> Message:
        from tracklight.sdk.values import build_pr_curve

        about = {"description": description or ""}
        return build_pr_curve(tag, labels, predictions, num_thresholds, weights, **about)

    return _log("pr_curve", name, step, build)


def custom_scalars(layout: Any, step: int = 0) -> bool:
    """Log which scalars are to be shown together.

    ``layout`` is ``{"category": {"title": ["Multiline", ["loss/.*"]]}}``, with "Margin" and three
    tags for a line with a band, or TensorBoard's own ``Layout`` message.
    """

    def build(tag: str) -> Message:
        from tracklight.sdk.layouts import build_layout

        return build_layout(layout)

    return _log("custom_scalars", "layout", step, build)


def graph(graph_data: Any, name: str = "keras", step: int = 0) -> bool:
    """Log a graph: a GraphDef, its bytes, a ``tf.Graph``, or a Keras model.

    A run has one graph; models are logged under ``name``.
    """
    writer = find_active_writer()
    if writer is None:
        return False
    with lenient.guard(_call("graph", name), strict=writer.strict):
        from tracklight.sdk.graphs import build_model, encode_graph_event

        if hasattr(graph_data, "to_json"):
            return _log("graph", name, step, lambda tag: build_model(tag, graph_data))
        return writer.add_event(encode_graph_event(graph_data, step))
    return False


def tensor(name: str, data: Any, step: int | None = None, description: str | None = None) -> bool:
    """Log an array of any type and shape, of 1 GiB at most."""

    def build(tag: str) -> Message:
        from tracklight.sdk.values import build_tensor

        return build_tensor(tag, data, description=description or "")

    return _log("tensor", name, step, build)


def write(tag: str, tensor: Any, step: int | None = None, metadata: Any = None) -> bool:
    """Log an array for a plugin of one's own, under ``tag`` in every name scope.

    ``metadata`` is a SummaryMetadata, as the message of any library or as its bytes.
    """

    def build(name: str) -> Message:
        from tracklight.sdk.values import build_tensor

        value = build_tensor(name, tensor, description="")
        value.ClearField("metadata")
        if metadata is not None:
            given = metadata if isinstance(metadata, bytes) else metadata.SerializeToString()
            value.metadata.MergeFromString(given)
        return value

    return _log("write", tag, step, build, is_scoped=False)


def _log(
    kind: str,
    name: str,
    step: object,
    build: Callable[[str], Message | list[Message]],
    *,
    is_scoped: bool = True,
) -> bool:
    writer = find_active_writer()
    if writer is None:
        return False
    with lenient.guard(_call(kind, name), strict=writer.strict):
        tag, at = _check(name, step, is_scoped)
        built = build(tag)
        return _add(writer, built if isinstance(built, list) else [built], at)
    return False


def _add(writer: EventWriter, values: list[Message], step: int) -> bool:
    for value in values:
        if value.metadata.plugin_data.plugin_name:
            # Known by the plugin; left out, a record is the same as TensorFlow's.
            value.metadata.ClearField("data_class")
    return writer.add(values, step)


def _check(name: object, step: object, is_scoped: bool = True) -> tuple[str, int]:
    from tracklight.sdk.arrays import as_step
    from tracklight.sdk.names import as_name

    tag = as_name(name)
    at = as_step(state.step.get() if step is None else step)
    return add_scope(tag) if is_scoped else tag, at


def _call(kind: str, name: object) -> str:
    return f"summary.{kind}({name!r:.100})"


class experimental:
    """Where ``tf.summary`` keeps the step."""

    set_step = staticmethod(set_step)
    get_step = staticmethod(get_step)
