"""Small versions of well-known architectures in PyTorch, for ``make.py``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class LeNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 6, 5, padding=2), nn.Conv2d(6, 16, 5)
        self.fc1, self.fc2 = nn.Linear(400, 120), nn.Linear(120, 84)
        self.fc3 = nn.Linear(84, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = F.avg_pool2d(torch.tanh(self.conv1(x)), 2)
        x = F.avg_pool2d(torch.tanh(self.conv2(x)), 2)
        x = torch.flatten(x, 1)
        return self.fc3(torch.tanh(self.fc2(torch.tanh(self.fc1(x)))))


class ResidualBlock(nn.Module):
    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn1, self.bn2 = nn.BatchNorm2d(outputs), nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.down: nn.Module = nn.Identity()
        if stride != 1 or inputs != outputs:
            shortcut = nn.Conv2d(inputs, outputs, 1, stride, bias=False)
            self.down = nn.Sequential(shortcut, nn.BatchNorm2d(outputs))

    def forward(self, x: Tensor) -> Tensor:
        y = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
        return F.relu(y + self.down(x))


def make_resnet18(width: int = 8) -> nn.Module:
    stem = [nn.Conv2d(3, width, 7, 2, 3, bias=False), nn.BatchNorm2d(width), nn.ReLU(inplace=True)]
    layers: list[nn.Module] = [*stem, nn.MaxPool2d(3, 2, 1)]
    inputs = width
    for stage in range(4):
        outputs = width << stage
        layers.append(ResidualBlock(inputs, outputs, 2 if stage else 1))
        layers.append(ResidualBlock(outputs, outputs, 1))
        inputs = outputs
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inputs, 10))


class SqueezeExcite(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.reduce = nn.Conv2d(channels, channels // 4, 1)
        self.expand = nn.Conv2d(channels // 4, channels, 1)

    def forward(self, x: Tensor) -> Tensor:
        scale = self.expand(F.relu(self.reduce(x.mean((2, 3), keepdim=True))))
        return x * torch.sigmoid(scale)


class InvertedResidual(nn.Module):
    def __init__(self, inputs: int, outputs: int, expansion: int, stride: int) -> None:
        super().__init__()
        hidden = inputs * expansion
        self.skip = stride == 1 and inputs == outputs
        self.layers = nn.Sequential(
            nn.Conv2d(inputs, hidden, 1, bias=False),
            nn.BatchNorm2d(hidden),
            nn.Hardswish(),
            nn.Conv2d(hidden, hidden, 3, stride, 1, groups=hidden, bias=False),
            nn.BatchNorm2d(hidden),
            nn.Hardswish(),
            SqueezeExcite(hidden),
            nn.Conv2d(hidden, outputs, 1, bias=False),
            nn.BatchNorm2d(outputs),
        )

    def forward(self, x: Tensor) -> Tensor:
        return x + self.layers(x) if self.skip else self.layers(x)


def make_mobilenet_v3() -> nn.Module:
    blocks = [InvertedResidual(8, 8, 2, 1), InvertedResidual(8, 16, 4, 2)]
    last = InvertedResidual(16, 16, 4, 1)
    head = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 5)]
    return nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), *blocks, last, *head)


class UNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.down1, self.down2 = self._make_block(1, 8), self._make_block(8, 16)
        self.bottom = self._make_block(16, 32)
        self.up2, self.up1 = nn.ConvTranspose2d(32, 16, 2, 2), nn.ConvTranspose2d(16, 8, 2, 2)
        self.merge2, self.merge1 = self._make_block(32, 16), self._make_block(16, 8)
        self.head = nn.Conv2d(8, 1, 1)

    def _make_block(self, inputs: int, outputs: int) -> nn.Module:
        second = nn.Conv2d(outputs, outputs, 3, padding=1)
        return nn.Sequential(nn.Conv2d(inputs, outputs, 3, padding=1), nn.ReLU(), second, nn.ReLU())

    def forward(self, x: Tensor) -> Tensor:
        first = self.down1(x)
        second = self.down2(F.max_pool2d(first, 2))
        bottom = self.bottom(F.max_pool2d(second, 2))
        y = self.merge2(torch.cat([self.up2(bottom), second], 1))
        return torch.sigmoid(self.head(self.merge1(torch.cat([self.up1(y), first], 1))))


class Tagger(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(50, 16)
        self.lstm = nn.LSTM(16, 12, 2, batch_first=True, bidirectional=True)
        self.head = nn.Linear(24, 7)

    def forward(self, x: Tensor) -> Tensor:
        y, _ = self.lstm(self.table(x))
        return F.log_softmax(self.head(y), -1)


class VariationalAutoencoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Linear(64, 32)
        self.mean, self.log_variance = nn.Linear(32, 8), nn.Linear(32, 8)
        hidden = nn.Linear(8, 32)
        self.decoder = nn.Sequential(hidden, nn.ReLU(), nn.Linear(32, 64), nn.Sigmoid())

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        y = F.relu(self.encoder(x))
        mean, log_variance = self.mean(y), self.log_variance(y)
        sample = mean + torch.exp(0.5 * log_variance) * torch.ones_like(mean)
        return self.decoder(sample), mean, log_variance


def make_generator() -> nn.Module:
    return nn.Sequential(
        nn.Linear(16, 64 * 4 * 4),
        nn.Unflatten(1, (64, 4, 4)),
        nn.BatchNorm2d(64),
        nn.ReLU(),
        nn.ConvTranspose2d(64, 32, 4, 2, 1),
        nn.BatchNorm2d(32),
        nn.ReLU(),
        nn.ConvTranspose2d(32, 3, 4, 2, 1),
        nn.Tanh(),
    )


class Siamese(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.tower = nn.Sequential(nn.Linear(12, 8), nn.ReLU(), nn.Linear(8, 4))

    def forward(self, left: Tensor, right: Tensor) -> Tensor:
        return F.cosine_similarity(self.tower(left), self.tower(right))


class Fire(nn.Module):
    def __init__(self, inputs: int, squeezed: int, expanded: int) -> None:
        super().__init__()
        self.squeeze = nn.Conv2d(inputs, squeezed, 1)
        self.expand1 = nn.Conv2d(squeezed, expanded, 1)
        self.expand3 = nn.Conv2d(squeezed, expanded, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        x = F.relu(self.squeeze(x))
        return torch.cat([F.relu(self.expand1(x)), F.relu(self.expand3(x))], 1)


def make_squeezenet() -> nn.Module:
    head = [nn.Conv2d(16, 4, 1), nn.AdaptiveAvgPool2d(1), nn.Flatten()]
    pool = nn.MaxPool2d(2, ceil_mode=True)
    fires = [Fire(8, 4, 8), Fire(16, 4, 8)]
    return nn.Sequential(nn.Conv2d(3, 8, 3, 2), nn.ReLU(), pool, *fires, nn.Dropout(), *head)


class DenseBlock(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.convs = nn.ModuleList(nn.Conv2d(4 + 4 * k, 4, 3, padding=1) for k in range(4))

    def forward(self, x: Tensor) -> Tensor:
        features = [x]
        for conv in self.convs:
            features.append(F.relu(conv(torch.cat(features, 1))))
        return torch.cat(features, 1)


class Mixer(nn.Module):
    """One normalization is used twice."""

    def __init__(self) -> None:
        super().__init__()
        self.patches, self.norm = nn.Conv2d(3, 16, 4, 4), nn.LayerNorm(16)
        self.tokens, self.channels = nn.Linear(16, 16), nn.Linear(16, 16)

    def forward(self, x: Tensor) -> Tensor:
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = x + self.tokens(self.norm(x).transpose(1, 2)).transpose(1, 2)
        return (x + F.gelu(self.channels(self.norm(x)))).mean(1)


class WaveNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.filters = nn.ModuleList(nn.Conv1d(8, 8, 2, dilation=1 << k) for k in range(3))
        self.gates = nn.ModuleList(nn.Conv1d(8, 8, 2, dilation=1 << k) for k in range(3))
        self.head = nn.Conv1d(8, 1, 1)

    def forward(self, x: Tensor) -> Tensor:
        skips = torch.zeros_like(x)
        for depth, (signal, gate) in enumerate(zip(self.filters, self.gates, strict=True)):
            padded = F.pad(x, (1 << depth, 0))
            y = torch.tanh(signal(padded)) * torch.sigmoid(gate(padded))
            skips, x = skips + y, x + y
        return self.head(F.relu(skips))


def make_classics() -> Iterator[tuple[str, nn.Module, tuple[Any, ...]]]:
    """Yield names, modules and example inputs."""
    picture, tokens = torch.zeros(1, 3, 32, 32), torch.ones(1, 10, dtype=torch.long)
    gray, rows = torch.zeros(1, 1, 16, 16), torch.zeros(2, 12)
    yield "lenet", LeNet(), (torch.zeros(1, 1, 28, 28),)
    yield "resnet18", make_resnet18(), (picture,)
    yield "mobilenet_v3", make_mobilenet_v3(), (picture,)
    yield "unet", UNet(), (gray,)
    yield "bilstm", Tagger(), (tokens,)
    yield "vae", VariationalAutoencoder(), (torch.zeros(2, 64),)
    yield "dcgan", make_generator(), (torch.zeros(2, 16),)
    yield "siamese", Siamese(), (rows, rows.clone())
    yield "squeezenet", make_squeezenet(), (picture,)
    yield "densenet", DenseBlock(), (torch.zeros(1, 4, 8, 8),)
    yield "mixer", Mixer(), (torch.zeros(1, 3, 16, 16),)
    yield "wavenet", WaveNet(), (torch.zeros(1, 8, 32),)
