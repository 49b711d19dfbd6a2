"""A decoder-only transformer as PyTorch would log it: operations inside of their modules."""

from __future__ import annotations

from collections.abc import Sequence

from tracklight.demo.graph_builder import GraphBuilder
from tracklight.formats import proto
from tracklight.formats.proto import Message
from tracklight.formats.tensor import DType

_LETTERS, _CONTEXT, _BATCH, _HEAD = 96, 512, 16, 32


def build_graph(*, layers: int, width: int) -> Message:
    drawing = _Drawing(width)
    letters = drawing.add("input/letters", "IO Node", (), (_BATCH, _CONTEXT), dtype=DType.INT64)
    flow = drawing.embed(letters)
    for layer in range(layers):
        flow = drawing.add_block(f"Storyteller/ModuleList[blocks]/Block[{layer}]", flow)
    flow = drawing.normalize("Storyteller/LayerNorm[norm]", flow, 33)
    sizes = (width, _LETTERS)
    logits = drawing.project("Storyteller/Linear[head]", flow, sizes, 34)
    drawing.add("output/output.1", "IO Node", [logits], (_BATCH, _CONTEXT, _LETTERS))
    return drawing.graph()


class _Drawing(GraphBuilder):
    """Modules of a transformer of some width; each names its line in the program."""

    def __init__(self, width: int) -> None:
        super().__init__(device="")
        self._width = width
        self._shape = (_BATCH, _CONTEXT, width)

    def embed(self, letters: str) -> str:
        scope = "Storyteller/Embedding[letters]"
        table = self._parameter(f"{scope}/weight", (_LETTERS, self._width))
        tokens = self._run(f"{scope}/embedding", [table, letters], self._shape, 28)
        places = self._parameter("Storyteller/positions", (1, _CONTEXT, self._width))
        return self._run("Storyteller/add", [tokens, places], self._shape, 29)

    def add_block(self, scope: str, flow: str) -> str:
        flow = self._attend(scope, flow)
        inside = self.normalize(f"{scope}/LayerNorm[norm2]", flow, 16)
        widths = (self._width, 4 * self._width)
        inside = self.project(f"{scope}/Sequential[mlp]/Linear[0]", inside, widths, 16)
        wide = (*self._shape[:2], widths[1])
        inside = self._run(f"{scope}/Sequential[mlp]/GELU[1]/gelu", [inside], wide, 16)
        inside = self.project(f"{scope}/Sequential[mlp]/Linear[2]", inside, widths[::-1], 16)
        return self._run(f"{scope}/add_1", [flow, inside], self._shape, 16)

    def normalize(self, scope: str, flow: str, line: int) -> str:
        parts = [self._parameter(f"{scope}/{part}", (self._width,)) for part in ("weight", "bias")]
        detail = f"normalized_shape=[{self._width}], eps=1e-05"
        return self._run(f"{scope}/layer_norm", [flow, *parts], self._shape, line, detail)

    def project(self, scope: str, flow: str, sizes: tuple[int, ...], line: int) -> str:
        weight = self._parameter(f"{scope}/weight", sizes[::-1])
        bias = self._parameter(f"{scope}/bias", sizes[1:])
        shape = (*self._shape[:2], sizes[1])
        return self._run(f"{scope}/linear", [flow, weight, bias], shape, line)

    def _attend(self, scope: str, flow: str) -> str:
        inside = f"{scope}/Attention[attention]"
        given = self.normalize(f"{scope}/LayerNorm[norm1]", flow, 15)
        heads = (_BATCH, self._width // _HEAD, _CONTEXT, _HEAD)
        parts = []
        for name in ("query", "key", "value"):
            sizes = (self._width, self._width)
            part = self.project(f"{inside}/Linear[{name}]", given, sizes, 7)
            part = self._run(f"{inside}/view_{name}", [part], _swap(heads), 7, f"size={heads}")
            parts.append(
                self._run(f"{inside}/transpose_{name}", [part], heads, 7, "dim0=1, dim1=2")
            )
        op = "scaled_dot_product_attention"
        flowing = self._run(f"{inside}/{op}", parts, heads, 8, "is_causal=True, dropout_p=0.1")
        flowing = self._run(f"{inside}/transpose", [flowing], _swap(heads), 9, "dim0=1, dim1=2")
        flowing = self._run(f"{inside}/reshape", [flowing], self._shape, 9)
        sizes = (self._width, self._width)
        flowing = self.project(f"{inside}/Linear[output]", flowing, sizes, 9)
        return self._run(f"{scope}/add", [flow, flowing], self._shape, 15)

    def _parameter(self, name: str, shape: tuple[int, ...]) -> str:
        return self.add(name, "Parameter", (), shape)

    def _run(
        self, name: str, inputs: Sequence[str], shape: tuple[int, ...], line: int, detail: str = ""
    ) -> str:
        own = name.rpartition("/")[2]
        op = own if own.startswith(("scaled", "layer")) else own.partition("_")[0]
        attrs = {
            "attr": proto.AttrValue(s=detail.encode()),
            "source": proto.AttrValue(s=f"storyteller.py:{line} in forward".encode()),
        }
        return self.add(name, f"aten::{op}", inputs, shape, attrs=attrs)


def _swap(heads: tuple[int, ...]) -> tuple[int, ...]:
    return heads[0], heads[2], heads[1], heads[3]
