"""Two language models that learn to tell stories: samples that come to make sense step by step."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tracklight.demo.eventfile import EventFile
from tracklight.demo.transformer import build_graph
from tracklight.formats import summary

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
class _Model:
    name: str
    layers: int
    width: int
    #: The steps in which it forgets about two thirds of its mistakes.
    pace: float
    left: float

    @property
    def parameters(self) -> int:
        return 12 * self.layers * self.width**2


_MODELS = (_Model("small", 4, 128, 1400, 0.05), _Model("large", 8, 256, 900, 0.01))


def write_storyteller(folder: Path, *, seed: int, now: float) -> None:
    for number, model in enumerate(_MODELS):
        rng = np.random.default_rng([seed, 401 + number])
        started = now - _STEPS * _SECONDS_PER_STEP - 300 * (2 - number)
        with EventFile(folder / model.name, started) as file:
            file.log(started, 0, summary.text("model_card", _describe(model)))
            file.log_graph(started + 1, build_graph(layers=model.layers, width=model.width))
            for step in range(0, _STEPS + 1, _STEPS_PER_POINT):
                _log_step(file, model, step, started + 20 + step * _SECONDS_PER_STEP, rng)


def _log_step(
    file: EventFile, model: _Model, step: int, wall_time: float, rng: np.random.Generator
) -> None:
    mistakes = model.left + (1 - model.left) * np.exp(-step / model.pace)
    loss = 1.2 + 3.0 * mistakes + rng.normal(0, 0.03)
    file.log(wall_time, step, summary.scalar("loss", loss))
    if step % _STEPS_PER_SAMPLE == 0:
        file.log(
            wall_time,
            step,
            summary.text("samples/story", _tell(mistakes, float(loss), rng)),
            summary.text(
                "samples/temperatures",
                [_sample(mistakes, prompt, rng) for prompt in range(2)],
                description="Rows are prompts, columns temperatures of 0.2, 0.7 and 1.",
            ),
        )


def _tell(mistakes: float, loss: float, rng: np.random.Generator) -> str:
    """What the model makes of each prompt, as Markdown."""
    story, answer, code = (_garble(text, mistakes, rng) for text in _STORIES)
    return (
        f"### {_PROMPTS[0]}\n\n{story}\n\n"
        f"### {_PROMPTS[1]}\n\n> {answer}\n\n"
        f"### Finish the function\n\n```python\n{code}\n```\n\n"
        f"Perplexity $e^{{{loss:.2f}}} \\approx {np.exp(loss):.1f}$"
    )


def _sample(mistakes: float, prompt: int, rng: np.random.Generator) -> list[str]:
    first = _STORIES[prompt].partition(".")[0] + "."
    return [
        _garble(first, min(1.0, mistakes * (0.4 + heat)), rng) + (" `</s>`" if heat < 1 else "")
        for heat in _TEMPERATURES
    ]


def _garble(text: str, mistakes: float, rng: np.random.Generator) -> str:
    """Letters that are wrong with a chance; who makes fewer mistakes gets whole words right."""
    words = []
    for word in text.split(" "):
        wrong = rng.random() < mistakes
        words.append(_misspell(word, mistakes, rng) if wrong else word)
    return " ".join(words)


def _misspell(word: str, mistakes: float, rng: np.random.Generator) -> str:
    swapped = rng.random(len(word)) < 0.35 + 0.65 * mistakes
    others = rng.choice(_LETTERS, len(word))
    letters = zip(word, swapped, others, strict=True)
    return "".join(o if swap and old.isalpha() else old for old, swap, o in letters)


def _describe(model: _Model) -> str:
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

and what is minimised is the mean of $-\\log p(x_t \\mid x_{{<t}})$ over a batch.

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

> It makes things up. **Do not ask it for directions at sea.**
"""
