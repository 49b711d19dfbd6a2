"""`SummaryWriter`: a drop-in replacement for ``torch.utils.tensorboard.SummaryWriter``."""

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
from tracklight.formats.proto import Message
from tracklight.formats.summary import FILE_VERSION, SessionStatus
from tracklight.projector import ProjectorConfig
from tracklight.torch import images, summary_values
from tracklight.torch.file_writer import DEFAULT_FLUSH_SECS, DEFAULT_MAX_QUEUE, FileWriter
from tracklight.torch.images import add_embedding, build_video
from tracklight.torch.summary_values import build_session
from tracklight.writer import as_number, as_step, as_tag, warnings

Self = TypeVar("Self", bound="SummaryWriter")


class SummaryWriter:
    """Log to a new event file, with the methods of ``torch.utils.tensorboard.SummaryWriter``.

    Tensors may come from PyTorch (on any device), NumPy, JAX or TensorFlow, or be lists. In all
    methods, ``global_step`` is the step of the value, by default 0, and ``walltime`` its time in
    seconds since the epoch, by default now. An invalid argument causes one warning per line of the
    program, and a `UsageError` if the writer is strict.

    Args:
        log_dir: Directory of the run, or a URL such as ``s3://bucket/logs``; by default
            ``runs/<time>_<host><comment>``.
        comment: Appended to the default directory.
        purge_step: Hide values from this step on that were logged before, when an interrupted
            program is resumed.
        max_queue: Write to the file when this many records are buffered.
        flush_secs: Write to the file after this time. PyTorch's default of 120 is replaced by 1.
        filename_suffix: Appended to the name of the event file.
        strict: Raise exceptions on misuse instead of warning; by default TRACKLIGHT_STRICT decides.

    Raises:
        OSError: The file cannot be created, and ``strict`` is set. Otherwise the writer retries.
        UsageError: ``purge_step`` is not an int.

    Example:
        >>> with SummaryWriter("runs/first") as writer:
        ...     writer.add_scalar("loss", 0.5, global_step=1)
    """

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

    @cached_property
    def default_bins(self) -> list[float]:
        """The default bucket edges of histograms."""
        return summary_values.make_default_bins()

    def get_logdir(self) -> str | os.PathLike[str]:
        return self.log_dir

    def flush(self) -> None:
        """Wait until all records are in the files."""
        for writer in (self.all_writers or {}).values():
            writer.flush()

    def close(self) -> None:
        """Write all records and close the files. Logging afterwards starts a new file."""
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

    def add_scalar(
        self,
        tag: str,
        scalar_value: Any,
        global_step: Any = None,
        walltime: float | None = None,
        new_style: bool = False,
        double_precision: bool = False,
    ) -> None:
        """Log a number.

        Args:
            tag: Tag of the series.
            scalar_value: A number, or a tensor with one element.
            global_step: Step of the value.
            walltime: Time of the value.
            new_style: Use the format of TensorFlow 2.
            double_precision: Store a float64. Requires ``new_style``.

        Raises:
            UsageError: An argument is invalid and the writer is strict. Otherwise a warning is
                issued.

        Example:
            >>> writer.add_scalar("loss", loss.item(), step)
        """
        if not new_style:
            # The fast path raises for everything but plain numbers, tags and steps.
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
        """Log several numbers under one tag, each in a run of its own: ``<main_tag>_<key>``.

        Args:
            main_tag: Tag of the numbers.
            tag_scalar_dict: Numbers by key.
            global_step: Step of the values.
            walltime: Time of the values.

        Raises:
            UsageError: An argument is invalid and the writer is strict. Otherwise a warning is
                issued.

        Example:
            >>> writer.add_scalars("loss", {"train": 0.5, "validation": 0.6}, step)
        """
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
        """Log an array of any type and shape.

        Args:
            tag: Tag of the array.
            tensor: The array; the maximum is 1 GiB.
            global_step: Step of the value.
            walltime: Time of the value.

        Raises:
            UsageError: An argument is invalid and the writer is strict. Otherwise a warning is
                issued.

        Example:
            >>> writer.add_tensor("attention", np.eye(4), step)
        """
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
        """Log the distribution of numbers.

        The numbers are copied. With the default bins, the writer thread counts them.

        Args:
            tag: Tag of the histogram.
            values: Numbers of any shape.
            global_step: Step of the value.
            bins: ``"tensorflow"``, or bins as for ``numpy.histogram``.
            walltime: Time of the value.
            max_bins: Maximum number of bins.

        Raises:
            UsageError: An argument is invalid and the writer is strict. Otherwise a warning is
                issued.

        Example:
            >>> writer.add_histogram("weights", model.fc.weight, step)
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
        """Log a histogram that was computed by the program.

        Args:
            tag: Tag of the histogram.
            min: Smallest number.
            max: Largest number.
            num: Number of values.
            sum: Sum of the values.
            sum_squares: Sum of the squared values.
            bucket_limits: Upper limits of the buckets.
            bucket_counts: Counts of the buckets.
            global_step: Step of the value.
            walltime: Time of the value.

        Raises:
            UsageError: An argument is invalid and the writer is strict. Otherwise a warning is
                issued.

        Example:
            >>> edges = [1.0, 2.0, 4.0]
            >>> writer.add_histogram_raw("sizes", 0.5, 4, 3, 6, 18.5, edges, [1, 1, 1], step)
        """
        statistics = {"min": min, "max": max, "num": num, "sum": sum, "sum_squares": sum_squares}
        build = summary_values.build_raw_histogram
        arguments = statistics, bucket_limits, bucket_counts
        self._add("add_histogram_raw", tag, global_step, walltime, build, *arguments)

    def add_image(
        self,
        tag: str,
        img_tensor: Any,
        global_step: Any = None,
        walltime: float | None = None,
        dataformats: str = "CHW",
    ) -> None:
        """Log an image.

        Args:
            tag: Tag of the image.
            img_tensor: Pixels of uint8, or floats in [0, 1].
            global_step: Step of the value.
            walltime: Time of the value.
            dataformats: Order of the dimensions: a permutation of ``"CHW"`` or ``"HW"``.

        Raises:
            UsageError: An argument is invalid and the writer is strict. Otherwise a warning is
                issued.

        Example:
            >>> writer.add_image("sample", torch.rand(3, 64, 64), step)
        """
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
        """Log a batch of images as one image, eight in a row.

        Args:
            tag: Tag of the image.
            img_tensor: Pixels of uint8, or floats in [0, 1].
            global_step: Step of the value.
            walltime: Time of the value.
            dataformats: Order of the dimensions: a permutation of ``"NCHW"``.

        Raises:
            UsageError: An argument is invalid and the writer is strict. Otherwise a warning is
                issued.

        Example:
            >>> writer.add_images("samples", np.zeros((4, 3, 64, 64)), step)
        """
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
        """Log an image with boxes drawn on it.

        Args:
            tag: Tag of the image.
            img_tensor: Pixels of uint8, or floats in [0, 1].
            box_tensor: Boxes [n, 4]: left, top, right and bottom.
            global_step: Step of the value.
            walltime: Time of the value.
            rescale: Scale factor of the image.
            dataformats: Order of the dimensions.
            labels: A label for each box.

        Raises:
            UsageError: An argument is invalid and the writer is strict. Otherwise a warning is
                issued.

        Example:
            >>> boxes = np.array([[8, 8, 40, 48]])
            >>> pixels = np.zeros((3, 64, 64))
            >>> writer.add_image_with_boxes("found", pixels, boxes, step, labels=["cat"])
        """
        arguments = img_tensor, box_tensor, rescale, dataformats, labels
        build = images.build_image_with_boxes
        self._add("add_image_with_boxes", tag, global_step, walltime, build, *arguments)

    def add_figure(
        self,
        tag: str,
        figure: Any,
        global_step: Any = None,
        close: bool = True,
        walltime: float | None = None,
    ) -> None:
        """Log a Matplotlib figure as an image.

        Args:
            tag: Tag of the image.
            figure: A figure, or a list of figures of the same size.
            global_step: Step of the value.
            close: Close the figure.
            walltime: Time of the value.

        Raises:
            UsageError: An argument is invalid and the writer is strict. Otherwise a warning is
                issued.

        Example:
            >>> from matplotlib import pyplot
            >>> figure, axes = pyplot.subplots()
            >>> writer.add_figure("calibration", figure, step)
        """
        self._add("add_figure", tag, global_step, walltime, images.build_figure, figure, close)

    def add_video(
        self,
        tag: str,
        vid_tensor: Any,
        global_step: Any = None,
        fps: float = 4,
        walltime: float | None = None,
    ) -> None:
        """Log videos as one animated GIF. Requires Pillow.

        Args:
            tag: Tag of the video.
            vid_tensor: Videos [n, time, channels, height, width].
            global_step: Step of the value.
            fps: Frames per second.
            walltime: Time of the value.

        Raises:
            UsageError: An argument is invalid and the writer is strict. Otherwise a warning is
                issued.

        Example:
            >>> writer.add_video("rollout", np.zeros((1, 8, 3, 32, 32)), step, fps=8)
        """
        self._add("add_video", tag, global_step, walltime, build_video, vid_tensor, fps)

    def add_audio(
        self,
        tag: str,
        snd_tensor: Any,
        global_step: Any = None,
        sample_rate: int = 44100,
        walltime: float | None = None,
    ) -> None:
        """Log an audio clip.

        Args:
            tag: Tag of the clip.
            snd_tensor: [1, samples], or [samples, 2] for stereo; floats in [-1, 1] or int16.
            global_step: Step of the value.
            sample_rate: Samples per second.
            walltime: Time of the value.

        Raises:
            UsageError: An argument is invalid and the writer is strict. Otherwise a warning is
                issued.

        Example:
            >>> writer.add_audio("speech", np.zeros((1, 16_000)), step, sample_rate=16_000)
        """
        build = summary_values.build_audio
        self._add("add_audio", tag, global_step, walltime, build, snd_tensor, sample_rate)

    def add_text(
        self, tag: str, text_string: str, global_step: Any = None, walltime: float | None = None
    ) -> None:
        """Log Markdown text under the tag ``<tag>/text_summary``.

        Args:
            tag: Tag of the text.
            text_string: The text; the maximum is 64 MiB.
            global_step: Step of the value.
            walltime: Time of the value.

        Raises:
            UsageError: An argument is invalid and the writer is strict. Otherwise a warning is
                issued.

        Example:
            >>> writer.add_text("sample", "The **generated** text", step)
        """
        self._add("add_text", tag, global_step, walltime, summary_values.build_text, text_string)

    def add_onnx_graph(self, prototxt: str | os.PathLike[str]) -> None:
        """Log the graph of an ONNX file.

        Args:
            prototxt: Path of the file.

        Raises:
            UsageError: An argument is invalid and the writer is strict. Otherwise a warning is
                issued.

        Example:
            >>> writer.add_onnx_graph("model.onnx")
        """
        with self._catch_errors("add_onnx_graph", prototxt):
            from tracklight.torch.graphs import read_onnx_graph

            self._get_file_writer().add_onnx_graph(read_onnx_graph(prototxt))

    def add_graph(
        self,
        model: Any,
        input_to_model: Any = None,
        verbose: bool = False,
        use_strict_trace: bool = True,
    ) -> None:
        """Log the graph of a model.

        The graph comes from ``torch.export``, or from a JIT trace if the model cannot be exported.

        Args:
            model: A module, or a scripted module or function.
            input_to_model: A tensor, or a tuple of arguments, with which to call the model.
            verbose: Print PyTorch's graph.
            use_strict_trace: Passed to ``torch.jit.trace``.

        Raises:
            UsageError: An argument is invalid and the writer is strict. Otherwise a warning is
                issued.

        Example:
            >>> writer.add_graph(model, torch.zeros(1, 3, 64, 64))
        """
        with self._catch_errors("add_graph", type(model).__name__):
            from tracklight.torch.graphs import RUN_METADATA, read_model_graph

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
        """Log vectors for the projector.

        Args:
            mat: Vectors [n, d].
            metadata: Labels of the vectors; with a header, rows of values.
            label_img: Images [n, channels, height, width].
            global_step: Step of the embedding.
            tag: Name of the embedding.
            metadata_header: Names of the metadata columns.

        Raises:
            UsageError: An argument is invalid and the writer is strict. Otherwise a warning is
                issued.

        Example:
            >>> writer.add_embedding(np.eye(3), metadata=["cat", "dog", "fish"], global_step=step)
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
        """Log a precision-recall curve.

        Args:
            tag: Tag of the curve.
            labels: Bools, or 0 and 1.
            predictions: Scores in [0, 1], as many as labels.
            global_step: Step of the value.
            num_thresholds: Number of thresholds; the maximum is 127.
            weights: Weights of the predictions; by default 1.
            walltime: Time of the value.

        Raises:
            UsageError: An argument is invalid and the writer is strict. Otherwise a warning is
                issued.

        Example:
            >>> writer.add_pr_curve("cats", [1, 0, 1], [0.9, 0.2, 0.6], step)
        """
        arguments = labels, predictions, num_thresholds, weights
        self._add(
            "add_pr_curve", tag, global_step, walltime, summary_values.build_pr_curve, *arguments
        )

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
        """Log a precision-recall curve that was computed by the program.

        Args:
            tag: Tag of the curve.
            true_positive_counts: True positives at each threshold.
            false_positive_counts: False positives at each threshold.
            true_negative_counts: True negatives at each threshold.
            false_negative_counts: False negatives at each threshold.
            precision: Precision at each threshold.
            recall: Recall at each threshold.
            global_step: Step of the value.
            num_thresholds: Number of thresholds; the maximum is 127.
            weights: Ignored; the counts are assumed to include them.
            walltime: Time of the value.

        Raises:
            UsageError: An argument is invalid and the writer is strict. Otherwise a warning is
                issued.

        Example:
            >>> counts = [4, 2], [3, 0], [0, 3], [0, 2]
            >>> precision, recall = [4 / 7, 1.0], [1.0, 0.5]
            >>> writer.add_pr_curve_raw("cats", *counts, precision, recall, step, num_thresholds=2)
        """
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
        """Log a layout with one chart of several scalars.

        Args:
            tags: Tags, or regular expressions that match tags.
            category: Category of the chart.
            title: Title of the chart.

        Raises:
            UsageError: An argument is invalid and the writer is strict. Otherwise a warning is
                issued.

        Example:
            >>> writer.add_custom_scalars_multilinechart(["loss/train", "loss/test"], title="Loss")
        """
        self.add_custom_scalars({category: {title: ["Multiline", tags]}})

    def add_custom_scalars_marginchart(
        self, tags: Sequence[str], category: str = "default", title: str = "untitled"
    ) -> None:
        """Log a layout with one chart of a line and a band.

        Args:
            tags: Three tags: the value, the lower and the upper edge of the band.
            category: Category of the chart.
            title: Title of the chart.

        Raises:
            UsageError: An argument is invalid and the writer is strict. Otherwise a warning is
                issued.

        Example:
            >>> writer.add_custom_scalars_marginchart(["mean", "low", "high"], title="Return")
        """
        self.add_custom_scalars({category: {title: ["Margin", tags]}})

    def add_custom_scalars(self, layout: Mapping[str, Mapping[str, Sequence[Any]]]) -> None:
        """Log a layout of charts that combine several scalars. Call it once.

        Args:
            layout: ``{category: {title: ["Multiline", tags]}}``, or ``["Margin", tags]`` with three
                tags for a line with a band.

        Raises:
            UsageError: An argument is invalid and the writer is strict. Otherwise a warning is
                issued.

        Example:
            >>> writer.add_custom_scalars({"Training": {"Loss": ["Multiline", ["loss/.*"]]}})
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
        """Log triangle meshes or point clouds.

        Args:
            tag: Tag of the meshes.
            vertices: Coordinates [batch, n, 3].
            colors: RGB colors of the vertices [batch, n, 3].
            faces: Vertex indices [batch, m, 3]; None for point clouds.
            config_dict: Camera, lights and material, in the options of three.js.
            global_step: Step of the value.
            walltime: Time of the value.

        Raises:
            UsageError: An argument is invalid and the writer is strict. Otherwise a warning is
                issued.

        Example:
            >>> writer.add_mesh("cube", np.zeros((1, 8, 3)), global_step=step)
        """
        arguments = vertices, colors, faces, config_dict
        self._add("add_mesh", tag, global_step, walltime, summary_values.build_mesh, *arguments)

    def add_hparams(
        self,
        hparam_dict: Mapping[str, Any],
        metric_dict: Mapping[str, Any],
        hparam_domain_discrete: Mapping[str, list[Any]] | None = None,
        run_name: str | None = None,
        global_step: Any = None,
    ) -> None:
        """Log hyperparameters and final metrics as a run below this one.

        Args:
            hparam_dict: Hyperparameters by name.
            metric_dict: Final metrics by tag.
            hparam_domain_discrete: Possible values of hyperparameters by name.
            run_name: Name of the run; by default the current time. ``"."`` is this run itself.
            global_step: Step of the metrics.

        Raises:
            UsageError: An argument is invalid and the writer is strict. Otherwise a warning is
                issued.

        Example:
            >>> writer.add_hparams({"lr": 0.1}, {"accuracy": 0.9})
        """
        with self._catch_errors("add_hparams", run_name or ""):
            session = build_session(hparam_dict, metric_dict, hparam_domain_discrete)
            parent = self._get_file_writer().get_logdir()
            logdir = os.path.join(parent, run_name or str(time.time()))
            with SummaryWriter(logdir, strict=self._strict) as writer:
                for value in session:
                    writer._get_file_writer().add_values([value], global_step)
                for tag, number in metric_dict.items():
                    writer.add_scalar(tag, number, global_step)

    @cached_property
    def _projector_config(self) -> ProjectorConfig:
        return ProjectorConfig()

    def _add(
        self,
        method: str,
        tag: Any,
        global_step: Any,
        walltime: float | None,
        build: Callable[..., Message | list[Message]],
        *arguments: Any,
    ) -> None:
        with self._catch_errors(method, tag):
            built = build(as_tag(tag, "tag"), *arguments)
            messages = built if isinstance(built, list) else [built]
            self._get_file_writer().add_values(messages, global_step, walltime)

    def _catch_errors(self, method: str, argument: object) -> warnings.catch_errors:
        return warnings.catch_errors(f"{method}({argument!r:.100})", strict=self._strict)

    def _get_file_writer(self) -> FileWriter:
        """Return the writer of this run; open a new file after `close`."""
        if self.file_writer is None:
            self.file_writer = self._open(self.log_dir)
            self.all_writers = {self.file_writer.get_logdir(): self.file_writer}
            self._log_simple = self.file_writer.event_writer.simple
            self._write_purge_marker(self.file_writer)
        return self.file_writer

    def _get_sub_writer(self, name: str) -> FileWriter:
        directory = f"{self._get_file_writer().get_logdir()}/{name}"
        writers = self.all_writers or {}
        if directory not in writers:
            writers[directory] = self._open(directory)
        return writers[directory]

    def _open(self, directory: str | os.PathLike[str]) -> FileWriter:
        queue = self.max_queue, self.flush_secs
        return FileWriter(directory, *queue, self.filename_suffix, strict=self._strict)

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
        """Log the first scalar after `close`."""
        return self._get_file_writer().event_writer.simple(tag, value, step, wall_time)


def _make_default_log_dir(comment: str) -> str:
    now = datetime.now().strftime("%b%d_%H-%M-%S")
    return os.path.join("runs", f"{now}_{socket.gethostname()}{comment}")


def _build_simple(tag: str, value: Any, is_double: bool) -> Message:
    """Build a number that the fast path rejects, such as an array with one element."""
    number = as_number(value, "scalar_value")
    return proto.Value(tag=tag.encode(), simple_value=number)
