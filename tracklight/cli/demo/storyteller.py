"""Two language models that learn to tell stories: text samples, and the graph of a transformer.

The graph is that of a decoder-only transformer as PyTorch logs it: operations in modules.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tracklight.cli.demo.writers import EventFile, GraphBuilder
from tracklight.formats import proto, summary
from tracklight.formats.proto import Message
from tracklight.formats.tensor import DType

_VOCABULARY_SIZE, _CONTEXT, _BATCH, _HEAD = 96, 512, 16, 32


def build_transformer_graph(*, layers: int, width: int) -> Message:
    """Return the graph of a decoder-only transformer."""
    builder = _TransformerBuilder(width)
    letters = builder.add("input/letters", "IO Node", (), (_BATCH, _CONTEXT), dtype=DType.INT64)
    flow = builder.embed(letters)
    for layer in range(layers):
        flow = builder.add_block(f"Storyteller/ModuleList[blocks]/Block[{layer}]", flow)
    flow = builder.normalize("Storyteller/LayerNorm[norm]", flow, 33)
    sizes = (width, _VOCABULARY_SIZE)
    logits = builder.project("Storyteller/Linear[head]", flow, sizes, 34)
    builder.add("output/output.1", "IO Node", [logits], (_BATCH, _CONTEXT, _VOCABULARY_SIZE))
    return builder.graph()


class _TransformerBuilder(GraphBuilder):
    """Adds the modules of a transformer; each operation has a line of its source file."""

    def __init__(self, width: int) -> None:
        super().__init__(device="")
        self._width = width
        self._shape = (_BATCH, _CONTEXT, width)

    def embed(self, letters: str) -> str:
        scope = "Storyteller/Embedding[letters]"
        table = self._parameter(f"{scope}/weight", (_VOCABULARY_SIZE, self._width))
        tokens = self._run(f"{scope}/embedding", [table, letters], self._shape, 28)
        positions = self._parameter("Storyteller/positions", (1, _CONTEXT, self._width))
        return self._run("Storyteller/add", [tokens, positions], self._shape, 29)

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
        normalized = self.normalize(f"{scope}/LayerNorm[norm1]", flow, 15)
        heads = (_BATCH, self._width // _HEAD, _CONTEXT, _HEAD)
        parts = []
        for name in ("query", "key", "value"):
            sizes = (self._width, self._width)
            part = self.project(f"{inside}/Linear[{name}]", normalized, sizes, 7)
            part = self._run(f"{inside}/view_{name}", [part], _swap(heads), 7, f"size={heads}")
            parts.append(
                self._run(f"{inside}/transpose_{name}", [part], heads, 7, "dim0=1, dim1=2")
            )
        op = "scaled_dot_product_attention"
        attended = self._run(f"{inside}/{op}", parts, heads, 8, "is_causal=True, dropout_p=0.1")
        attended = self._run(f"{inside}/transpose", [attended], _swap(heads), 9, "dim0=1, dim1=2")
        attended = self._run(f"{inside}/reshape", [attended], self._shape, 9)
        sizes = (self._width, self._width)
        attended = self.project(f"{inside}/Linear[output]", attended, sizes, 9)
        return self._run(f"{scope}/add", [flow, attended], self._shape, 15)

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


# --- Runs ---

_STEPS = 6000
_STEPS_PER_POINT = 100
_STEPS_PER_SAMPLE = 300
_SECONDS_PER_STEP = 0.9
_LETTERS = list("etaoinshrdlucmfwypvbgk")
_TEMPERATURES = (0.2, 0.7, 1.0)
_PROMPTS = ("The lighthouse keeper", "Why is the sea salt?", "def area(radius):")

_STORIES = (
    "The lighthouse keeper counted ships instead of sheep. On the night of the great fog he"
    " counted none, and so he rang the old bell until his arms were tired. In the morning seven"
    " boats lay in the harbour, and nobody could say who had shown them the way.",
    "The sea is salt because rivers carry a little of every stone that they pass. The water leaves"
    " again as clouds, the salt does not, and so the sea keeps a taste of all mountains.",
    'def area(radius):\n    """The area of a circle."""\n    return math.pi * radius**2',
)


@dataclass(frozen=True)
class _LanguageModel:
    name: str
    layers: int
    width: int
    #: Steps in which the error rate falls by 63 %.
    time_constant: float
    #: Error rate at the end.
    final_error: float

    @property
    def parameters(self) -> int:
        return 12 * self.layers * self.width**2


_MODELS = (_LanguageModel("small", 4, 128, 1400, 0.05), _LanguageModel("large", 8, 256, 900, 0.01))


def write_storyteller(folder: Path, *, seed: int, now: float) -> None:
    for number, model in enumerate(_MODELS):
        rng = np.random.default_rng([seed, 401 + number])
        started = now - _STEPS * _SECONDS_PER_STEP - 300 * (2 - number)
        with EventFile(folder / model.name, started) as file:
            file.log(started, 0, summary.text("model_card", _format_model_card(model)))
            file.log_graph(
                started + 1, build_transformer_graph(layers=model.layers, width=model.width)
            )
            for step in range(0, _STEPS + 1, _STEPS_PER_POINT):
                _log_step(file, model, step, started + 20 + step * _SECONDS_PER_STEP, rng)


def _log_step(
    file: EventFile, model: _LanguageModel, step: int, wall_time: float, rng: np.random.Generator
) -> None:
    error_rate = model.final_error + (1 - model.final_error) * np.exp(-step / model.time_constant)
    loss = 1.2 + 3.0 * error_rate + rng.normal(0, 0.03)
    file.log(wall_time, step, summary.scalar("loss", loss))
    if step % _STEPS_PER_SAMPLE == 0:
        file.log(
            wall_time,
            step,
            summary.text("samples/story", _format_samples(error_rate, float(loss), rng)),
            summary.text(
                "samples/temperatures",
                [_sample_temperatures(error_rate, prompt, rng) for prompt in range(2)],
                description="Rows are prompts, columns temperatures of 0.2, 0.7 and 1.",
            ),
        )


def _format_samples(error_rate: float, loss: float, rng: np.random.Generator) -> str:
    """Return the completions of all prompts as Markdown."""
    story, answer, code = (_garble(text, error_rate, rng) for text in _STORIES)
    return (
        f"### {_PROMPTS[0]}\n\n{story}\n\n"
        f"### {_PROMPTS[1]}\n\n> {answer}\n\n"
        f"### Finish the function\n\n```python\n{code}\n```\n\n"
        f"Perplexity $e^{{{loss:.2f}}} \\approx {np.exp(loss):.1f}$"
    )


def _sample_temperatures(error_rate: float, prompt: int, rng: np.random.Generator) -> list[str]:
    first = _STORIES[prompt].partition(".")[0] + "."
    return [
        _garble(first, min(1.0, error_rate * (0.4 + temperature)), rng)
        + (" `</s>`" if temperature < 1 else "")
        for temperature in _TEMPERATURES
    ]


def _garble(text: str, error_rate: float, rng: np.random.Generator) -> str:
    """Misspell words with a probability of ``error_rate``."""
    words = []
    for word in text.split(" "):
        wrong = rng.random() < error_rate
        words.append(_misspell(word, error_rate, rng) if wrong else word)
    return " ".join(words)


def _misspell(word: str, error_rate: float, rng: np.random.Generator) -> str:
    swapped = rng.random(len(word)) < 0.35 + 0.65 * error_rate
    others = rng.choice(_LETTERS, len(word))
    letters = zip(word, swapped, others, strict=True)
    return "".join(o if swap and old.isalpha() else old for old, swap, o in letters)


def _format_model_card(model: _LanguageModel) -> str:
    return f"""\
# Storyteller, {model.name}

A decoder-only transformer that learns to tell short stories, one letter at a time.

| | |
|:--|--:|
| layers | {model.layers} |
| width | {model.width} |
| heads | {model.width // 32} |
| parameters | {model.parameters / 1e6:.1f} M |
| context | 512 letters |
| steps | {_STEPS:,} |

## What it does

Each of its {model.layers} layers attends to all letters before:

$$
\\operatorname{{attention}}(Q, K, V) = \\operatorname{{softmax}}
\\left( \\frac{{Q K^\\top}}{{\\sqrt{{d_k}}}} \\right) V, \\qquad d_k = 32
$$

and the loss is the mean of $-\\log p(x_t \\mid x_{{<t}})$ over a batch.

## How it is trained

```python
for step, batch in enumerate(loader):
    loss = model(batch[:, :-1], targets=batch[:, 1:])  # teacher forcing
    loss.backward()
    clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
```

- [x] cosine schedule, {300 if model.layers < 8 else 600} steps of warm-up
- [x] dropout 0.1
- [ ] longer contexts

> It hallucinates. **Do not ask it for directions at sea.**
"""
