"""Log values from a training program with the functions of ``tf.summary``.

    writer = tracklight.summary.create_file_writer("logs/run1")
    with writer.as_default():
        for step in range(1000):
            tracklight.summary.scalar("loss", loss, step=step)

Functions have the names, arguments and defaults of ``tf.summary``. A logging function returns
whether the value was accepted: False if there is no default writer, if `record_if` disables
recording, or if an argument is invalid. An invalid argument causes one warning per line of the
program, or an exception in strict mode. Arrays may come from NumPy, TensorFlow, PyTorch or JAX, or
be plain lists.

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

from tracklight.writer import event_writer, warnings
from tracklight.writer.event_writer import Condition, EventWriter, find_active_writer
from tracklight.writer.warnings import add_name_scope, is_tracing, skip_autograph

if TYPE_CHECKING:
    from tracklight.formats.proto import Message
    from tracklight.profiler.tracing import trace_export, trace_off, trace_on

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


def __getattr__(name: str) -> object:
    # Few programs trace, and the tracing module would double the time to import this one.
    if name not in ("trace_export", "trace_off", "trace_on"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from tracklight.profiler import tracing

    function = skip_autograph(getattr(tracing, name))
    globals()[name] = function
    return function


class SummaryWriter(ABC):
    """Interface of the writers of `create_file_writer` and `create_noop_writer`."""

    @abstractmethod
    def as_default(self, step: object | None = None) -> AbstractContextManager[SummaryWriter]:
        """Make this the default writer inside a ``with`` block, and ``step`` the default step."""

    @abstractmethod
    def set_as_default(self, step: object | None = None) -> None:
        """Make this the default writer from now on."""

    @abstractmethod
    def flush(self) -> Any:
        """Write all records to the file."""

    @abstractmethod
    def close(self) -> None:
        """Write all records and close the file."""

    @skip_autograph
    def init(self) -> None:
        """Do nothing; TensorFlow's writers have this method."""
        return


