"""Write the result folders of Keras Tuner and Ray Tune, and what these programs say of them.

::

    python tests/data/study_folders/make.py keras_tuner   # keras-tuner 1.4, Keras 3
    python tests/data/study_folders/make.py ray_tune      # ray 2.60

Weights, event files and pickles are removed; ``NAME.json`` has the trials as the program itself
returns them.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
KEPT = ("oracle.json", "trial.json", "params.json", "result.json", "experiment_state-*.json")


def make_keras_tuner(folder: Path) -> dict[str, Any]:
    """Search with Hyperband, and with a tuner whose trials fail for some values."""
    os.environ.setdefault("KERAS_BACKEND", "jax")
    import keras
    import keras_tuner
    import numpy as np

    keras.utils.set_random_seed(1)
    inputs = np.random.default_rng(1).random((64, 4), np.float32)
    targets = (inputs.sum(axis=1) > 2).astype(np.float32)

    def build(hp: Any) -> Any:
        units = hp.Int("units", 4, 32, step=4)
        model = keras.Sequential(
            [keras.layers.Dense(units, activation=hp.Choice("activation", ["relu", "tanh"]))]
        )
        if hp.Boolean("deep"):
            with hp.conditional_scope("deep", [True]):
                model.add(keras.layers.Dense(hp.Int("deep_units", 2, 8)))
        model.add(keras.layers.Dense(1, activation="sigmoid"))
        rate = hp.Float("lr", 1e-4, 1e-1, sampling="log")
        model.compile(keras.optimizers.Adam(rate), "binary_crossentropy", metrics=["accuracy"])
        return model

    class Square(keras_tuner.Tuner):
        def run_trial(self, trial: Any, *args: Any, **kwargs: Any) -> dict[str, float]:
            x = trial.hyperparameters.Float("x", -1, 1)
            trial.hyperparameters.Fixed("fixed", 3)
            if x < -0.4:
                raise keras_tuner.errors.FailedTrialError("too large")
            return {"square": x * x, "cube": x**3}

    hyperband = keras_tuner.Hyperband(
        build, "val_accuracy", max_epochs=4, seed=1, directory=folder, project_name="hyperband"
    )
    hyperband.search(inputs, targets, validation_data=(inputs, targets), verbose=0)
    oracle = keras_tuner.oracles.RandomSearchOracle(
        keras_tuner.Objective("square", "min"),
        max_trials=6,
        seed=1,
        max_consecutive_failed_trials=6,
    )
    square = Square(oracle, directory=folder, project_name="square")
    square.search(verbose=0)
    return {
        name: {
            "objective": [tuner.oracle.objective.name, tuner.oracle.objective.direction],
            "trials": {
                key: [trial.hyperparameters.values, trial.status, trial.score]
                for key, trial in tuner.oracle.trials.items()
            },
            "best": tuner.oracle.get_best_trials(1)[0].trial_id,
        }
        for name, tuner in {"hyperband": hyperband, "square": square}.items()
    }


def make_ray_tune(folder: Path) -> dict[str, Any]:
    """Search with early stopping and a failing trial, and a grid of a class."""
    import ray
    from ray import tune
    from ray.tune.schedulers import ASHAScheduler

    def train(config: dict[str, Any]) -> None:
        for step in range(1, 9):
            loss = 100 * (config["lr"] - 0.01) ** 2 + 1 / step + 0.01 * config["model"]["depth"]
            tune.report({"loss": loss, "nested": {"f1": step / 10}})
            if config["lr"] > 0.05 and step == 3:
                raise ValueError("diverged")

    class Product(tune.Trainable):
        def setup(self, config: dict[str, Any]) -> None:
            self.factor = config["a"]

        def step(self) -> dict[str, Any]:
            return {"score": self.factor * (self.iteration + 1), "done": self.iteration >= 2}

    ray.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False)
    asha = tune.Tuner(
        train,
        param_space={
            "lr": tune.loguniform(1e-4, 1e-1),
            "model": {"depth": tune.choice([1, 2, 3]), "act": tune.choice(["relu", "gelu"])},
            "layers": tune.choice([[8, 8], [16]]),
        },
        tune_config=tune.TuneConfig(
            metric="loss", mode="min", num_samples=10, scheduler=ASHAScheduler(grace_period=2)
        ),
        run_config=tune.RunConfig(name="asha", storage_path=str(folder), verbose=0),
    )
    grid = tune.Tuner(
        Product,
        param_space={"a": tune.grid_search([1, 2, 3]), "b": 0.5},
        tune_config=tune.TuneConfig(metric="score", mode="max"),
        run_config=tune.RunConfig(name="grid", storage_path=str(folder), verbose=0),
    )
    found = {"asha": asha.fit(), "grid": grid.fit()}
    ray.shutdown()
    return {
        name: {
            "trials": {
                Path(result.path).name: [
                    result.config,
                    result.error is not None,
                    result.metrics.get("loss", result.metrics.get("score")),
                    result.metrics["training_iteration"],
                ]
                for result in results
            }
        }
        for name, results in found.items()
    }


def main(name: str) -> None:
    folder = HERE / name
    shutil.rmtree(folder, ignore_errors=True)
    report = {"keras_tuner": make_keras_tuner, "ray_tune": make_ray_tune}[name](folder)
    for path in sorted(folder.rglob("*"), reverse=True):
        if path.is_dir():
            if not any(path.iterdir()):
                path.rmdir()
        elif not any(map(path.match, KEPT)):
            path.unlink()
    (HERE / f"{name}.json").write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
