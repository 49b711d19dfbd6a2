"""Log what tutorials log. The original and tracklight only differ in the imports.

python tutorial.py original|tracklight PART      # writes to logs/ in the working directory
"""

from __future__ import annotations

import io
import json
import sys

import numpy as np
import tensorflow as tf

if sys.argv[1] == "original":
    from keras.callbacks import TensorBoard
    from tensorboard.plugins import projector
    from tensorboard.plugins.hparams import api as hp
    from tensorflow import summary
else:
    from tracklight import hparams as hp
    from tracklight import projector, summary
    from tracklight.keras import TensorBoard

keras = tf.keras
layers = keras.layers
keras.utils.set_random_seed(1)
keras.mixed_precision.set_global_policy("float32")
tf.config.experimental.enable_op_determinism()

RNG = np.random.default_rng(0)
X = RNG.random((96, 8, 8, 1)).astype(np.float32)
Y = (X.mean((1, 2, 3)) * 10).astype(int) % 4
TEST = X[:32], Y[:32]


def make_model(units: int = 8, optimizer: str = "adam") -> keras.Model:
    model = keras.Sequential(
        [
            layers.Input((8, 8, 1)),
            layers.Conv2D(4, 3, activation="relu"),
            layers.Flatten(),
            layers.Dense(units, activation="relu"),
            layers.Dense(4, activation="softmax"),
        ]
    )
    model.compile(optimizer, "sparse_categorical_crossentropy", metrics=["accuracy"])
    return model


def train_with_every_option() -> None:
    callback = TensorBoard(
        log_dir="logs/options", histogram_freq=1, update_freq="batch", write_steps_per_second=True
    )
    model = make_model()
    model.fit(X, Y, epochs=2, batch_size=32, validation_data=TEST, callbacks=[callback], verbose=0)


def schedule_the_learning_rate() -> None:
    writer = summary.create_file_writer("logs/rate/metrics")
    writer.set_as_default()

    def schedule(epoch: int) -> float:
        rate = 0.2 if epoch < 2 else 0.02
        summary.scalar("learning rate", data=rate, step=epoch)
        return rate

    callbacks = [TensorBoard("logs/rate"), keras.callbacks.LearningRateScheduler(schedule)]
    make_model(4, "sgd").fit(X, Y, epochs=4, verbose=0, callbacks=callbacks)
    writer.flush()


def show_a_figure_each_epoch() -> None:
    from matplotlib.figure import Figure

    writer = summary.create_file_writer("logs/figures")
    model = make_model()

    def draw(epoch: int, logs: object) -> None:
        figure = Figure(figsize=(2, 2))
        figure.subplots().imshow(model.predict(X[:4], verbose=0))
        file = io.BytesIO()
        figure.savefig(file, format="png")
        picture = tf.image.decode_png(file.getvalue(), channels=4)
        with writer.as_default():
            summary.image("Predictions", tf.expand_dims(picture, 0), step=epoch)

    callback = keras.callbacks.LambdaCallback(on_epoch_end=draw)
    model.fit(X, Y, epochs=2, verbose=0, callbacks=[TensorBoard("logs/figures"), callback])
    writer.close()


def train_by_hand() -> None:
    model, optimizer = make_model(), keras.optimizers.Adam()
    loss_of = keras.losses.SparseCategoricalCrossentropy()
    losses, accuracy = keras.metrics.Mean(), keras.metrics.SparseCategoricalAccuracy()
    writer = summary.create_file_writer("logs/tape/train")
    for epoch in range(3):
        for x, y in tf.data.Dataset.from_tensor_slices((X, Y)).batch(32):
            with tf.GradientTape() as tape:
                predicted = model(x, training=True)
                loss = loss_of(y, predicted)
            gradients = tape.gradient(loss, model.trainable_variables)
            optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
            losses(loss)
            accuracy(y, predicted)
        with writer.as_default(), tf.name_scope("epoch"):
            summary.scalar("loss", losses.result(), step=epoch)
            summary.scalar("accuracy", accuracy.result(), step=epoch)
            summary.histogram("kernel", model.layers[-1].kernel, step=tf.constant(epoch, "int64"))
    with writer.as_default():
        summary.trace_on(graph=True, profiler=False)
        tf.function(lambda x: tf.reduce_sum(x * 2))(tf.constant(X[0]))
        summary.trace_export(name="trace", step=3)
    writer.close()


def try_hyperparameters() -> None:
    units, optimizer = hp.HParam("units", hp.Discrete([4, 8])), hp.HParam("optimizer")
    with summary.create_file_writer("logs/trials").as_default():
        hp.hparams_config([units, optimizer], [hp.Metric("accuracy", display_name="Accuracy")])
    for number, count in enumerate(units.domain.values):
        given = {units: count, optimizer: "adam"}
        with summary.create_file_writer(f"logs/trials/{number}").as_default():
            hp.hparams(given)
            summary.scalar("accuracy", make_model(count).evaluate(*TEST, verbose=0)[1], step=1)
        folder = f"logs/trials/callback{number}"
        callbacks = [TensorBoard(folder, write_graph=False), hp.KerasCallback(folder, given)]
        model = make_model(given[units], given[optimizer])
        model.fit(X, Y, epochs=1, validation_data=TEST, verbose=0, callbacks=callbacks)


def show_words() -> None:
    checkpoint = tf.train.Checkpoint(embedding=tf.Variable(RNG.random((5, 3))))
    checkpoint.save("logs/words/embedding.ckpt")
    config = projector.ProjectorConfig()
    embedding = config.embeddings.add()
    embedding.tensor_name = "embedding/.ATTRIBUTES/VARIABLE_VALUE"
    embedding.metadata_path = "metadata.tsv"
    projector.visualize_embeddings("logs/words", config)


def profile_in_mixed_precision() -> None:
    keras.mixed_precision.set_global_policy("mixed_float16")
    callback = TensorBoard("logs/profile", profile_batch=[2, 4])
    make_model().fit(X, Y, batch_size=16, epochs=2, verbose=0, callbacks=[callback])


globals()[sys.argv[2]]()
# The next part may run in the same process.
summary.create_noop_writer().set_as_default()
print(json.dumps("done"))
