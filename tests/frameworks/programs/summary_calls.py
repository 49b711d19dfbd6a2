"""Make the same calls to ``tf.summary`` and to ``tracklight.summary``.

python summary_calls.py logdir      # logdir/theirs/<call>, logdir/ours/<call>
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

RNG = np.random.default_rng(0)
NUMBERS = RNG.normal(size=(10, 100))
PIXELS = RNG.integers(0, 256, (4, 15, 20, 3), np.uint8)
TONE = np.sin(np.arange(4000, dtype=np.float32) / 9).reshape(4, 500, 2)
LABELS = RNG.integers(0, 2, 100)
SCORES = RNG.random(100)
LAYOUT = {"x": {"y": ["Multiline", ["a/.*", "b"]]}, "z": {"y": ["Margin", ["a", "b", "c"]]}}
CAMERA = {"material": {"cls": "PointsMaterial", "size": 0.5}, "camera": {"fov": 75}}
FACES = np.array([[[0, 1, 2]], [[1, 2, 3]]], np.int32)
POINTS = RNG.normal(size=(2, 4, 3)).astype(np.float32)
UNUSUAL_TAGS = ["a b", "a:b", "/a", "a//b/", "ä😀", "a\\b", 'a"b', "%s", ".", "a\nb", "<b>"]

Call = Callable[[Any], object]

#: Calls that write identical bytes.
SAME_BYTES: dict[str, Call] = {
    "float": lambda s: s.scalar("a/b", 1.13, step=1),
    "int": lambda s: s.scalar("a", 113, step=1),
    "bool": lambda s: s.scalar("a", True, step=1),
    "zero": lambda s: s.scalar("a", 0.0, step=0),
    "nan": lambda s: s.scalar("a", float("nan"), step=1),
    "infinity": lambda s: s.scalar("a", -np.inf, step=1),
    "numpy number": lambda s: s.scalar("a", np.float64(1) / 3, step=np.int32(2)),
    "numpy half": lambda s: s.scalar("a", np.float16(0.1), step=2),
    "tensor": lambda s: s.scalar("a", tf().constant(0.25), step=tf().constant(3, "int64")),
    "variable": lambda s: s.scalar("a", tf().Variable(7), step=tf().Variable(4, dtype="int64")),
    "negative step": lambda s: s.scalar("a", 1.0, step=-5),
    "large step": lambda s: s.scalar("a", 1.0, step=2**62),
    "described": lambda s: s.scalar("a", 1.13, step=1, description="The *first* letter."),
    "odd tags": lambda s: [s.scalar(tag, 1.0, step=1) for tag in UNUSUAL_TAGS],
    "default step": lambda s: at_step(s, 333),
    "step of the writer": lambda s: s.scalar("a", 1.0),
    "recorded if": lambda s: recorded_if(s),
    "scope": lambda s: in_scopes("outer", "inner", call=lambda: s.scalar("a", 1.0, step=1)),
    "scope of text": lambda s: in_scopes("scope", call=lambda: s.text("a", "b", step=1)),
    "scope of audio": lambda s: in_scopes("scope", call=lambda: s.audio("a", TONE, 8000, step=1)),
    "scope without a name": lambda s: in_scopes("", call=lambda: s.scalar("a", 1.0, step=1)),
    "scope that was left": lambda s: in_scopes("outer", "/", call=lambda: s.scalar("a", 1, step=1)),
    "scope and odd tag": lambda s: in_scopes("outer", call=lambda: s.scalar("/a b", 1, step=1)),
    "scope of a tag": lambda s: in_scopes("outer", call=lambda: s.write("a", POINTS, step=1)),
    "text": lambda s: s.text("a/b", "A name…\n\nI **call** myself", step=1),
    "text as bytes": lambda s: s.text("a", b"A name\xe2\x80\xa6", step=1),
    "text of nothing": lambda s: s.text("a", "", step=1, description="*nothing*"),
    "texts": lambda s: s.text("a", ["x", "y | z", "line\nbreak"], step=1),
    "table": lambda s: s.text("a", np.array([["A", "long"], ["way", "to ‼"]]), step=1),
    "table as bytes": lambda s: s.text("a", np.array([[b"A", b"b"], [b"c", b""]]), step=1),
    "text tensor": lambda s: s.text("a", tf().constant([["x"], ["y"]]), step=1),
    "sound": lambda s: s.audio("a", TONE[:1, :, :1], 8000, step=1, description="tone"),
    "stereo": lambda s: s.audio("a", TONE, 44100, step=1),
    "few sounds": lambda s: s.audio("a", TONE, 44100, step=1, max_outputs=2),
    "sounds beyond all": lambda s: s.audio("a", TONE[:2], 8000, step=1, max_outputs=5),
    "loud sound": lambda s: s.audio("a", TONE.clip(-0.5, 0.5) * 4, 8000, step=1, encoding="wav"),
    "own plugin": lambda s: s.write("a", POINTS, step=1, metadata=make_metadata()),
    "layout": lambda s: s.custom_scalars(LAYOUT),
    "mesh": lambda s: s.mesh("a/b", POINTS, FACES, PIXELS[:2, :4, 0], CAMERA, step=1),
    "mesh of points": lambda s: s.mesh("a", POINTS, config_dict={}, step=1, description="*dots*"),
    "no plugin": lambda s: s.write("a", tf().constant([1.5]), step=1),
}

#: Calls that write the same pixels, compressed differently.
SAME_PIXELS: dict[str, Call] = {
    "image": lambda s: s.image("a/b", PIXELS[:1], step=1, description="By **Leonardo**"),
    "one channel": lambda s: s.image("a", PIXELS[..., :1], step=1),
    "two channels": lambda s: s.image("a", PIXELS[..., :2], step=1),
    "four channels": lambda s: s.image("a", PIXELS[:, :, :4].repeat(2, 3)[..., :4], step=1),
    "few images": lambda s: s.image("a", PIXELS, step=1, max_outputs=3),
    "images beyond all": lambda s: s.image("a", PIXELS[:2], step=1, max_outputs=5),
    "floats": lambda s: s.image("a", np.linspace(-0.2, 1.2, 999).reshape(1, 27, 37, 1), step=1),
    "float32": lambda s: s.image("a", NUMBERS.astype(np.float32)[None, :, :, None], step=1),
    "half": lambda s: s.image("a", tf().constant(PIXELS / 255, "float16"), step=1),
    "16 bits": lambda s: s.image("a", RNG16.reshape(1, 20, 50, 1), step=1),
    "scope of image": lambda s: in_scopes("scope", call=lambda: s.image("a", PIXELS, step=1)),
}
RNG16 = np.random.default_rng(1).integers(0, 1 << 16, 1000).astype(np.uint16)

#: Histograms with the same buckets, plus statistics that TensorFlow does not write.
SAME_BUCKETS: dict[str, Call] = {
    "numbers": lambda s: s.histogram("a/b", NUMBERS, step=1, description="foo"),
    "one number": lambda s: s.histogram("a", [12], step=1),
    "equal numbers": lambda s: s.histogram("a", [12.0, 12.0, 12.0], step=1),
    "no number": lambda s: s.histogram("a", np.zeros(0), step=1),
    "no number in many dimensions": lambda s: s.histogram("a", np.zeros((2, 2, 0)), step=1),
    "buckets": lambda s: s.histogram("a", NUMBERS, step=1, buckets=44),
    "one bucket": lambda s: s.histogram("a", NUMBERS, step=1, buckets=1),
    "no bucket": lambda s: s.histogram("a", [1.0, 1.0, 1.0], step=1, buckets=0),
    "whole numbers": lambda s: s.histogram("a", np.arange(100) % 7, step=1),
    "float32 numbers": lambda s: s.histogram("a", NUMBERS.astype(np.float32), step=1),
    "tensor of numbers": lambda s: s.histogram("a", tf().constant(NUMBERS), step=1),
    "scope of numbers": lambda s: in_scopes("s", call=lambda: s.histogram("a", NUMBERS, step=1)),
}

#: Curves with the same numbers, without the suffix that TensorFlow adds to the tag.
SAME_CURVES: dict[str, Call] = {
    "curve": lambda s: s.pr_curve("a", LABELS, SCORES, step=1, description="a curve"),
    "few thresholds": lambda s: s.pr_curve("a", LABELS, SCORES, step=1, num_thresholds=5),
    "weights": lambda s: s.pr_curve("a", LABELS, SCORES, step=1, weights=np.arange(100)),
    "no label is true": lambda s: s.pr_curve("a", LABELS * 0, SCORES, step=1),
}

CALLS = {**SAME_BYTES, **SAME_PIXELS, **SAME_BUCKETS, **SAME_CURVES}


class Theirs:
    """``tf.summary``, supplemented by TensorBoard's functions for other types of values."""

    def __getattr__(self, name: str) -> Any:
        return getattr(tf().summary, name)

    def mesh(self, *arguments: Any, **named: Any) -> None:
        from tensorboard.plugins.mesh.summary_v2 import mesh

        mesh(*arguments, **named)

    def pr_curve(self, name: str, labels: Any, scores: Any, step: int, **named: Any) -> None:
        from tensorboard.plugins.pr_curve.summary import pb

        made = pb(name, labels.astype(bool), scores, **named)
        self.experimental.write_raw_pb(made.SerializeToString(), step)

    def custom_scalars(self, layout: Any) -> None:
        from tensorboard.plugins.custom_scalar import layout_pb2 as message
        from tensorboard.plugins.custom_scalar.summary import pb

        (one, other) = layout
        lines = message.MultilineChartContent(tag=layout[one]["y"][1])
        value, lower, upper = layout[other]["y"][1]
        series = message.MarginChartContent.Series(value=value, lower=lower, upper=upper)
        band = message.MarginChartContent(series=[series])
        charts = {
            one: message.Chart(title="y", multiline=lines),
            other: message.Chart(title="y", margin=band),
        }
        categories = [message.Category(title=name, chart=[charts[name]]) for name in charts]
        made = pb(message.Layout(category=categories))
        self.experimental.write_raw_pb(made.SerializeToString(), 0)


