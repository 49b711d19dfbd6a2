"""PyTorch programs with and without numerical problems.

Each program trains a few steps under `tracklight.debugger.watch`. `BROKEN` maps a program to what
its root cause must mention: the kind of the alert, and a part of the name or type of the tensor.
"""

from __future__ import annotations

import warnings
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


def nan_in_targets(folder: Path) -> None:
    def get_loss(model: nn.Module, step: int) -> Tensor:
        x, y = make_batch()
        if step == 5:
            y[3] = torch.nan
        return F.mse_loss(model(x), y)

    train(folder, nn.Linear(8, 1), get_loss)


def adam_without_eps(folder: Path) -> None:
    """Adam divides a gradient of 0 by 0."""
    model = nn.Sequential(nn.Linear(8, 4), nn.ReLU(), nn.Linear(4, 1))
    with torch.no_grad():
        model[0].weight.zero_()
        model[0].bias.fill_(-1)
    optimizer = torch.optim.Adam(model.parameters(), 0.01, eps=0)
    train(
        folder,
        model,
        lambda model, step: model(make_batch()[0]).pow(2).mean(),
        optimizer=optimizer,
    )


def angle_of_a_vector_with_itself(folder: Path) -> None:
    def get_loss(model: nn.Module, step: int) -> Tensor:
        y = model(make_batch()[0])
        cosine = F.cosine_similarity(y, y, dim=1)
        return torch.acos(cosine * (1 + 1e-6)).mean()

    train(folder, nn.Linear(8, 4), get_loss)


def logsumexp_of_masked_row(folder: Path) -> None:
    def get_loss(model: nn.Module, step: int) -> Tensor:
        y = model(make_batch()[0])
        is_masked = torch.zeros_like(y, dtype=torch.bool)
        is_masked[step % 16] = step >= 3
        return torch.logsumexp(y.masked_fill(is_masked, -torch.inf), 1).clamp(min=-10).mean()

    train(folder, nn.Linear(8, 4), get_loss)


def std_of_one_sample(folder: Path) -> None:
    def get_loss(model: nn.Module, step: int) -> Tensor:
        y = model(make_batch(16 if step < 4 else 1)[0])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return (y / (y.std(0) + 1e-5)).mean()

    train(folder, nn.Linear(8, 4), get_loss)


def exp_overflow(folder: Path) -> None:
    train(
        folder,
        nn.Linear(8, 4),
        lambda model, step: torch.exp(200 * model(make_batch()[0])).mean(),
    )


def divergence_from_zero_probability(folder: Path) -> None:
    def get_loss(model: nn.Module, step: int) -> Tensor:
        weights = model(torch.randn(16, 4))
        prediction = weights / weights.sum(1, keepdim=True).clamp(min=1e-6)
        target = torch.softmax(torch.randn(16, 8), 1)
        return (target * torch.log(target / prediction)).sum(1).mean()

    train(folder, nn.Sequential(nn.Linear(4, 8), nn.ReLU()), get_loss)


