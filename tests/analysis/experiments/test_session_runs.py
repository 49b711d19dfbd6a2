from __future__ import annotations

from tracklight.analysis.experiments.sessions import inherit_hparams

LR1, LR2 = {"lr": 0.1}, {"lr": 0.2}


def test_runs_inherit_from_their_ancestors() -> None:
    inherited = inherit_hparams(
        {"a": LR1, "b": LR2}, ["a", "a/train", "a/eval/deep", "b/train", "c/train"]
    )
    assert inherited == {"a": LR1, "a/train": LR1, "a/eval/deep": LR1, "b/train": LR2}


def test_nearest_ancestor_counts() -> None:
    inherited = inherit_hparams({"a": LR1, "a/b": LR2}, ["a/b/train", "a/c"])
    assert inherited == {"a/b/train": LR2, "a/c": LR1}


def test_root_run_counts_for_all_runs_below() -> None:
    assert inherit_hparams({".": LR1}, [".", "a/train"]) == {".": LR1, "a/train": LR1}
    assert inherit_hparams({"base/.": LR1}, ["base/a", "other/a"]) == {"base/a": LR1}


def test_run_inherits_from_its_only_child() -> None:
    own = {"a/1700000000.5": LR1, "b/1": LR1, "b/2": LR2}
    assert inherit_hparams(own, ["a", "b"]) == {"a": LR1}