class FileWriter(EventWriter, SummaryWriter):
    """Writes one event file; created by `create_file_writer`."""

    @skip_autograph
    @contextmanager
    def as_default(self, step: object | None = None) -> Iterator[FileWriter]:
        """Make this the default writer inside a ``with`` block; flush at its end.

        Args:
            step: The default step inside the block; None to keep the current one.

        Example:
            >>> with writer.as_default(step=10):
            ...     tracklight.summary.scalar("loss", 0.5)
        """
        step_override = nullcontext() if step is None else event_writer.step.override(step)
        try:
            with event_writer.writer.override(self), step_override:
                yield self
        finally:
            self.flush()

    @skip_autograph
    def set_as_default(self, step: object | None = None) -> None:
        """Make this the default writer of this thread and of threads that never set one.

        Args:
            step: The default step from now on; None to keep the current one.
        """
        event_writer.writer.set(self)
        if step is not None:
            event_writer.step.set(step)

    @skip_autograph
    def close(self) -> None:
        """Write all records and close the file. Further values are not accepted."""
        event_writer.writer.replace(self, None)
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
    """Create a writer for a new event file in ``logdir``.

    Args:
        logdir: Directory of the run, or a URL such as ``s3://bucket/logs``.
        max_queue: Write to the file when this many records are buffered.
        flush_millis: Write to the file after this time; by default 1,000, and 30,000 for a URL.
        filename_suffix: Appended to the name of the event file.
        name: Ignored; accepted for compatibility with TensorFlow, like the next two arguments.
        experimental_trackable: Ignored.
        experimental_mesh: Ignored.
        strict: Raise exceptions on misuse instead of warning; by default TRACKLIGHT_STRICT decides.

    Returns:
        The writer; make it the default with `FileWriter.as_default` or `FileWriter.set_as_default`.

    Raises:
        OSError: The file cannot be created, and ``strict`` is set. Otherwise the writer retries.

    Example:
        >>> writer = tracklight.summary.create_file_writer("logs/run1")
        >>> with writer.as_default():
        ...     tracklight.summary.scalar("loss", 0.5, step=1)
        True
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
    """Return a number; None, which stands for the default, if it is invalid."""
    if value is None:
        return None
    from tracklight.writer import as_number

    try:
        number = as_number(value, argument)
    except warnings.ArgumentError:
        number = -1.0
    if not 0 <= number < 1e15:
        warnings.warn_or_raise(argument, f"must be a number of at least 0, not {value!r:.100}")
        return None
    return number


def create_noop_writer() -> SummaryWriter:
    """Create a writer that does nothing. Making it the default writer has no effect.

    Returns:
        The writer.

    Example:
        >>> is_main_process = False
        >>> create = tracklight.summary.create_file_writer
        >>> writer = create("run1") if is_main_process else tracklight.summary.create_noop_writer()
    """
    return _NoopWriter()


def set_step(step: object) -> None:
    """Set the default step of this thread and of threads that never set one.

    Args:
        step: An int, or in a ``tf.function`` a tensor or variable.

    Example:
        >>> tracklight.summary.set_step(100)
        >>> tracklight.summary.get_step()
        100
    """
    event_writer.step.set(step)


def get_step() -> object:
    """Return the default step; None if there is none.

    Example:
        >>> tracklight.summary.set_step(10)
        >>> tracklight.summary.get_step()
        10
    """
    return event_writer.step.get()


def record_if(condition: Condition) -> AbstractContextManager[None]:
    """Return a context manager inside which values are only logged if a condition is true.

    Args:
        condition: A bool or a function that returns one. In a ``tf.function`` the bool may be a
            tensor.

    Example:
        >>> with tracklight.summary.record_if(lambda: step % 100 == 0):
        ...     tracklight.summary.scalar("loss", loss, step=step)
    """
    return event_writer.condition.override(condition)


def should_record_summaries() -> bool:
    """Return whether values are recorded: there is a default writer and `record_if` allows it.

    In a ``tf.function`` with a condition, the result is a tensor that is evaluated when it runs.

    Example:
        >>> if tracklight.summary.should_record_summaries():
        ...     tracklight.summary.histogram("weights", np.arange(10.0), step=step)
        True
    """
    if is_tracing():
        from tracklight.writer.tf_function import make_condition_tensor

        recorded: bool = make_condition_tensor()
        return recorded
    return find_active_writer() is not None


def flush(writer: SummaryWriter | None = None, name: str | None = None) -> None:
    """Wait until all records of a writer are in its file.

    Args:
        writer: The writer; by default the default writer.
        name: Ignored; accepted for compatibility with TensorFlow.

    Example:
        >>> tracklight.summary.flush()  # before another program reads the log
    """
    if is_tracing():
        from tracklight.writer.tf_function import call_when_run

        call_when_run(flush, "summary.flush()", writer)
        return
    target = event_writer.writer.get() if writer is None else writer
    if target is not None:
        target.flush()


def scalar(name: str, data: Any, step: int | None = None, description: str | None = None) -> bool:
    """Log a number.

    Args:
        name: Tag of the series.
        data: A float, an int, or an array or tensor with one element.
        step: Step of the value; by default that of `set_step` or ``as_default``.
        description: Markdown shown with the tag.

    Returns:
        Whether the value was accepted. False if there is no default writer, if `record_if` disables
        recording, or if an argument is invalid.

    Raises:
        UsageError: An argument is invalid and the writer is strict. Otherwise a warning is issued.

    Example:
        >>> tracklight.summary.scalar("loss", 0.25, step=100)
        True
    """
    if is_tracing():
        return _log_when_run(scalar, name, data, step=step, description=description)
    writer = find_active_writer()
    if writer is None:
        return False
    if description is None:
        # The fast path raises for everything but plain numbers, tags and steps.
        try:
            step_number: Any = event_writer.step.get() if step is None else step
            return writer.scalar(add_name_scope(name), data, step_number)
        except (TypeError, ValueError, OverflowError):
            pass
    return _log_scalar(writer, name, data, step, description)


def _log_scalar(
    writer: EventWriter, name: str, data: object, step: object, description: str | None
) -> bool:
    from tracklight.writer import as_number

    with warnings.catch_errors(_format_call("scalar", name), strict=writer.strict):
        tag, step_number = _check_tag_and_step(name, step)
        number = as_number(data)
        if not description:
            return writer.scalar(tag, number, step_number)
        from tracklight.writer.values import build_scalar

        return _add(writer, [build_scalar(tag, number, description=description)], step_number)
    return False


def image(
    name: str,
    data: Any,
    step: int | None = None,
    max_outputs: int = 3,
    description: str | None = None,
) -> bool:
    """Log images.

    Args:
        name: Tag of the images.
        data: An array [k, height, width, channels] of uint8 or of floats in [0, 1], a single image,
            a PIL image, a Matplotlib figure, the bytes of a PNG, JPEG or GIF file, or a list of
            these.
        step: Step of the value; by default that of `set_step` or ``as_default``.
        max_outputs: Maximum number of images to log.
        description: Markdown shown with the tag.

    Returns:
        Whether the value was accepted. False if there is no default writer, if `record_if` disables
        recording, or if an argument is invalid.

    Raises:
        UsageError: An argument is invalid and the writer is strict. Otherwise a warning is issued.

    Example:
        >>> tracklight.summary.image("samples", np.zeros((4, 28, 28, 1)), step=1, max_outputs=4)
        True
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
    """Log audio clips.

    Args:
        name: Tag of the clips.
        data: An array [k, frames, channels] of floats in [-1, 1] or of int16, [frames] for a
            single clip, or the bytes of a WAV file.
        sample_rate: Samples per second.
        step: Step of the value; by default that of `set_step` or ``as_default``.
        max_outputs: Maximum number of clips to log.
        encoding: Must be None or ``"wav"``.
        description: Markdown shown with the tag.

    Returns:
        Whether the value was accepted. False if there is no default writer, if `record_if` disables
        recording, or if an argument is invalid.

    Raises:
        UsageError: An argument is invalid and the writer is strict. Otherwise a warning is issued.

    Example:
        >>> tracklight.summary.audio("voice", np.zeros((1, 16000, 1)), sample_rate=16000, step=1)
        True
    """
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
    """Log text.

    Args:
        name: Tag of the text.
        data: A Markdown string, or an array of strings, which is shown as a table. The maximum is
            64 MiB.
        step: Step of the value; by default that of `set_step` or ``as_default``.
        description: Markdown shown with the tag.

    Returns:
        Whether the value was accepted. False if there is no default writer, if `record_if` disables
        recording, or if an argument is invalid.

    Raises:
        UsageError: An argument is invalid and the writer is strict. Otherwise a warning is issued.

    Example:
        >>> tracklight.summary.text("notes", "**Warm-up** finished.", step=1000)
        True
    """
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
    """Log the distribution of numbers.

    The numbers are copied, and counted by the writer thread. NaN and infinities are counted
    separately.

    Args:
        name: Tag of the histogram.
        data: Numbers of any shape.
        step: Step of the value; by default that of `set_step` or ``as_default``.
        buckets: Number of buckets; by default 30.
        description: Markdown shown with the tag.

    Returns:
        Whether the value was accepted. False if there is no default writer, if `record_if` disables
        recording, or if an argument is invalid.

    Raises:
        UsageError: An argument is invalid and the writer is strict. Otherwise a warning is issued.

    Example:
        >>> tracklight.summary.histogram("weights", np.random.normal(size=1000), step=1)
        True
    """
    if is_tracing():
        return _log_when_run(
            histogram, name, data, step=step, buckets=buckets, description=description
        )

    writer = find_active_writer()
    if writer is None:
        return False
    with warnings.catch_errors(_format_call("histogram", name), strict=writer.strict):
        from tracklight.writer.values import defer_histogram

        tag, step_number = _check_tag_and_step(name, step)
        count = 30 if buckets is None else buckets
        metadata = {"description": description or ""}
        build, size_bytes = defer_histogram(tag, data, count, **metadata)
        # The metadata differs between steps: it contains statistics.
        return writer.add_later(
            build, step_number, size_bytes=size_bytes, always_write_metadata=True
        )
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
    """Log triangle meshes or point clouds.

    Args:
        name: Tag of the meshes.
        vertices: Coordinates [k, n, 3].
        faces: Vertex indices [k, m, 3]; None for a point cloud.
        colors: RGB colors of the vertices [k, n, 3].
        config_dict: Camera, lights and material, in the options of three.js.
        step: Step of the value; by default that of `set_step` or ``as_default``.
        description: Markdown shown with the tag.

    Returns:
        Whether the value was accepted. False if there is no default writer, if `record_if` disables
        recording, or if an argument is invalid.

    Raises:
        UsageError: An argument is invalid and the writer is strict. Otherwise a warning is issued.

    Example:
        >>> tracklight.summary.mesh("points", np.random.rand(1, 1000, 3), step=1)
        True
    """
    if is_tracing():
        return _log_when_run(
            mesh, name, vertices, faces, colors, config_dict, step=step, description=description
        )

    def build(tag: str) -> list[Message]:
        from tracklight.writer.values import build_mesh

        metadata = {"description": description or ""}
        return build_mesh(tag, vertices, faces, colors, config_dict, **metadata)

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
    """Log a precision-recall curve.

    Args:
        name: Tag of the curve.
        labels: Bools, or 0 and 1.
        predictions: Scores in [0, 1], as many as labels.
        step: Step of the value; by default that of `set_step` or ``as_default``.
        num_thresholds: Number of evenly spaced thresholds.
        weights: Weights of the predictions; by default 1.
        description: Markdown shown with the tag.

    Returns:
        Whether the value was accepted. False if there is no default writer, if `record_if` disables
        recording, or if an argument is invalid.

    Raises:
        UsageError: An argument is invalid and the writer is strict. Otherwise a warning is issued.

    Example:
        >>> tracklight.summary.pr_curve("validation", [True, False], [0.9, 0.4], step=1)
        True
    """
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

        metadata = {"description": description or ""}
        return build_pr_curve(tag, labels, predictions, num_thresholds, weights, **metadata)

    return _log("pr_curve", name, step, build)