def square_of_a_learned_scale(folder: Path) -> None:
    class Scaled(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(4, 4)
            self.log_scale = nn.Parameter(torch.tensor(80.0))

        def forward(self, x: Tensor) -> Tensor:
            y: Tensor = self.layer(x) * torch.exp(self.log_scale)
            return y

    train(folder, Scaled(), lambda model, step: (model(torch.randn(8, 4)) ** 2).mean())


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
    nan_in_targets: ("nan", "mse_loss argument 1"),
    adam_without_eps: ("nan", "update of"),
    angle_of_a_vector_with_itself: ("nan", "acos"),
    logsumexp_of_masked_row: ("nan", "masked completely"),
    std_of_one_sample: ("nan", "std"),
    exp_overflow: ("inf", "exp"),
    divergence_from_zero_probability: ("inf", "Division by zero"),
    square_of_a_learned_scale: ("inf", "exceed the range of the dtype"),
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


def missing_targets(folder: Path) -> None:
    """NaN marks missing values that the loss leaves out."""

    def get_loss(model: nn.Module, step: int) -> Tensor:
        x, y = make_batch()
        y[::3] = torch.nan
        is_known = ~torch.isnan(y)
        return F.mse_loss(model(x)[is_known], y[is_known])

    train(folder, nn.Linear(8, 1), get_loss)


class Imputation(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(8, 1)

    def forward(self, x: Tensor) -> Tensor:
        return self.linear(torch.nan_to_num(x))


def replaced_nan(folder: Path) -> None:
    def get_loss(model: nn.Module, step: int) -> Tensor:
        x, y = make_batch()
        return F.mse_loss(model(torch.where(x > 2, torch.nan, x)), y)

    train(folder, Imputation(), get_loss)


def contrastive_loss(folder: Path) -> None:
    def get_loss(model: nn.Module, step: int) -> Tensor:
        z = F.normalize(model(torch.randn(16, 8)), dim=1)
        similarity = (z @ z.T / 0.1).masked_fill(torch.eye(16, dtype=torch.bool), -torch.inf)
        return F.cross_entropy(similarity, torch.arange(16).roll(1))

    train(folder, nn.Linear(8, 4), get_loss)


class Autoencoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder, self.decoder = nn.Linear(8, 8), nn.Linear(4, 8)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        mean, log_variance = self.encoder(x).chunk(2, 1)
        z = mean + torch.randn_like(mean) * (log_variance / 2).exp()
        return self.decoder(z), mean, log_variance


def variational_autoencoder(folder: Path) -> None:
    def get_loss(model: nn.Module, step: int) -> Tensor:
        x, _ = make_batch()
        y, mean, log_variance = model(x)
        divergence = 1 + log_variance - mean**2 - log_variance.exp()
        return F.mse_loss(y, x) - divergence.mean() / 2

    train(folder, Autoencoder(), get_loss)


def bfloat16(folder: Path) -> None:
    model = nn.Sequential(nn.Linear(8, 32), nn.GELU(), nn.LayerNorm(32), nn.Linear(32, 1))

    def get_loss(model: nn.Module, step: int) -> Tensor:
        x, y = make_batch()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            output = model(x)
        return F.mse_loss(output.float(), y)

    train(folder, model, get_loss, optimizer=torch.optim.AdamW(model.parameters(), 1e-3))


def frozen_layer(folder: Path) -> None:
    model = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 1))
    model[0].requires_grad_(False)

    def get_loss(model: nn.Module, step: int) -> Tensor:
        x, y = make_batch()
        return F.mse_loss(model(x), y)

    train(folder, model, get_loss, optimizer=torch.optim.SGD(model[2].parameters(), 0.01))


def residual_scale_from_zero(folder: Path) -> None:
    """Gradients of the blocks are zero at first."""

    class Residual(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.blocks = nn.ModuleList(nn.Linear(8, 8) for _ in range(3))
            self.scale = nn.Parameter(torch.zeros(3))

        def forward(self, x: Tensor) -> Tensor:
            for index, block in enumerate(self.blocks):
                x = x + self.scale[index] * torch.relu(block(x))
            return x.mean(1, keepdim=True)

    def get_loss(model: nn.Module, step: int) -> Tensor:
        x, y = make_batch()
        return F.mse_loss(model(x), y)

    train(folder, Residual(), get_loss, lr=0.05)


def recurrent_with_clipping(folder: Path) -> None:
    class Counter(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.gru = nn.GRU(4, 16, 2, batch_first=True)
            self.head = nn.Linear(16, 1)

        def forward(self, x: Tensor) -> Tensor:
            y: Tensor = self.head(self.gru(x)[0][:, -1])
            return y

    class ClippedAdam(torch.optim.Adam):
        def step(self, closure: Any = None) -> Any:
            parameters = [it for group in self.param_groups for it in group["params"]]
            nn.utils.clip_grad_norm_(parameters, 0.5)
            return super().step(closure)

    def get_loss(model: nn.Module, step: int) -> Tensor:
        x = torch.randn(8, 30, 4)
        return F.mse_loss(model(x), x.sum((1, 2)).unsqueeze(1) / 10)

    model = Counter()
    train(folder, model, get_loss, optimizer=ClippedAdam(model.parameters(), 1e-2))


HEALTHY: tuple[Program, ...] = (
    mlp,
    convolutions,
    lstm,
    causal_transformer,
    mixed_precision,
    gan_with_two_backward_passes,
    missing_targets,
    replaced_nan,
    contrastive_loss,
    variational_autoencoder,
    bfloat16,
    frozen_layer,
    residual_scale_from_zero,
    recurrent_with_clipping,
)
