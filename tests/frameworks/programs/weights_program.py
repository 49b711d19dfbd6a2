"""Save weights with torch, safetensors and Keras: ``weights_program.py DIRECTORY``.

Prints the contents of the files.
"""

from __future__ import annotations

import collections
import hashlib
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import save_file


class Network(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words = torch.nn.Embedding(9, 4)
        self.out = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.BatchNorm1d(3))


def make_odd() -> dict[str, torch.Tensor]:
    numbers = torch.arange(24.0).reshape(4, 6)
    floats = {"float8_e4m3fn", "float8_e5m2", "bfloat16", "float16", "float64"}
    whole = {"int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool"}
    cast = {name: numbers.to(getattr(torch, name)) for name in sorted(floats | whole)}
    views = {"turned": numbers.T, "part": numbers[1:3, 2:5], "column": numbers[:, 1]}
    spread = {"spread": torch.ones(1, 2).expand(5, 2), "scalar": torch.tensor(2.5)}
    return {**cast, **views, **spread, "empty": torch.zeros(0, 3), "complex": torch.ones(2) * 1j}


def save_torch(folder: Path) -> dict[str, dict[str, Any]]:
    network = Network()
    optimizer = torch.optim.Adam(network.parameters())
    network.words(torch.arange(3)).sum().backward()
    optimizer.step()
    states = network.state_dict()
    checkpoint = {"epoch": 3, "model": states, "optimizer": optimizer.state_dict(), "lr": 0.1}
    odd = make_odd()
    torch.save(states, folder / "state_dict.pt")
    torch.save(checkpoint, folder / "checkpoint.pth")
    torch.save(network, folder / "model.pt")
    torch.save(states["words.weight"], folder / "lone.pt")
    torch.save(odd, folder / "odd.pt")
    torch.save(dict(collections.OrderedDict(a=torch.ones(2))), folder / "old.pt", **OLD)
    tensors = {
        **{f"model.{key}": value for key, value in states.items()},
        **{
            f"optimizer.state.{place}.{key}": value
            for place, kept in optimizer.state_dict()["state"].items()
            for key, value in kept.items()
        },
    }
    return {
        "state_dict.pt": dict(states),
        "checkpoint.pth": tensors,
        "model.pt": dict(states),
        "lone.pt": {"lone": states["words.weight"]},
        "odd.pt": odd,
    }


OLD = {"_use_new_zipfile_serialization": False}


def save_safetensors(folder: Path) -> dict[str, dict[str, Any]]:
    odd = {key: value.contiguous() for key, value in make_odd().items() if key != "complex"}
    odd = {key: value.clone() for key, value in odd.items()}
    save_file(odd, folder / "odd.safetensors", metadata={"format": "pt"})
    return {"odd.safetensors": odd}


def save_keras(folder: Path) -> dict[str, dict[str, Any]]:
    import keras

    layers = [keras.layers.Embedding(9, 4, name="words"), keras.layers.Flatten()]
    model = keras.Sequential([keras.Input((2,)), *layers, keras.layers.Dense(3, name="out")])
    model.compile("adam", "mse")
    model.fit(np.zeros((4, 2)), np.zeros((4, 3)), verbose=0)
    model.save_weights(folder / "keras.weights.h5")
    model.save(folder / "whole.keras")
    model.save(folder / "old.h5")
    kernel, bias = model.get_layer("out").get_weights()
    words = model.get_layer("words").get_weights()[0]
    new = {"embedding/vars/0": words, "dense/vars/0": kernel, "dense/vars/1": bias}
    new = {f"layers/{key}": torch.tensor(value) for key, value in new.items()}
    old = {"words/sequential/words/embeddings": torch.tensor(words)}
    old = {f"model_weights/{key}": value for key, value in old.items()}
    return {"keras.weights.h5": new, "whole.keras": new, "old.h5": old}


def describe(tensor: torch.Tensor) -> dict[str, Any]:
    if tensor.dtype in (torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2):
        tensor = tensor.float()  # converted as tracklight does
    array = np.ascontiguousarray(tensor.numpy())
    digest = hashlib.sha256(array.tobytes()).hexdigest()
    return {"shape": list(tensor.shape), "dtype": array.dtype.name, "digest": digest}


def main(folder: Path) -> None:
    torch.manual_seed(1)
    files = {**save_torch(folder), **save_safetensors(folder), **save_keras(folder)}
    output = {
        name: {key: describe(tensor) for key, tensor in tensors.items()}
        for name, tensors in files.items()
    }
    print(json.dumps(output))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