def custom_scalars(layout: Any, step: int = 0) -> bool:
    """Log a layout of charts that combine several scalars.

    Args:
        layout: Charts by category and title, as in the example. A line with a band is
            ``["Margin", [value, lower, upper]]``. TensorBoard's ``Layout`` message is accepted too.
        step: Step of the layout.

    Returns:
        Whether the value was accepted. False if there is no default writer, if `record_if` disables
        recording, or if an argument is invalid.

    Raises:
        UsageError: An argument is invalid and the writer is strict. Otherwise a warning is issued.

    Example:
        >>> tracklight.summary.custom_scalars({"losses": {"all": ["Multiline", ["loss/.*"]]}})
        True
    """

    def build(tag: str) -> Message:
        from tracklight.writer.values import build_layout

        return build_layout(layout)

    return _log("custom_scalars", "layout", step, build)


def graph(graph_data: Any, name: str = "keras", step: int = 0) -> bool:
    """Log the graph of a program or a Keras model.

    Args:
        graph_data: A ``GraphDef`` message, its bytes, a ``tf.Graph`` or a Keras model.
        name: Tag of a Keras model. Other graphs have no tag; a run has one of them.
        step: Step of the graph.

    Returns:
        Whether the value was accepted. False if there is no default writer, if `record_if` disables
        recording, or if an argument is invalid.

    Raises:
        UsageError: An argument is invalid and the writer is strict. Otherwise a warning is issued.

    Example:
        >>> tracklight.summary.graph(model)
        True
    """
    writer = find_active_writer()
    if writer is None:
        return False
    with warnings.catch_errors(_format_call("graph", name), strict=writer.strict):
        from tracklight.writer.values import build_keras_model, encode_graph_event

        if hasattr(graph_data, "to_json"):
            return _log("graph", name, step, lambda tag: build_keras_model(tag, graph_data))
        return writer.add_event(encode_graph_event(graph_data, step))
    return False


