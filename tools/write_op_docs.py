"""Write the table of operators: names of inputs, a line of documentation, types of outputs.

ONNX, TensorFlow and PyTorch document their operators in different ways; the table is what all of
them have in common. Run it after an update of these packages::

    python -m tools.write_op_docs
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tracklight.analysis.graphs import TABLE_PATH

_MAX_CHARACTERS = 110
#: Framework, operator, inputs, documentation, outputs.
Row = tuple[str, str, str, str, str]
#: How the types of arguments are marked; see `tracklight.analysis.graphs`.
_TORCH_SUFFIXES = {
    "Tensor": "",
    "Optional[Tensor]": "?",
    "List[Tensor]": "*",
    "List[Optional[Tensor]]": "*",
}
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z])")


def main() -> None:
    """Write the table."""
    rows = sorted({*iter_onnx(), *iter_tensorflow(), *iter_torch()})
    lines = ("\t".join(row) for row in rows)
    Path(TABLE_PATH).write_text("\n".join(lines) + "\n", encoding="utf-8")


def shorten(text: str) -> str:
    """Return the first sentence of a docstring as one line without markup."""
    paragraph = text.strip().partition("\n\n")[0]
    plain = re.sub(r":\w+:`~?([^`<]*)[^`]*`", r"\1", " ".join(paragraph.split()))
    plain = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", plain).replace("`", "").replace("*", "")
    sentence = _SENTENCE_END.split(plain, maxsplit=1)[0].strip()
    if len(sentence) <= _MAX_CHARACTERS:
        return sentence
    return sentence[:_MAX_CHARACTERS].rpartition(" ")[0].rstrip(",;:") + " …"


def iter_onnx() -> Iterator[Row]:
    """Yield the newest version of each operator of the standard."""
    import onnx.defs

    for schema in onnx.defs.get_all_schemas():
        if schema.domain in ("", "ai.onnx.ml"):
            variadic = onnx.defs.OpSchema.FormalParameterOption.Variadic
            inputs = ",".join(
                value.name + "*" * (value.option == variadic) for value in schema.inputs
            )
            yield "onnx", schema.name, inputs, shorten(schema.doc or ""), ""


def iter_tensorflow() -> Iterator[Row]:
    """Yield the operators with a Python wrapper."""
    import tensorflow as tf
    from tensorflow.python.framework import op_def_registry

    for name in dir(tf.raw_ops):
        definition = op_def_registry.get(name)
        if definition is None:
            continue
        inputs = ",".join(
            argument.name + "*" * bool(argument.number_attr or argument.type_list_attr)
            for argument in definition.input_arg
        )
        doc = getattr(tf.raw_ops, name).__doc__ or ""
        summary = "" if doc.startswith("TODO") else shorten(doc)
        outputs = ",".join(_format_output(argument) for argument in definition.output_arg)
        yield "tensorflow", name, inputs, summary, outputs


def _format_output(argument: Any) -> str:
    from tensorflow import dtypes

    kind = argument.type_attr or argument.type_list_attr
    if not kind:
        kind = f"={dtypes.as_dtype(argument.type).name}"
    return f"{kind}*{argument.number_attr}" if argument.number_attr else kind


def iter_torch() -> Iterator[Row]:
    """Yield the operators of ATen; of several overloads, the one with the most arguments."""
    import torch

    arguments: dict[str, list[str]] = {}
    for schema in torch._C._jit_get_all_schemas():
        namespace, _, name = schema.name.partition("::")
        if namespace != "aten" or "out" in schema.overload_name:
            continue
        names = [
            argument.name + _TORCH_SUFFIXES.get(str(argument.type), "-")
            for argument in schema.arguments
            if not argument.is_out
        ]
        if len(names) > len(arguments.get(name, [])):
            arguments[name] = names
    homes = (torch, torch.nn.functional, torch.Tensor, torch.special, torch.linalg)
    for name, names in arguments.items():
        plain = name.removesuffix("_") if not name.startswith("__") else name
        docs = (getattr(home, plain, None).__doc__ or "" for home in homes if hasattr(home, plain))
        yield "torch", name, ",".join(names), read_torch_summary(docs), ""


def read_torch_summary(docs: Iterator[str]) -> str:
    """Return the first sentence after the signature."""
    for doc in docs:
        paragraphs = [part for part in doc.strip().split("\n\n") if part.strip()]
        for paragraph in paragraphs:
            text = paragraph.strip()
            if (re.match(r"\w+\(.*\)", text) and "->" in text) or text.startswith(".."):
                continue
            summary = shorten(re.sub(r":\w+:`([^`]*)`", r"\1", text))
            if summary and not re.match(r"\w+\(", summary):
                return summary
    return ""


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        main()
