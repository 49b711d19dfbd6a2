"""Save checkpoints of every type with TensorFlow: ``checkpoint_program.py DIRECTORY [PREFIX…]``.

Prints the tensors that TensorFlow reads from them, and from the checkpoints with the prefixes.
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

v1 = tf.compat.v1

DTYPES = [
    *("float32", "float64", "float16", "bfloat16", "int8", "int16", "int32", "int64"),
    *("uint8", "uint16", "uint32", "uint64", "bool", "complex64", "complex128"),
    *("float8_e5m2", "float8_e4m3fn", "int4", "uint4"),
]


def save_raw(prefix: str, tensors: dict[str, Any]) -> None:
    names = list(tensors)
    whole = [""] * len(names)
    tf.raw_ops.SaveV2(
        prefix=prefix, tensor_names=names, shape_and_slices=whole, tensors=list(tensors.values())
    )


def save_dtypes(directory: Path) -> None:
    numbers = np.array([[0, 1, 2], [3, 7, 5]])
    tensors = {
        name: tf.constant(numbers.astype(tf.as_dtype(name).as_numpy_dtype)) for name in DTYPES
    }
    odd = [np.nan, -np.nan, np.inf, -np.inf, -0.0, 1e-40]
    tensors["odd"] = tf.constant(odd, tf.float32)
    tensors["odd_half"] = tf.constant(np.array(odd, np.float16))
    tensors["odd_bfloat16"] = tf.cast(tf.constant(odd, tf.float32), tf.bfloat16)
    tensors["scalar"] = tf.constant(4.5)
    save_raw(str(directory / "dtypes"), tensors)


def save_texts(directory: Path) -> None:
    long = "x" * 300
    tensors = {
        "texts": tf.constant([["a", ""], ["ünïcode", "\x00\xff"], [long, "b"]]),
        "one": tf.constant(b"\xff\xfe"),
        "none": tf.constant([], tf.string, shape=(0, 3)),
        "empty": tf.zeros((0, 5)),
        "also empty": tf.zeros((4, 0), tf.int64),
    }
    save_raw(str(directory / "texts"), tensors)


def save_shards(directory: Path) -> None:
    parts = [str(directory / f"part{shard}") for shard in range(3)]
    for shard, part in enumerate(parts):
        save_raw(part, {f"layer{shard}/w": tf.fill((2, shard + 1), float(shard))})
    whole = str(directory / "shards")
    tf.raw_ops.MergeV2Checkpoints(checkpoint_prefixes=parts, destination_prefix=whole)


def save_slices(directory: Path) -> None:
    with tf.Graph().as_default(), v1.Session() as session:
        rows = v1.get_variable(
            "rows", (130, 3), partitioner=v1.fixed_size_partitioner(3), dtype=tf.float32
        )
        v1.get_variable(
            "columns", (2, 600), partitioner=v1.fixed_size_partitioner(2, axis=1), dtype=tf.float64
        )
        loss = tf.add_n([tf.reduce_sum(part) for part in rows])
        v1.train.AdamOptimizer().minimize(loss)
        session.run(v1.global_variables_initializer())
        v1.train.Saver().save(session, str(directory / "slices"), write_meta_graph=False)


def save_parts(directory: Path) -> None:
    """Save slices along two dimensions, one of which covers a whole dimension."""
    numbers = tf.reshape(tf.range(70 * 150), (70, 150))
    stretches = ["0,65:-", "65,5:0,100", "65,5:100,50"]
    parts = [numbers[:65], numbers[65:, :100], numbers[65:, 100:]]
    tf.raw_ops.SaveV2(
        prefix=str(directory / "parts"),
        tensor_names=["table"] * 3,
        shape_and_slices=[f"70 150 {stretch}" for stretch in stretches],
        tensors=parts,
    )


def save_many(directory: Path) -> None:
    """Save so many tensors that the index has several blocks."""
    names = [f"network/block_{index:04}/a_rather_long_name_of_a_kernel" for index in range(6000)]
    save_raw(str(directory / "many"), {name: tf.constant(len(name)) for name in names})


def save_objects(directory: Path) -> None:
    class Network(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table = tf.Variable(tf.random.normal((7, 4)), name="words/table")
            self.list = [tf.Variable(tf.ones((2, 2))), tf.Variable(tf.zeros((3, 2)))]
            setattr(self, "odd/na.me", tf.Variable([[1.0, 2.0]]))

    network = Network()
    optimizer = v1.train.AdamOptimizer()
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(network.table**2)
    optimizer.apply_gradients([(tape.gradient(loss, network.table), network.table)])
    tf.train.Checkpoint(network=network, optimizer=optimizer).write(str(directory / "objects"))


def save_keras(directory: Path) -> None:
    import keras

    layers = [keras.layers.Embedding(20, 6, name="words"), keras.layers.Flatten()]
    model = keras.Sequential([keras.Input((4,)), *layers, keras.layers.Dense(3, name="out")])
    model.compile("adam", "mse")
    model.fit(np.zeros((8, 4)), np.zeros((8, 3)), verbose=0)
    tf.train.Checkpoint(model=model).write(str(directory / "keras"))


def read(prefix: str) -> dict[str, Any]:
    reader = tf.train.load_checkpoint(prefix)
    return {key: describe(reader.get_tensor(key)) for key in reader.get_variable_to_shape_map()}


def describe(value: Any) -> dict[str, Any]:
    array = np.asarray(value)
    if array.dtype.kind in "OS":
        texts = [bytes(text).hex() for text in np.asarray(value, object).ravel()]
        return {"shape": list(array.shape), "texts": texts}
    # NumPy has no such types; converted as tracklight does.
    wider = {"int4": np.int8, "uint4": np.uint8, "bfloat16": np.float32}
    if array.dtype.name in wider or array.dtype.name.startswith("float8"):
        array = array.astype(wider.get(array.dtype.name, np.float32))
    digest = hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()
    return {"shape": list(array.shape), "dtype": array.dtype.name, "digest": digest}


def main(directory: Path, prefixes: list[str]) -> None:
    plain = [save_dtypes, save_texts, save_shards, save_slices, save_parts, save_many]
    for save in [*plain, save_objects, save_keras]:
        save(directory)
        prefixes.append(str(directory / save.__name__.removeprefix("save_")))
    print(json.dumps({prefix: read(prefix) for prefix in prefixes}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
