"""Log values from a training program, with the functions of ``tf.summary``.

    writer = tracklight.summary.create_file_writer("logs/run1")
    with writer.as_default():
        for step in range(1000):
            tracklight.summary.scalar("loss", loss, step=step)

Functions have the names, arguments and defaults of ``tf.summary``. Every function that logs returns
True if the value was accepted, and False if there is no default writer, if `record_if` says no, or
if the value made no sense: then a warning says why, once for each line of the program (an exception
in strict mode). Arrays may come from NumPy, TensorFlow, PyTorch, JAX or be plain lists.

Inside a ``tf.function``, a call is repeated with the values whenever the function runs.
"""

from __future__ import annotations

import os
import re
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

from tracklight.profiler.tracing import trace_export, trace_off, trace_on
from tracklight.writer import defaults, warnings
from tracklight.writer.defaults import Condition, find_active_writer
from tracklight.writer.event_writer import EventWriter
from tracklight.writer.tf_context import add_name_scope, is_tracing, skip_autograph

if TYPE_CHECKING:
    from tracklight.formats.proto import Message

__all__ = [
    "FileWriter",
    "SummaryWriter",
    "audio",
    "create_file_writer",
    "create_noop_writer",
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


class SummaryWriter(ABC):
    """What all writers have in common; see `create_file_writer` and `create_noop_writer`."""

    @abstractmethod
    def as_default(self, step: object | None = None) -> AbstractContextManager[SummaryWriter]:
        """Log here inside a ``with``, at ``step`` where none is given."""

    @abstractmethod
    def set_as_default(self, step: object | None = None) -> None:
        """Log here from now on."""

    @abstractmethod
    def flush(self) -> Any:
        """Write everything that was logged."""

    @abstractmethod
    def close(self) -> None:
        """Flush and release the writer."""

    @skip_autograph
    def init(self) -> None:
        """Do nothing; TensorFlow's writers have this method."""
        return


class FileWriter(EventWriter, SummaryWriter):
    """A writer of one event file; created by `create_file_writer`."""

    @skip_autograph
    @contextmanager
    def as_default(self, step: object | None = None) -> Iterator[FileWriter]:
        """Log here inside a ``with``, at ``step`` where none is given; flush at its end."""
        at = nullcontext() if step is None else defaults.step.override(step)
        try:
            with defaults.writer.override(self), at:
                yield self
        finally:
            self.flush()

    @skip_autograph
    def set_as_default(self, step: object | None = None) -> None:
        """Log here from now on, in this thread and in all that have no writer of their own."""
        defaults.writer.set(self)
        if step is not None:
            defaults.step.set(step)

    @skip_autograph
    def close(self) -> None:
        defaults.writer.replace(self, None)
        super().close()


class _NoopWriter(SummaryWriter):
    @skip_autograph
    @contextmanager
    def as_default(self, step: object | None = None) -> Iterator[_NoopWriter]:
        yield self

    @skip_autograph
    def set_as_default(self, step: object | None = None) -> None:
        pass

    @skip_autograph
    def flush(self) -> None:
        pass

    @skip_autograph
    def close(self) -> None:
        pass


def create_file_writer(
    logdir: str | os.PathLike[str],
    max_queue: int | None = None,
    flush_millis: float | None = None,
    filename_suffix: str | None = None,
    name: str | None = None,
    experimental_trackable: bool = False,
    experimental_mesh: Any = None,
    *,
    strict: bool | None = None,
) -> FileWriter:
    """Create a writer of a new event file in ``logdir``.

    Args:
        logdir: A directory, or an address such as ``s3://…``.
        max_queue: Write to the file when this many records wait.
        flush_millis: Write to the file after this time at the latest; by default 1,000, and
            30,000 in object stores.
        filename_suffix: Appended to the name of the event file.
        name: Accepted for TensorFlow's sake and ignored, like the two arguments after it.
        experimental_trackable: Ignored.
        experimental_mesh: Ignored.
        strict: Raise an exception on misuse instead of warning.
    """
    is_strict = warnings.is_strict() if strict is None else strict
    with warnings.catch_errors("summary.create_file_writer()", strict=is_strict):
        queue = _as_limit(max_queue, "max_queue")
        flush_after_ms = _as_limit(flush_millis, "flush_millis")
    return FileWriter(
        logdir,
        max_queue=None if queue is None else int(queue),
        flush_s=None if flush_after_ms is None else flush_after_ms / 1000,
        filename_suffix=filename_suffix or "",
        strict=is_strict,
    )


def _as_limit(value: object, argument: str) -> float | None:
    """Return a number, or None for the default where it is not a positive one."""
    if value is None:
        return None
    from tracklight.writer.arguments import as_number

    try:
        number = as_number(value, argument)
    except warnings.ArgumentError:
        number = -1.0
    if not 0 <= number < 1e15:
        warnings.warn_or_raise(argument, f"must be a number of at least 0, not {value!r:.100}")
        return None
    return number


def create_noop_writer() -> SummaryWriter:
    """Create a writer that does nothing: making it the default leaves the default as it is."""
    return _NoopWriter()


def set_step(step: object) -> None:
    """The step of all that is logged without one, in this thread and those that never set one."""
    defaults.step.set(step)


def get_step() -> object:
    """What `set_step` was last called with; None if it was not."""
    return defaults.step.get()


def record_if(condition: Condition) -> AbstractContextManager[None]:
    """Log only if ``condition``, or what it returns when called, is true, inside a ``with``.

    In a ``tf.function`` the condition may be a tensor, or return one.
    """
    return defaults.condition.override(condition)


def should_record_summaries() -> bool:
    """Return whether what is logged now would be recorded.

    In a ``tf.function`` with a condition, this is a tensor that is evaluated when it runs.
    """
    if is_tracing():
        from tracklight.writer.tf_function import make_condition_tensor

        recorded: bool = make_condition_tensor()
        return recorded
    return find_active_writer() is not None


def flush(writer: SummaryWriter | None = None, name: str | None = None) -> None:
    """Wait until all that was logged is in the file of ``writer``, by default the default one.

    ``name`` is accepted for TensorFlow's sake and ignored.
    """
    if is_tracing():
        from tracklight.writer.tf_function import call_when_run

        call_when_run(flush, "summary.flush()", writer)
        return
    target = defaults.writer.get() if writer is None else writer
    if target is not None:
        target.flush()


def scalar(name: str, data: Any, step: int | None = None, description: str | None = None) -> bool:
    """Log one number: a float, an int, or an array or tensor that holds one."""
    if is_tracing():
        return _log_when_run(scalar, name, data, step=step, description=description)
    writer = find_active_writer()
    if writer is None:
        return False
    if description is None:
        # The case that has to be fast: what it cannot take, it refuses by raising.
        try:
            at: Any = defaults.step.get() if step is None else step
            return writer.scalar(add_name_scope(name), data, at)
        except (TypeError, ValueError, OverflowError):
            pass
    return _log_scalar(writer, name, data, step, description)


def _log_scalar(
    writer: EventWriter, name: str, data: object, step: object, description: str | None
) -> bool:
    from tracklight.writer.arguments import as_number

    with warnings.catch_errors(_call("scalar", name), strict=writer.strict):
        (tag, at), number = _check(name, step), as_number(data)
        if not description:
            return writer.scalar(tag, number, at)
        from tracklight.writer.values import build_scalar

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
    if is_tracing():
        return _log_when_run(
            image, name, data, step=step, max_outputs=max_outputs, description=description
        )

    def build(tag: str) -> Message:
        from tracklight.writer.values import build_images

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
    if is_tracing():
        return _log_when_run(
            audio,
            name,
            data,
            sample_rate,
            step=step,
            max_outputs=max_outputs,
            encoding=encoding,
            description=description,
        )

    def build(tag: str) -> Message:
        from tracklight.writer.values import build_audio

        if encoding not in (None, "wav"):
            raise warnings.ArgumentError("encoding", f"must be 'wav', not {encoding!r:.100}")
        return build_audio(tag, data, sample_rate, max_outputs, description=description or "")

    return _log("audio", name, step, build)


def text(name: str, data: Any, step: int | None = None, description: str | None = None) -> bool:
    """Log a Markdown text, or an array of them, which is shown as a table; 64 MiB at most."""
    if is_tracing():
        return _log_when_run(text, name, data, step=step, description=description)

    def build(tag: str) -> Message:
        from tracklight.writer.values import build_text

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
    if is_tracing():
        return _log_when_run(
            histogram, name, data, step=step, buckets=buckets, description=description
        )

    writer = find_active_writer()
    if writer is None:
        return False
    with warnings.catch_errors(_call("histogram", name), strict=writer.strict):
        from tracklight.writer.values import defer_histogram

        tag, at = _check(name, step)
        count = 30 if buckets is None else buckets
        about = {"description": description or ""}
        build, size_bytes = defer_histogram(tag, data, count, **about)
        # Each one's metadata has its own sums in it.
        return writer.add_later(build, at, size_bytes=size_bytes, always_write_metadata=True)
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
    if is_tracing():
        return _log_when_run(
            mesh, name, vertices, faces, colors, config_dict, step=step, description=description
        )

    def build(tag: str) -> list[Message]:
        from tracklight.writer.values import build_mesh

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
    if is_tracing():
        return _log_when_run(
            pr_curve,
            name,
            labels,
            predictions,
            step=step,
            num_thresholds=num_thresholds,
            weights=weights,
            description=description,
        )

    def build(tag: str) -> Message:
        from tracklight.writer.values import build_pr_curve

        about = {"description": description or ""}
        return build_pr_curve(tag, labels, predictions, num_thresholds, weights, **about)

    return _log("pr_curve", name, step, build)


def custom_scalars(layout: Any, step: int = 0) -> bool:
    """Log which scalars are to be shown together.

    ``layout`` is ``{"category": {"title": ["Multiline", ["loss/.*"]]}}``, with "Margin" and three
    tags for a line with a band, or TensorBoard's own ``Layout`` message.
    """

    def build(tag: str) -> Message:
        from tracklight.writer.values import build_layout

        return build_layout(layout)

    return _log("custom_scalars", "layout", step, build)


def graph(graph_data: Any, name: str = "keras", step: int = 0) -> bool:
    """Log a graph: a GraphDef, its bytes, a ``tf.Graph``, or a Keras model.

    A run has one graph; models are logged under ``name``.
    """
    writer = find_active_writer()
    if writer is None:
        return False
    with warnings.catch_errors(_call("graph", name), strict=writer.strict):
        from tracklight.writer.values import build_keras_model, encode_graph_event

        if hasattr(graph_data, "to_json"):
            return _log("graph", name, step, lambda tag: build_keras_model(tag, graph_data))
        return writer.add_event(encode_graph_event(graph_data, step))
    return False


def tensor(name: str, data: Any, step: int | None = None, description: str | None = None) -> bool:
    """Log an array of any type and shape, of 1 GiB at most."""
    if is_tracing():
        return _log_when_run(tensor, name, data, step=step, description=description)

    def build(tag: str) -> Message:
        from tracklight.writer.values import build_tensor

        return build_tensor(tag, data, description=description or "")

    return _log("tensor", name, step, build)


def write(
    tag: str,
    tensor: Any,
    step: int | None = None,
    metadata: Any = None,
    name: str | None = None,
) -> bool:
    """Log an array for a plugin of one's own, under ``tag`` in every name scope.

    ``metadata`` is a SummaryMetadata, as the message of any library or as its bytes. ``name`` is
    accepted for TensorFlow's sake and ignored.
    """
    if is_tracing():
        return _log_when_run(write, tag, tensor, step=step, metadata=metadata, is_scoped=False)

    def build(tag: str) -> Message:
        from tracklight.writer.values import build_tensor

        value = build_tensor(tag, tensor, description="")
        value.ClearField("metadata")
        if metadata is not None:
            given = metadata if isinstance(metadata, bytes) else metadata.SerializeToString()
            value.metadata.MergeFromString(given)
        return value

    return _log("write", tag, step, build, is_scoped=False)


def _log_when_run(
    log: Callable[..., bool], name: object, *arguments: Any, is_scoped: bool = True, **named: Any
) -> bool:
    """Repeat a call whenever the ``tf.function`` runs that is being traced."""
    from tracklight.writer.tf_function import log_when_run

    call = _call(log.__name__, name)
    return log_when_run(log, call, name, *arguments, is_scoped=is_scoped, **named)


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
    with warnings.catch_errors(_call(kind, name), strict=writer.strict):
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
    from tracklight.writer.arguments import as_step, as_tag

    tag = as_tag(name)
    at = as_step(defaults.step.get() if step is None else step)
    return add_name_scope(tag) if is_scoped else tag, at


def _call(kind: str, name: object) -> str:
    return f"summary.{kind}({name!r:.100})"


@contextmanager
def _summary_scope(
    name: str, default_name: str = "summary", values: Any = None
) -> Iterator[tuple[str, str]]:
    """Enter a ``tf.name_scope``, if TensorFlow is loaded; yield the tag and the scope.

    ``values`` is accepted for TensorFlow's sake and ignored.
    """
    title = name or default_name
    tag = add_name_scope(title)
    tensorflow = sys.modules.get("tensorflow")
    if tensorflow is None:
        yield tag, f"{title}/"
        return
    # Tags may have characters that a name scope must not have.
    with tensorflow.name_scope(re.sub(r"[^A-Za-z0-9_.\\/-]", "", title) or default_name) as scope:
        yield tag, scope


def _write_raw_pb(tensor: Any, step: int | None = None, name: str | None = None) -> bool:
    """Log the values of a Summary, given as its bytes, as they are.

    ``name`` is accepted for TensorFlow's sake and ignored.
    """
    if is_tracing():
        from tracklight.writer.tf_function import log_when_run

        def log(_: str, data: Any, step: int | None = None) -> bool:
            return _write_raw_pb(data, step)

        return log_when_run(log, "summary.experimental.write_raw_pb()", "raw", tensor, step=step)
    writer = find_active_writer()
    if writer is None:
        return False
    with warnings.catch_errors("summary.experimental.write_raw_pb()", strict=writer.strict):
        from tracklight.formats import proto
        from tracklight.writer.arguments import as_array, as_step

        data = tensor if isinstance(tensor, bytes) else as_array(tensor, "tensor").item()
        if not isinstance(data, bytes):
            raise warnings.ArgumentError("tensor", f"must be bytes, not a {type(data).__name__}")
        at = as_step(defaults.step.get() if step is None else step)
        return writer.add(list(proto.parse("Summary", data).value), at)
    return False


class experimental:
    """The functions of ``tf.summary.experimental``."""

    set_step = staticmethod(set_step)
    get_step = staticmethod(get_step)
    summary_scope = staticmethod(_summary_scope)
    write_raw_pb = staticmethod(_write_raw_pb)


# AutoGraph would rewrite these where a `tf.function` calls them.
for _function in (
    *(audio, create_file_writer, create_noop_writer, custom_scalars, flush, get_step, graph),
    *(histogram, image, mesh, pr_curve, record_if, scalar, set_step, should_record_summaries),
    *(tensor, text, trace_export, trace_off, trace_on, write, _summary_scope, _write_raw_pb),
):
    skip_autograph(_function)
