"""The functions of ``tf.summary`` in TensorFlow 2.21, with their arguments and defaults."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

SIGNATURES = {
    "SummaryWriter.as_default": "(self, step=None)",
    "SummaryWriter.close": "(self)",
    "SummaryWriter.flush": "(self)",
    "SummaryWriter.init": "(self)",
    "SummaryWriter.set_as_default": "(self, step=None)",
    "audio": "(name, data, sample_rate, step=None, max_outputs=3, encoding=None, description=None)",
    "create_file_writer": (
        "(logdir, max_queue=None, flush_millis=None, filename_suffix=None, name=None, "
        "experimental_trackable=False, experimental_mesh=None)"
    ),
    "create_noop_writer": "()",
    "experimental.get_step": "()",
    "experimental.set_step": "(step)",
    "experimental.summary_scope": "(name, default_name='summary', values=None)",
    "experimental.write_raw_pb": "(tensor, step=None, name=None)",
    "flush": "(writer=None, name=None)",
    "graph": "(graph_data)",
    "histogram": "(name, data, step=None, buckets=None, description=None)",
    "image": "(name, data, step=None, max_outputs=3, description=None)",
    "record_if": "(condition)",
    "scalar": "(name, data, step=None, description=None)",
    "should_record_summaries": "()",
    "text": "(name, data, step=None, description=None)",
    "trace_export": "(name, step=None, profiler_outdir=None)",
    "trace_off": "()",
    "trace_on": "(graph=True, profiler=False, profiler_outdir=None)",
    "write": "(tag, tensor, step=None, metadata=None, name=None)",
}


def iter_functions(api: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the public functions of a module, and those of the classes and modules in it."""
    for name in dir(api):
        if name.startswith("_"):
            continue
        member = getattr(api, name)
        if inspect.isclass(member) or inspect.ismodule(member):
            yield from iter_functions(member, f"{prefix}{name}.")
        elif callable(member):
            yield f"{prefix}{name}", member


def format_parameters(function: Any, count: int | None = None) -> str:
    """Return the first ``count`` parameters without annotations, as `SIGNATURES` has them."""
    parameters = list(inspect.signature(function).parameters.values())[:count]
    plain = [each.replace(annotation=inspect.Parameter.empty) for each in parameters]
    return str(inspect.Signature(plain))
