"""Write the table of operators: names of inputs, a line of documentation, types of outputs.

ONNX, TensorFlow and PyTorch document their operators in different ways; the table is what all of
them have in common. ``op_summaries.tsv`` has lines for operators without documentation. Run it
after an update of these packages::

    python -m tools.write_op_docs
"""

from __future__ import annotations

import functools
import inspect
import re
import warnings
from collections.abc import Iterator, Mapping
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
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z]|torch\.)")
_EMPHASIS = re.compile(r"\*{1,2}(\w[^*]*?)\*{1,2}")
_LATEX_TEXT = re.compile(r"\\(?:text|mathbb|mathrm)\s?\{([^}]*)\}")
_FRACTION = re.compile(r"\\frac\s?\{?([^{}]+?)\}?\s?\{([^{}]+)\}")
_LATEX_SYMBOL = re.compile(r"\\(left\b|right\b|[a-zA-Z]+|[(){}_\\])")
_LATEX_SYMBOLS = {
    **dict.fromkeys(("left", "right", "(", ")", "\\"), ""),
    **{"times": "\N{MULTIPLICATION SIGN}", "geq": "≥", "leq": "≤", "neq": "≠", "otimes": "⊗"},
    **{"lceil": "⌈", "rceil": "⌉", "lfloor": "⌊", "rfloor": "⌋", "rightarrow": "→", "in": "∈"},
}
_ALIAS = re.compile(
    r"(?:Alias (?:for|of)|See|(?:In|Out-of)-place version of|Like)"
    r" (?:torch\.)?(?:Tensor\.|nn\.functional\.)?([\w.]+?)(?:\(\))?\.?"
)
#: Some docstrings have no empty line after the signature.
_SIGNATURE = re.compile(r"[\w.]+\([^\n]*\) *(?:->[^\n]*)?(?:\n|$)")
_DERIVED_NAME = re.compile(
    r"(?P<backward>\w+?)_(?:double_)?backward(?:_\w+)?|(?P<copy>\w+)_copy|_foreach_(?P<foreach>\w+)"
)
_QUANTIZED_PART = re.compile("_(relu|out|dynamic|unpack|prepack)(?![a-z])")
#: Names of implementations of documented operators.
_KERNEL_PREFIX = re.compile("_(?!_)|native_|cudnn_|miopen_|mkldnn_|mps_|slow_|quantized_|unsafe_")
_KERNEL_SUFFIX = re.compile("_helper$")
#: Operators for the tests of PyTorch itself.
_TEST_OPERATOR = re.compile("_test_|_foobar$")


def main() -> None:
    """Write the table."""
    rows = sorted({*iter_onnx(), *iter_tensorflow(), *iter_torch()})
    lines = ("\t".join(row) for row in rows)
    Path(TABLE_PATH).write_text("\n".join(lines) + "\n", encoding="utf-8")


@functools.cache
def read_summaries() -> dict[str, dict[str, str]]:
    """Return what we know of operators that their frameworks do not document."""
    found: dict[str, dict[str, str]] = {}
    path = Path(__file__).with_name("op_summaries.tsv")
    for line in path.read_text(encoding="utf-8").splitlines():
        framework, name, summary = line.split("\t")
        found.setdefault(framework, {})[name] = summary
    return found


