"""The files of a run: how they are opened, written to and closed."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from types import TracebackType
from typing import Any, TypeVar

from tracklight.formats import proto
from tracklight.formats.event import FILE_VERSION, SessionStatus
from tracklight.formats.proto import Message
from tracklight.projector import ProjectorConfig
from tracklight.torch import images, summary_values
from tracklight.torch.embeddings import add_embedding
from tracklight.torch.file_writer import DEFAULT_FLUSH_SECS, DEFAULT_MAX_QUEUE, FileWriter
from tracklight.torch.hparams import build_session
from tracklight.torch.images import build_video
from tracklight.writer import warnings
from tracklight.writer.arguments import as_number, as_step, as_tag

Self = TypeVar("Self", bound="RunWriter")


class RunWriter:
    """A run's own event file, and those of the runs below it that belong to it."""

    def __init__(
        self,
        log_dir: str | os.PathLike[str] | None = None,
        comment: str = "",
        purge_step: int | None = None,
        max_queue: int = DEFAULT_MAX_QUEUE,
        flush_secs: float = DEFAULT_FLUSH_SECS,
        filename_suffix: str = "",
        *,
        strict: bool | None = None,
    ) -> None:
        self.log_dir = log_dir or _make_default_log_dir(comment)
        self.purge_step = purge_step
        self.max_queue = max_queue
        self.flush_secs = flush_secs
        self.filename_suffix = filename_suffix
        self.file_writer: FileWriter | None = None
        self.all_writers: dict[str, FileWriter] | None = None
        self._strict = warnings.is_strict() if strict is None else strict
        self._get_file_writer()

    def get_logdir(self) -> str | os.PathLike[str]:
        return self.log_dir

    def flush(self) -> None:
        """Wait until all that was logged is in the files."""
        for writer in (self.all_writers or {}).values():
            writer.flush()

    def close(self) -> None:
        """Write all and end; what is logged later goes to a new file."""
        for writer in (self.all_writers or {}).values():
            writer.close()
        self.file_writer = self.all_writers = None
        self._log_simple = self._reopen_and_log_simple

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _add(
        self,
        method: str,
        tag: Any,
        global_step: Any,
        walltime: float | None,
        build: Callable[..., Message | list[Message]],
        *given: Any,
    ) -> None:
        with self._catch_errors(method, tag):
            built = build(as_tag(tag, "tag"), *given)
            messages = built if isinstance(built, list) else [built]
            self._get_file_writer().add_values(messages, global_step, walltime)

    def _catch_errors(self, method: str, what: object) -> warnings.catch_errors:
        return warnings.catch_errors(f"{method}({what!r:.100})", strict=self._strict)

    def _get_file_writer(self) -> FileWriter:
        """The writer of this run's own file; after `close`, one of a new file."""
        if self.file_writer is None:
            self.file_writer = self._open(self.log_dir)
            self.all_writers = {self.file_writer.get_logdir(): self.file_writer}
            self._log_simple = self.file_writer.event_writer.simple
            self._write_purge_marker(self.file_writer)
        return self.file_writer

    def _get_sub_writer(self, name: str) -> FileWriter:
        folder = f"{self._get_file_writer().get_logdir()}/{name}"
        writers = self.all_writers or {}
        if folder not in writers:
            writers[folder] = self._open(folder)
        return writers[folder]

    def _open(self, folder: str | os.PathLike[str]) -> FileWriter:
        queue = self.max_queue, self.flush_secs
        return FileWriter(folder, *queue, self.filename_suffix, strict=self._strict)

    def _write_purge_marker(self, writer: FileWriter) -> None:
        if self.purge_step is None:
            return
        step, self.purge_step = as_step(self.purge_step, "purge_step"), None
        start = proto.SessionLog(status=SessionStatus.START)
        writer.add_event(proto.Event(file_version=FILE_VERSION), step)
        writer.add_event(proto.Event(session_log=start), step)

    def _reopen_and_log_simple(
        self, tag: str, value: float, step: int, wall_time: float | None = None
    ) -> bool:
        """The first scalar after `close`."""
        return self._get_file_writer().event_writer.simple(tag, value, step, wall_time)


