"""HParams of Optuna storages: Pareto front, intermediate values, distribution, damaged files."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.web.conftest import board_fixture
from tests.web.waiting import get_stable_box

optuna = pytest.importorskip("optuna")

pytestmark = [pytest.mark.browser, pytest.mark.slow]

OpenPage = Callable[..., Page]

#: Optuna's Pareto front, for comparison.
FRONT_SIZES: list[int] = []
STORAGES: list[Any] = []


def write_studies(logdir: Path) -> None:
    """Write a study with two objectives, one with pruned trials, and a damaged database."""
    logdir.mkdir(parents=True)
    optuna.logging.set_verbosity(optuna.logging.CRITICAL)
    storage = optuna.storages.RDBStorage(f"sqlite:///{logdir / 'optuna.db'}")
    sampler = optuna.samplers.RandomSampler(seed=4)
    pareto = optuna.create_study(
        storage=storage,
        study_name="tradeoff",
        sampler=sampler,
        directions=["minimize", "maximize"],
    )
    pareto.optimize(two_objectives, n_trials=60)
    FRONT_SIZES.append(len(pareto.best_trials))
    backend = optuna.storages.journal.JournalFileBackend(str(logdir / "journal.log"))
    pruned = optuna.create_study(
        storage=optuna.storages.JournalStorage(backend),
        study_name="pruned",
        sampler=sampler,
        pruner=optuna.pruners.NopPruner(),
    )
    pruned.optimize(reporting, n_trials=20)
    STORAGES.append(optuna.storages.JournalStorage(backend))
    early = optuna.create_study(storage=STORAGES[0], study_name="early", sampler=sampler)
    early.optimize(pruned_early, n_trials=20)
    (logdir / "optuna-broken.db").write_bytes(b"not a database")


def two_objectives(trial: Any) -> tuple[float, float]:
    x, y = trial.suggest_float("x", 0, 1), trial.suggest_float("y", 0, 1)
    return x + 0.3 * y, x * (1.2 - y)


def reporting(trial: Any) -> float:
    lr = trial.suggest_float("lr", 1e-4, 1e-1, log=True)
    optimizer = trial.suggest_categorical("optimizer", ["adam", "sgd"])
    for step in range(8):
        trial.report(1 / (step + 1) + lr, step)
        if trial.number % 4 == 3 and step == 3:
            raise optuna.TrialPruned
    return lr + (0.1 if optimizer == "sgd" else 0.0)


def pruned_early(trial: Any) -> float:
    """Prune every second trial after one value, which is lower than all results."""
    x = trial.suggest_float("x", 0.1, 1)
    trial.report(x / 100, 0)
    if trial.number % 2:
        raise optuna.TrialPruned
    trial.report(2 * x, 1)
    return x + 0.01 * trial.number


board = board_fixture(write_studies, "module", "?tab=hparams")


def test_pareto_front_agrees_with_optuna(board: str, open_page: OpenPage) -> None:
    page = open_page(f"{board}&hp=pareto&hp-study=optuna.db/tradeoff")
    plot = page.get_by_role("img", name="objective_1 vs. objective_0")
    expect(plot).to_be_visible()
    (size,) = FRONT_SIZES
    text = f"{size} of 60 trials on the Pareto front of ↓ objective_0 · ↑ objective_1"
    expect(page.get_by_text(text)).to_be_visible()


def test_intermediate_values_mark_pruned_trials(board: str, open_page: OpenPage) -> None:
    page = open_page(f"{board}&hp=intermediate&hp-study=journal.log/pruned")
    expect(page.get_by_text("Reported values of 20 trials; 5 pruned")).to_be_visible()
    plot = page.get_by_role("img", name="objective vs. Step")
    expect(plot).to_have_attribute("data-drawn", "20")
    page.goto(f"{board}&hp=table&hp-study=journal.log/pruned&hp-added=status")
    table = page.get_by_role("table", name="Trials")
    expect(table.get_by_role("cell", name="Pruned")).to_have_count(5)


def test_pruned_trials_are_drawn_but_not_ranked(board: str, open_page: OpenPage) -> None:
    page = open_page(f"{board}&hp=intermediate&hp-study=journal.log/early")
    expect(page.get_by_text("Reported values of 20 trials; 10 pruned")).to_be_visible()
    study = optuna.load_study(study_name="early", storage=STORAGES[0])
    best = f"trial-{study.best_trial.number:04}"
    expect(page.get_by_role("region", name="Insights")).to_contain_text(best)
    page.goto(f"{board}&hp=table&hp-study=journal.log/early&hp-added=status")
    rows = page.locator("[data-trial]")
    expect(rows.first).to_contain_text(best)
    expect(rows.nth(9)).to_contain_text("Succeeded")
    expect(rows.nth(10)).to_contain_text("Pruned")
    page.goto(f"{board}&hp=progress&hp-study=journal.log/early")
    expect(page.get_by_text(re.compile(r"improvements? in 10 trials"))).to_be_visible()
    page.goto(f"{board}&hp=distribution&hp-study=journal.log/early")
    lines = page.get_by_role("list", name="Distribution").get_by_role("listitem")
    expect(lines.first).to_contain_text("10 trials")


def test_timeline_counts_trials_by_status(board: str, open_page: OpenPage) -> None:
    page = open_page(f"{board}&hp=timeline&hp-study=journal.log/pruned")
    statuses = page.get_by_role("list", name="Status").get_by_role("listitem")
    expect(statuses.filter(has_text="Pruned: 5")).to_be_visible()
    expect(statuses.filter(has_text="Succeeded: 15")).to_be_visible()
    plot = page.get_by_role("img", name="Timeline of 20 trials")
    expect(plot).to_have_attribute("data-drawn", "20")
    box = get_stable_box(plot)
    # The first trial starts at the left end of the axis, in the first lane.
    page.mouse.move(box.x + 54, box.y + 18)
    expect(page.get_by_role("status", name="Trial")).to_contain_text("trial-0000")


def test_distribution_is_split_by_a_hyperparameter(board: str, open_page: OpenPage) -> None:
    page = open_page(f"{board}&hp=distribution&hp-study=journal.log/pruned")
    lines = page.get_by_role("list", name="Distribution").get_by_role("listitem")
    expect(lines).to_have_count(1)
    expect(lines.first).to_contain_text("All trials")
    page.get_by_label("Split by").select_option("optimizer")
    expect(lines).to_have_count(2)
    expect(lines.nth(0)).to_contain_text("adam")
    expect(page).to_have_url(re.compile("hp-distribution-by=hparam%3Aoptimizer"))


def test_a_damaged_file_is_named_beside_the_studies(board: str, open_page: OpenPage) -> None:
    page = open_page(f"{board}&hp=table")
    note = 'Problem in the study file "optuna-broken.db": it is no storage of Optuna.'
    expect(page.get_by_text(note)).to_be_visible()
    status = page.get_by_role("toolbar", name="HParams").get_by_role("status")
    expect(status).to_have_text("100 trials")


def test_trials_without_runs_have_no_link(board: str, open_page: OpenPage) -> None:
    page = open_page(f"{board}&hp=table&hp-study=journal.log/pruned")
    row = page.get_by_role("row").filter(has_text="trial-0003")
    expect(row).to_be_visible()
    expect(row.get_by_role("button")).to_have_count(0)