def tf() -> Any:
    """Return TensorFlow. Tests that import this module for its calls do not import it."""
    return sys.modules["tensorflow"]


def at_step(summary: Any, step: int) -> None:
    summary.experimental.set_step(step)
    summary.scalar("a", 1.0)
    summary.text("b", "c", step=summary.experimental.get_step() + 1)
    summary.experimental.set_step(None)


def recorded_if(summary: Any) -> None:
    for condition in (True, False, lambda: True, lambda: False):
        with summary.record_if(condition):
            assert bool(summary.should_record_summaries()) == bool(
                condition() if callable(condition) else condition
            )
            summary.scalar(f"a{condition is True}", 1.0, step=1)


def in_scopes(scope: str, *scopes: str, call: Callable[[], object]) -> None:
    with tf().name_scope(scope):
        if scopes:
            in_scopes(*scopes, call=call)
        else:
            call()


def make_metadata() -> Any:
    metadata = tf().compat.v1.SummaryMetadata()
    metadata.plugin_data.plugin_name = "mine"
    metadata.plugin_data.content = b"\x00\x01v1"
    return metadata


def main(logdir: Path) -> None:
    import tensorflow  # noqa: F401

    import tracklight.summary

    for writers, summary in (("theirs", Theirs()), ("ours", tracklight.summary)):
        for name, call in CALLS.items():
            writer = summary.create_file_writer(str(logdir / writers / name))
            with writer.as_default(step=77):
                call(summary)
            writer.close()
    print(json.dumps(list(CALLS)))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