def tensor(name: str, data: Any, step: int | None = None, description: str | None = None) -> bool:
    """Log an array of any type and shape.

    Args:
        name: Tag of the array.
        data: The array; the maximum is 1 GiB.
        step: Step of the value; by default that of `set_step` or ``as_default``.
        description: Markdown shown with the tag.

    Returns:
        Whether the value was accepted. False if there is no default writer, if `record_if` disables
        recording, or if an argument is invalid.

    Raises:
        UsageError: An argument is invalid and the writer is strict. Otherwise a warning is issued.

    Example:
        >>> tracklight.summary.tensor("confusion", np.eye(10), step=1)
        True
    """
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
    """Log an array with custom metadata, for example for a plugin.

    Args:
        tag: Tag of the array. Name scopes are not added.
        tensor: The array.
        step: Step of the value; by default that of `set_step` or ``as_default``.
        metadata: A ``SummaryMetadata`` message of any library, or its bytes.
        name: Ignored; accepted for compatibility with TensorFlow.

    Returns:
        Whether the value was accepted. False if there is no default writer, if `record_if` disables
        recording, or if an argument is invalid.

    Raises:
        UsageError: An argument is invalid and the writer is strict. Otherwise a warning is issued.

    Example:
        >>> tracklight.summary.write("attention", np.eye(3), step=step)
        True
    """
    if is_tracing():
        return _log_when_run(write, tag, tensor, step=step, metadata=metadata, is_scoped=False)

    def build(tag: str) -> Message:
        from tracklight.writer.values import build_tensor

        value = build_tensor(tag, tensor, description="")
        value.ClearField("metadata")
        if metadata is not None:
            serialized = metadata if isinstance(metadata, bytes) else metadata.SerializeToString()
            value.metadata.MergeFromString(serialized)
        return value

    return _log("write", tag, step, build, is_scoped=False)