def _make_default_log_dir(comment: str) -> str:
    now = datetime.now().strftime("%b%d_%H-%M-%S")
    return os.path.join("runs", f"{now}_{socket.gethostname()}{comment}")


# A drop-in for ``torch.utils.tensorboard.SummaryWriter``.


class SummaryWriter(RunWriter):
    """Logs to a new event file in ``log_dir``, by default ``runs/<time>_<host><comment>``.

    ``purge_step`` is where a program goes on that was interrupted: what was logged for this step
    and later ones before is hidden. What is logged is in the file after ``flush_secs`` or when
    ``max_queue`` records wait, and where these are left alone, after a second. ``strict`` makes
    misuse an exception; otherwise it is a warning, told once for each line of the program.

    Tensors may come from PyTorch, on any device, from NumPy, JAX or TensorFlow, or be lists.
    ``global_step`` is 0 where it is not given, ``walltime`` is now.
    """

    @cached_property
    def default_bins(self) -> list[float]:
        """The edges of a histogram's buckets."""
        return summary_values.make_default_bins()

    @cached_property
    def _projector_config(self) -> ProjectorConfig:
        return ProjectorConfig()

    def add_scalar(
        self,
        tag: str,
        scalar_value: Any,
        global_step: Any = None,
        walltime: float | None = None,
        new_style: bool = False,
        double_precision: bool = False,
    ) -> None:
        """Log one number; ``double_precision`` is only for the new style, that of TensorFlow 2."""
        if not new_style:
            # The case that has to be fast: what it cannot take, it refuses by raising.
            try:
                step = 0 if global_step is None else global_step
                self._log_simple(tag, scalar_value, step, walltime)
                return
            except Exception:
                pass
        build = summary_values.build_scalar if new_style else _build_simple
        self._add("add_scalar", tag, global_step, walltime, build, scalar_value, double_precision)

    def add_scalars(
        self,
        main_tag: str,
        tag_scalar_dict: Mapping[str, Any],
        global_step: Any = None,
        walltime: float | None = None,
    ) -> None:
        """Log numbers to be drawn together: one tag, and a run ``<main_tag>_<key>`` for each."""
        walltime = time.time() if walltime is None else walltime
        with self._catch_errors("add_scalars", main_tag):
            name = as_tag(main_tag, "main_tag")
            for key, value in tag_scalar_dict.items():
                writer = self._get_sub_writer(f"{name.replace('/', '_')}_{key}")
                number = as_number(value, "tag_scalar_dict")
                step = 0 if global_step is None else as_step(global_step, "global_step")
                writer.event_writer.simple(name, number, step, walltime)

    def add_tensor(
        self, tag: str, tensor: Any, global_step: Any = None, walltime: float | None = None
    ) -> None:
        """Log an array of any type and shape."""
        self._add("add_tensor", tag, global_step, walltime, summary_values.build_tensor, tensor)

    def add_histogram(
        self,
        tag: str,
        values: Any,
        global_step: Any = None,
        bins: Any = "tensorflow",
        walltime: float | None = None,
        max_bins: int | None = None,
    ) -> None:
        """Log how numbers are spread; ``bins`` may also be what ``numpy.histogram`` takes.

        They are copied at once and, in the default bins, counted by the writer's own thread.
        """
        with self._catch_errors("add_histogram", tag):
            name = as_tag(tag, "tag")
            build, size_bytes = summary_values.defer_histogram(name, values, bins, max_bins)
            self._get_file_writer().add_later(build, size_bytes, global_step, walltime)

    def add_histogram_raw(
        self,
        tag: str,
        min: float,
        max: float,
        num: int,
        sum: float,
        sum_squares: float,
        bucket_limits: Any,
        bucket_counts: Any,
        global_step: Any = None,
        walltime: float | None = None,
    ) -> None:
        """Log a histogram that was counted already; limits are the upper ones of the buckets."""
        totals = {"min": min, "max": max, "num": num, "sum": sum, "sum_squares": sum_squares}
        build = summary_values.build_raw_histogram
        counted = totals, bucket_limits, bucket_counts
        self._add("add_histogram_raw", tag, global_step, walltime, build, *counted)

    def add_image(
        self,
        tag: str,
        img_tensor: Any,
        global_step: Any = None,
        walltime: float | None = None,
        dataformats: str = "CHW",
    ) -> None:
        """Log a picture of uint8, or of floats in [0, 1]."""
        build = images.build_image
        self._add("add_image", tag, global_step, walltime, build, img_tensor, dataformats)

    def add_images(
        self,
        tag: str,
        img_tensor: Any,
        global_step: Any = None,
        walltime: float | None = None,
        dataformats: str = "NCHW",
    ) -> None:
        """Log pictures as one, eight in a row."""
        build = images.build_image
        self._add("add_images", tag, global_step, walltime, build, img_tensor, dataformats)

    def add_image_with_boxes(
        self,
        tag: str,
        img_tensor: Any,
        box_tensor: Any,
        global_step: Any = None,
        walltime: float | None = None,
        rescale: float = 1,
        dataformats: str = "CHW",
        labels: Sequence[str] | None = None,
    ) -> None:
        """Log a picture with boxes [n, 4] on it: left, top, right and bottom."""
        drawn = img_tensor, box_tensor, rescale, dataformats, labels
        build = images.build_image_with_boxes
        self._add("add_image_with_boxes", tag, global_step, walltime, build, *drawn)

    def add_figure(
        self,
        tag: str,
        figure: Any,
        global_step: Any = None,
        close: bool = True,
        walltime: float | None = None,
    ) -> None:
        """Log a Matplotlib figure, or a list of them as one picture, and close it."""
        self._add("add_figure", tag, global_step, walltime, images.build_figure, figure, close)

    def add_video(
        self,
        tag: str,
        vid_tensor: Any,
        global_step: Any = None,
        fps: float = 4,
        walltime: float | None = None,
    ) -> None:
        """Log videos [n, time, channels, height, width] as one animated GIF."""
        self._add("add_video", tag, global_step, walltime, build_video, vid_tensor, fps)

    def add_audio(
        self,
        tag: str,
        snd_tensor: Any,
        global_step: Any = None,
        sample_rate: int = 44100,
        walltime: float | None = None,
    ) -> None:
        """Log a sound [1, samples] or [samples, 2], of floats in [-1, 1] or of int16."""
        build = summary_values.build_audio
        self._add("add_audio", tag, global_step, walltime, build, snd_tensor, sample_rate)

    def add_text(
        self, tag: str, text_string: str, global_step: Any = None, walltime: float | None = None
    ) -> None:
        """Log a Markdown text, under ``<tag>/text_summary``."""
        self._add("add_text", tag, global_step, walltime, summary_values.build_text, text_string)

    def add_onnx_graph(self, prototxt: str | os.PathLike[str]) -> None:
        """Log the graph of an ONNX file."""
        with self._catch_errors("add_onnx_graph", prototxt):
            from tracklight.torch.graph_def import read_onnx_graph

            self._get_file_writer().add_onnx_graph(read_onnx_graph(prototxt))

    def add_graph(
        self,
        model: Any,
        input_to_model: Any = None,
        verbose: bool = False,
        use_strict_trace: bool = True,
    ) -> None:
        """Log the graph of a module that is called with a tensor, or with a tuple of arguments.

        It is taken from ``torch.export``; of a model that this cannot look into, from a JIT trace,
        to which ``use_strict_trace`` goes.
        """
        with self._catch_errors("add_graph", type(model).__name__):
            from tracklight.torch.graph_def import RUN_METADATA
            from tracklight.torch.graphs import read_model_graph

            graph = read_model_graph(
                model, input_to_model, verbose=verbose, strict=use_strict_trace
            )
            writer = self._get_file_writer()
            writer.add_onnx_graph(graph)
            tagged = proto.TaggedRunMetadata(tag=b"step1", run_metadata=RUN_METADATA)
            writer.add_event(proto.Event(tagged_run_metadata=tagged))

    def add_embedding(
        self,
        mat: Any,
        metadata: Any = None,
        label_img: Any = None,
        global_step: Any = None,
        tag: str = "default",
        metadata_header: Sequence[str] | None = None,
    ) -> None:
        """Log vectors [n, d] for the projector, with a label and a picture for each if given.

        With ``metadata_header``, every label is a list with a value for each name in it.
        """
        with self._catch_errors("add_embedding", tag):
            step = 0 if global_step is None else as_step(global_step, "global_step")
            add_embedding(
                self._get_file_writer().get_logdir(),
                self._projector_config,
                mat,
                metadata,
                label_img,
                step,
                as_tag(tag, "tag"),
                metadata_header,
            )

    def add_pr_curve(
        self,
        tag: str,
        labels: Any,
        predictions: Any,
        global_step: Any = None,
        num_thresholds: int = 127,
        weights: Any = None,
        walltime: float | None = None,
    ) -> None:
        """Log precision and recall of predictions in [0, 1], at 127 thresholds at most."""
        given = labels, predictions, num_thresholds, weights
        self._add("add_pr_curve", tag, global_step, walltime, summary_values.build_pr_curve, *given)

    def add_pr_curve_raw(
        self,
        tag: str,
        true_positive_counts: Any,
        false_positive_counts: Any,
        true_negative_counts: Any,
        false_negative_counts: Any,
        precision: Any,
        recall: Any,
        global_step: Any = None,
        num_thresholds: int = 127,
        weights: Any = None,
        walltime: float | None = None,
    ) -> None:
        """Log a curve that was counted already; ``weights`` are taken to be in the counts."""
        rows = {
            "true_positive_counts": true_positive_counts,
            "false_positive_counts": false_positive_counts,
            "true_negative_counts": true_negative_counts,
            "false_negative_counts": false_negative_counts,
            "precision": precision,
            "recall": recall,
        }
        build = summary_values.build_raw_pr_curve
        self._add("add_pr_curve_raw", tag, global_step, walltime, build, rows, num_thresholds)

    def add_custom_scalars_multilinechart(
        self, tags: Sequence[str], category: str = "default", title: str = "untitled"
    ) -> None:
        """Log that some scalars are to be shown in one chart."""
        self.add_custom_scalars({category: {title: ["Multiline", tags]}})

    def add_custom_scalars_marginchart(
        self, tags: Sequence[str], category: str = "default", title: str = "untitled"
    ) -> None:
        """Log that three scalars are a line and the lower and upper edge of a band around it."""
        self.add_custom_scalars({category: {title: ["Margin", tags]}})

    def add_custom_scalars(self, layout: Mapping[str, Mapping[str, Sequence[Any]]]) -> None:
        """Log which scalars are to be shown together, once for a writer.

        ``layout`` is ``{category: {title: ["Multiline", tags] or ["Margin", three tags]}}``.
        """
        self._add("add_custom_scalars", "layout", None, None, summary_values.build_layout, layout)

    def add_mesh(
        self,
        tag: str,
        vertices: Any,
        colors: Any = None,
        faces: Any = None,
        config_dict: Mapping[str, Any] | None = None,
        global_step: Any = None,
        walltime: float | None = None,
    ) -> None:
        """Log meshes of vertices and faces, [batch, n, 3] each, or point clouds without faces."""
        given = vertices, colors, faces, config_dict
        self._add("add_mesh", tag, global_step, walltime, summary_values.build_mesh, *given)

    def add_hparams(
        self,
        hparam_dict: Mapping[str, Any],
        metric_dict: Mapping[str, Any],
        hparam_domain_discrete: Mapping[str, list[Any]] | None = None,
        run_name: str | None = None,
        global_step: Any = None,
    ) -> None:
        """Log hyperparameters and what came of them, as a run below this one.

        It is called ``run_name``, by default by the time; ``"."`` is this run itself.
        """
        with self._catch_errors("add_hparams", run_name or ""):
            session = build_session(hparam_dict, metric_dict, hparam_domain_discrete)
            folder = self._get_file_writer().get_logdir()
            logdir = os.path.join(folder, run_name or str(time.time()))
            with SummaryWriter(logdir, strict=self._strict) as writer:
                for value in session:
                    writer._get_file_writer().add_values([value], global_step)
                for tag, number in metric_dict.items():
                    writer.add_scalar(tag, number, global_step)


def _build_simple(tag: str, value: Any, is_double: bool) -> Message:
    """A number that the fast way did not take, such as an array with one element."""
    number = as_number(value, "scalar_value")
    return proto.Value(tag=tag.encode(), simple_value=number)
