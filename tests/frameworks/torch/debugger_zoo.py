"""PyTorch programs with and without numerical problems.

Each program trains a few steps under `tracklight.debugger.watch`. `BROKEN` maps a program to what
its root cause must mention: the kind of the alert, and a part of the name or type of the tensor.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from tracklight.debugger import watch

Program = Callable[[Path], None]
STEPS = 25


def train(
    folder: Path,
    model: nn.Module,
    get_loss: Callable[[nn.Module, int], Tensor],
    *,
    lr: float = 0.01,
    steps: int = STEPS,
    optimizer: Any = None,
    **options: Any,
) -> None:
    optimizer = optimizer or torch.optim.SGD(model.parameters(), lr)
    with watch(model, folder, first=steps, **options) as watcher:
        for step in range(steps):
            optimizer.zero_grad()
            get_loss(model, step).backward()
            optimizer.step()
            watcher.step()


def make_batch(size: int = 16, features: int = 8) -> tuple[Tensor, Tensor]:
    x = torch.randn(size, features)
    return x, x.sum(1, keepdim=True)


# --- Broken programs ------------------------------------------------------------------------------


class LogModel(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(8, 4)

    def forward(self, x: Tensor) -> Tensor:
        return torch.log(torch.relu(self.linear(x)))


def log_of_zero(folder: Path) -> None:
    train(folder, LogModel(), lambda model, step: model(make_batch()[0]).mean())


class ZeroVariance(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(8, 4)

    def forward(self, x: Tensor) -> Tensor:
        y = self.linear(x)
        centered = y - y.mean(0)
        return centered / centered.std(0, correction=0)


def zero_variance_norm(folder: Path) -> None:
    """A batch of one sample has no variance."""
    sizes = [16, 16, 16, 1]
    train(
        folder,
        ZeroVariance(),
        lambda model, step: model(make_batch(sizes[min(step, 3)])[0]).pow(2).mean(),
    )


class WildRnn(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.Linear(8, 8)
        nn.init.normal_(self.cell.weight, std=20.0)

    def forward(self, x: Tensor) -> Tensor:
        for _ in range(40):
            x = self.cell(x)
        return x


def exploding_rnn(folder: Path) -> None:
    train(folder, WildRnn(), lambda model, step: model(make_batch()[0]).mean())


class HalfAttention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.query = nn.Linear(64, 64)
        self.key = nn.Linear(64, 64)

    def forward(self, x: Tensor) -> Tensor:
        query, key = self.query(x) * 40, self.key(x) * 40
        scores = torch.matmul(query, key.transpose(-1, -2))
        return torch.softmax(scores, -1) @ x


def half_attention(folder: Path) -> None:
    model = HalfAttention().half()
    x = torch.randn(2, 16, 64).half() * 4
    train(folder, model, lambda model, step: model(x).float().mean())


def bad_learning_rate(folder: Path) -> None:
    model = nn.Sequential(nn.Linear(8, 32), nn.Linear(32, 32), nn.Linear(32, 1))

    def get_loss(model: nn.Module, step: int) -> Tensor:
        x, y = make_batch()
        return F.mse_loss(model(x), y)

    train(folder, model, get_loss, lr=30.0)


def nan_in_data(folder: Path) -> None:
    def get_loss(model: nn.Module, step: int) -> Tensor:
        x, y = make_batch()
        if step == 7:
            x[3, 2] = float("nan")
        return F.mse_loss(model(x), y)

    train(folder, nn.Sequential(nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 1)), get_loss)


class MaskedSoftmax(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(8, 8)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        scores = self.linear(x).masked_fill(mask, float("-inf"))
        return torch.softmax(scores, -1)


def empty_mask_row(folder: Path) -> None:
    def get_loss(model: nn.Module, step: int) -> Tensor:
        mask = torch.zeros(16, 8, dtype=torch.bool)
        mask[:, 5:] = True
        if step >= 4:
            mask[3] = True
        return (model(make_batch()[0], mask) ** 2).mean()

    train(folder, MaskedSoftmax(), get_loss)


class Distance(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(8, 8)

    def forward(self, x: Tensor) -> Tensor:
        y = self.linear(x)
        return torch.sqrt(((y[:, None] - y[None]) ** 2).sum(-1))


def sqrt_gradient(folder: Path) -> None:
    """The distance of a point to itself is 0, where sqrt has no gradient."""
    train(folder, Distance(), lambda model, step: model(make_batch()[0]).mean())


class WhereTrap(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(8, 8)

    def forward(self, x: Tensor) -> Tensor:
        y = torch.relu(self.linear(x))
        return torch.where(y > 0, torch.log(y), torch.zeros_like(y))


def where_trap(folder: Path) -> None:
    train(folder, WhereTrap(), lambda model, step: model(make_batch()[0]).mean())


def dead_relu(folder: Path) -> None:
    model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1))
    with torch.no_grad():
        model[0].bias.fill_(-100.0)

    def get_loss(model: nn.Module, step: int) -> Tensor:
        x, y = make_batch()
        return F.mse_loss(model(x), y)

    train(folder, model, get_loss)


def bad_embedding_row(folder: Path) -> None:
    model = nn.Sequential(nn.Embedding(10, 8), nn.Linear(8, 1))
    with torch.no_grad():
        model[0].weight[7] = float("inf")

    def get_loss(model: nn.Module, step: int) -> Tensor:
        tokens = torch.randint(0, 7, (16,))
        if step == 5:
            tokens[0] = 7
        return model(tokens).pow(2).mean()

    train(folder, model, get_loss)


class DeepSigmoid(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        layers = [layer for _ in range(12) for layer in (nn.Linear(16, 16), nn.Sigmoid())]
        self.layers = nn.Sequential(nn.Linear(8, 16), *layers, nn.Linear(16, 1))

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.layers(x)
        return y


def vanishing_gradient(folder: Path) -> None:
    def get_loss(model: nn.Module, step: int) -> Tensor:
        x, y = make_batch()
        return F.mse_loss(model(x), y)

    train(folder, DeepSigmoid(), get_loss)


def division_by_zero_norm(folder: Path) -> None:
    """A sample of zeros has no direction."""

    class Normalize(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(8, 1)

        def forward(self, x: Tensor) -> Tensor:
            y: Tensor = self.linear(x / x.norm(dim=1, keepdim=True))
            return y

    def get_loss(model: nn.Module, step: int) -> Tensor:
        x, y = make_batch()
        if step == 3:
            x[0] = 0
        return F.mse_loss(model(x), y)

    train(folder, Normalize(), get_loss)


def collapsing_loss_scale(folder: Path) -> None:
    model = nn.Linear(8, 1)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**16, growth_interval=1000)
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    with watch(model, folder, first=STEPS) as watcher:
        for step in range(STEPS):
            x, y = make_batch()
            optimizer.zero_grad()
            output = model(x)
            loss = F.mse_loss(output, y)
            if step >= 5:
                # The gradient is infinite although the loss is finite.
                loss = loss + (output * 0).abs().sum().sqrt()
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            watcher.step()


BROKEN: dict[Program, tuple[str, str]] = {
    log_of_zero: ("inf", "log"),
    zero_variance_norm: ("nan", "div"),
    exploding_rnn: ("inf", "Linear"),
    half_attention: ("inf", "matmul"),
    bad_learning_rate: ("inf", "learning rate"),
    nan_in_data: ("nan", "input"),
    empty_mask_row: ("nan", "softmax"),
    sqrt_gradient: ("inf", "sqrt backward"),
    where_trap: ("inf", "log"),
    dead_relu: ("dead_units", "ReLU"),
    bad_embedding_row: ("inf", "parameter"),
    vanishing_gradient: ("vanishing_gradient", "layers.0"),
    division_by_zero_norm: ("nan", "div"),
    collapsing_loss_scale: ("loss_scale", "skipped"),
}


# --- Healthy programs -----------------------------------------------------------------------------


def mlp(folder: Path) -> None:
    model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Dropout(0.2), nn.Linear(32, 1))

    def get_loss(model: nn.Module, step: int) -> Tensor:
        x, y = make_batch()
        return F.mse_loss(model(x), y)

    train(folder, model, get_loss)


def convolutions(folder: Path) -> None:
    model = nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1),
        nn.BatchNorm2d(8),
        nn.ReLU(inplace=True),
        nn.MaxPool2d(2),
        nn.Conv2d(8, 16, 3, padding=1),
        nn.BatchNorm2d(16),
        nn.ReLU(inplace=True),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(16, 4),
    )

    def get_loss(model: nn.Module, step: int) -> Tensor:
        x = torch.randn(8, 3, 16, 16)
        return F.cross_entropy(model(x), torch.randint(0, 4, (8,)))

    train(folder, model, get_loss)


def lstm(folder: Path) -> None:
    class Reader(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed = nn.Embedding(20, 8)
            self.lstm = nn.LSTM(8, 16, batch_first=True)
            self.head = nn.Linear(16, 20)

        def forward(self, tokens: Tensor) -> Tensor:
            states, _ = self.lstm(self.embed(tokens))
            y: Tensor = self.head(states)
            return y

    def get_loss(model: nn.Module, step: int) -> Tensor:
        tokens = torch.randint(0, 20, (4, 12))
        return F.cross_entropy(model(tokens)[:, :-1].flatten(0, 1), tokens[:, 1:].flatten())

    train(folder, Reader(), get_loss)


def causal_transformer(folder: Path) -> None:
    """A mask of -Inf is not a problem."""
    layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True, dropout=0.1)
    mask = nn.Transformer.generate_square_subsequent_mask(10)
    train(folder, layer, lambda model, step: model(torch.randn(4, 10, 16), mask).pow(2).mean())


def mixed_precision(folder: Path) -> None:
    """Skipped steps of a GradScaler are not alarms."""
    model = nn.Sequential(nn.Linear(8, 32), nn.GELU(), nn.Linear(32, 1))
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**127, growth_interval=1000)
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    with watch(model, folder, first=STEPS) as watcher:
        for _ in range(STEPS):
            x, y = make_batch()
            optimizer.zero_grad()
            with torch.autocast("cpu", torch.bfloat16):
                loss = F.mse_loss(model(x).float(), y * 30)
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update(2.0**16 if scaler.get_scale() > 2.0**100 else None)
            watcher.step()


def gan_with_two_backward_passes(folder: Path) -> None:
    model = nn.Sequential(nn.Linear(8, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))

    def get_loss(model: nn.Module, step: int) -> Tensor:
        real, fake = torch.randn(8, 8) + 1, torch.randn(8, 8)
        return F.softplus(-model(real)).mean() + F.softplus(model(fake)).mean()

    train(folder, model, get_loss)


HEALTHY: tuple[Program, ...] = (
    mlp,
    convolutions,
    lstm,
    causal_transformer,
    mixed_precision,
    gan_with_two_backward_passes,
)