def _log_when_run(
    log: Callable[..., bool], name: object, *arguments: Any, is_scoped: bool = True, **named: Any
) -> bool:
    """Repeat a logging call whenever the ``tf.function`` being traced runs."""
    from tracklight.writer.tf_function import log_when_run

    call = _format_call(log.__name__, name)
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
    with warnings.catch_errors(_format_call(kind, name), strict=writer.strict):
        tag, step_number = _check_tag_and_step(name, step, is_scoped)
        built = build(tag)
        return _add(writer, built if isinstance(built, list) else [built], step_number)
    return False


def _add(writer: EventWriter, values: list[Message], step: int) -> bool:
    for value in values:
        if value.metadata.plugin_data.plugin_name:
            # Implied by the plugin; TensorFlow omits it.
            value.metadata.ClearField("data_class")
    return writer.add(values, step)


def _check_tag_and_step(name: object, step: object, is_scoped: bool = True) -> tuple[str, int]:
    from tracklight.writer import as_step, as_tag

    tag = as_tag(name)
    step_number = as_step(event_writer.step.get() if step is None else step)
    return add_name_scope(tag) if is_scoped else tag, step_number


def _format_call(kind: str, name: object) -> str:
    return f"summary.{kind}({name!r:.100})"


@contextmanager
def _summary_scope(
    name: str, default_name: str = "summary", values: Any = None
) -> Iterator[tuple[str, str]]:
    """Enter a ``tf.name_scope`` if TensorFlow is loaded; yield the tag and the scope.

    Args:
        name: Name of the scope.
        default_name: Used if ``name`` is empty.
        values: Ignored; accepted for compatibility with TensorFlow.
    """
    title = name or default_name
    tag = add_name_scope(title)
    tensorflow = sys.modules.get("tensorflow")
    if tensorflow is None:
        yield tag, f"{title}/"
        return
    # Tags may contain characters that are invalid in a name scope.
    with tensorflow.name_scope(re.sub(r"[^A-Za-z0-9_.\\/-]", "", title) or default_name) as scope:
        yield tag, scope


def _write_raw_pb(tensor: Any, step: int | None = None, name: str | None = None) -> bool:
    """Log the values of a serialized ``Summary`` message without changes.

    Args:
        tensor: The bytes, or a tensor that holds them.
        step: Step of the values; by default that of `set_step` or ``as_default``.
        name: Ignored; accepted for compatibility with TensorFlow.
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
        from tracklight.writer import as_array, as_step

        data = tensor if isinstance(tensor, bytes) else as_array(tensor, "tensor").item()
        if not isinstance(data, bytes):
            raise warnings.ArgumentError("tensor", f"must be bytes, not a {type(data).__name__}")
        step_number = as_step(event_writer.step.get() if step is None else step)
        return writer.add(list(proto.parse("Summary", data).value), step_number)
    return False


class experimental:
    """Namespace with the functions of ``tf.summary.experimental``."""

    set_step = staticmethod(set_step)
    get_step = staticmethod(get_step)
    summary_scope = staticmethod(_summary_scope)
    write_raw_pb = staticmethod(_write_raw_pb)


# AutoGraph would rewrite these functions when a `tf.function` calls them.
for _function in (
    *(audio, create_file_writer, create_noop_writer, custom_scalars, flush, get_step, graph),
    *(histogram, image, mesh, pr_curve, record_if, scalar, set_step, should_record_summaries),
    *(tensor, text, write, _summary_scope, _write_raw_pb),
):
    skip_autograph(_function)