def shorten(text: str) -> str:
    """Return the first sentence of a docstring as one line without markup."""
    paragraph = text.strip().partition("\n\n")[0]
    plain = re.sub(r":\w+:`~?([^`<]*)[^`]*`", r"\1", " ".join(paragraph.split()))
    plain = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", plain).replace("`", "")
    plain = re.sub(r"\s?<https?://[^>]*>_", "", plain)
    plain = _EMPHASIS.sub(r"\1", plain.replace("~torch.", "torch."))
    plain = _FRACTION.sub(r"\1 / \2", _LATEX_TEXT.sub(r"\1", plain))
    plain = _LATEX_SYMBOL.sub(lambda match: _LATEX_SYMBOLS.get(match[1], match[1]), plain)
    plain = " ".join(plain.split())
    sentence = re.sub(":$", ".", _SENTENCE_END.split(plain, maxsplit=1)[0].strip())
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
        summary = summary or get_tensorflow_summary(name)
        defaults = {
            attr.name: attr.default_value.type for attr in definition.attr if attr.type == "type"
        }
        outputs = ",".join(_format_output(item, defaults) for item in definition.output_arg)
        yield "tensorflow", name, inputs, summary, outputs


def get_tensorflow_summary(name: str) -> str:
    """Return what is known about an operator without documentation; other versions may have it."""
    from tensorflow import raw_ops

    plain = re.sub(r"V\d+$", "", name).removeprefix("Experimental")
    others = (
        plain,
        *(f"{plain}V{version}" for version in range(2, 5)),
        plain.removeprefix("Batch"),
    )
    docs = (
        getattr(raw_ops, other, None).__doc__ or "" for other in others if hasattr(raw_ops, other)
    )
    documented = (doc for doc in docs if doc.strip() and not doc.startswith("TODO"))
    return read_summaries()["tensorflow"].get(plain) or shorten(next(documented, ""))


def _format_output(argument: Any, defaults: Mapping[str, int]) -> str:
    from tensorflow import dtypes

    kind = argument.type_attr or argument.type_list_attr
    if defaults.get(kind):
        kind += f"={dtypes.as_dtype(defaults[kind]).name}"
    elif not kind:
        kind = f"={dtypes.as_dtype(argument.type).name}"
    return f"{kind}*{argument.number_attr}" if argument.number_attr else kind


def iter_torch() -> Iterator[Row]:
    """Yield the operators of ATen, and those of programs of TorchScript.

    Of several overloads, the one with the most arguments is taken; those of lists, numbers and
    text count only if there is none of tensors.
    """
    import torch

    summaries = read_summaries()["torch"]
    overloads: dict[str, list[Signature]] = {}
    for schema in torch._C._jit_get_all_schemas():
        if schema.name.startswith(("aten::", "quantized::")) and "out" not in schema.overload_name:
            signature = [
                (argument.name + _TORCH_SUFFIXES.get(str(argument.type), "-"), argument.kwarg_only)
                for argument in schema.arguments
                if not argument.is_out
            ]
            if signature:
                overloads.setdefault(schema.name.removeprefix("aten::"), []).append(signature)
    arguments = {name: merge_overloads(lists) for name, lists in overloads.items()}
    for name, names in arguments.items():
        yield "torch", name, ",".join(names), get_torch_summary(name), ""
    for name, summary in summaries.items():
        if name not in arguments:
            yield "torch", name, "", summary, ""


#: Arguments of an operator of PyTorch with their marks, and whether they are only keywords.
Signature = list[tuple[str, bool]]


def merge_overloads(overloads: list[Signature]) -> list[str]:
    """Return the longest list of arguments, with marks where the others have another name."""
    of_tensors = [it for it in overloads if it and not it[0][0].endswith("-")]
    overloads = of_tensors or overloads
    positional = [[name for name, is_keyword in it if not is_keyword] for it in overloads]
    longest: Signature = max(overloads, key=len)
    merged = []
    for position, (name, is_keyword) in enumerate(longest):
        others = {names[position] for names in positional if len(names) > position}
        numbers = {other for other in others if other.endswith("-")}
        is_certain = is_keyword or not name.endswith("-") or len(numbers) == 1
        merged.append(name if is_certain else f"{name[:-1]}~")
    return merged


def get_torch_summary(name: str) -> str:
    """Return a line of documentation of an operator; many are documented under other names."""
    if name in read_summaries()["torch"]:
        return read_summaries()["torch"][name]
    if name.startswith("quantized::"):
        plain = _QUANTIZED_PART.sub("", name.removeprefix("quantized::"))
        summary = get_torch_summary(plain)
        return shorten(f"Quantized: {summary}") if summary else ""
    if not name.startswith("__") and name.endswith("_"):
        in_place = get_torch_summary(name.removesuffix("_"))
        return in_place or read_torch_summary(_iter_torch_docs(name))
    derived = _DERIVED_NAME.fullmatch(name)
    if derived:
        plain = derived["backward"] or derived["copy"] or derived["foreach"]
        template = "Computes a gradient of {}."
        if derived["copy"]:
            template = "Does the same as {}, but returns a copy instead of a view."
        elif derived["foreach"]:
            template = "Applies {} to each tensor of a list."
        return template.format(plain.strip("_"))
    summary = read_torch_summary(_iter_torch_docs(name))
    other = _ALIAS.fullmatch(summary)
    if other:
        target = read_torch_summary(_iter_torch_docs(other[1].replace(".", "_")))
        return summary if _ALIAS.fullmatch(target) else target or summary
    # Of some operators, only the version that changes its input is a method.
    summary = summary or read_torch_summary(_iter_torch_docs(f"{name}_"))
    kernel = _KERNEL_PREFIX.match(name)
    if summary or kernel is None or _TEST_OPERATOR.match(name):
        return summary
    return get_torch_summary(_KERNEL_SUFFIX.sub("", name[kernel.end() :]))


def _iter_torch_docs(name: str) -> Iterator[str]:
    import builtins
    import math

    import torch

    homes = [torch, torch.nn.functional, torch.Tensor, torch.special, torch.linalg]
    group, _, rest = name.partition("_")
    if group in ("fft", "linalg", "special") and rest:
        homes, name = [getattr(torch, group)], rest
    modules = {key.lower(): value for key, value in vars(torch.nn).items()}
    values = [getattr(home, name, None) for home in homes]
    values.append(modules.get(name.replace("_", "")))
    values.extend(getattr(home, name, None) for home in (str, list, dict, math, builtins))
    yield from (value.__doc__ for value in values if getattr(value, "__doc__", None))


def read_torch_summary(docs: Iterator[str]) -> str:
    """Return the first sentence after the signature."""
    for doc in docs:
        paragraphs = [part for part in inspect.cleandoc(doc).split("\n\n") if part.strip()]
        for paragraph in paragraphs:
            text = _SIGNATURE.sub("", paragraph.strip()).strip()
            if re.match(r"[\w.]+\(", text) or text.startswith(("..", "Args:")):
                continue
            summary = shorten(re.sub(r":\w+:`([^`]*)`", r"\1", text))
            if summary:
                return summary
    return ""


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        main()
