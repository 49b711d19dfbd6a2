"""Load the studies in the files of a log: Optuna storages, Keras Tuner and Ray Tune folders.

Files are read again when they change. A file that cannot be read becomes a message; all others are
still shown.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from tracklight.analysis.experiments.optuna_storage import (
    read_optuna_database,
    read_optuna_journal,
)
from tracklight.analysis.experiments.stored_trials import (
    MAX_TRIALS,
    StoredStudy,
    StoredTrial,
    StudyContents,
)
from tracklight.analysis.experiments.studies import ROOT
from tracklight.analysis.experiments.tuner_results import (
    make_keras_experiment,
    read_keras_trial,
    read_ray_statuses,
    read_ray_trial,
)
from tracklight.analysis.source import Source
from tracklight.errors import FormatError, Message
from tracklight.formats.hparams import Experiment
from tracklight.logdir.discover import (
    KERAS_ORACLE,
    KERAS_TRIAL,
    RAY_PARAMS,
    RAY_RESULT,
    is_database,
    is_ray_state,
)
from tracklight.logdir.names import natural_key
from tracklight.types import StudyFile

#: A file of such a name is reported if it is no study at all.
_STUDY_WORDS = ("optuna", "study", "studies")


@dataclass(frozen=True, slots=True)
class _Folder:
    """The files that one study, or one storage, is read from."""

    name: str
    files: tuple[StudyFile, ...]


class StudyFileReader:
    """Reads the studies in files. Not thread-safe."""

    def __init__(self, log: Source) -> None:
        self._log = log
        self._cached: dict[str, tuple[_Folder, StudyContents]] = {}

    def read(self, files: Iterable[StudyFile]) -> StudyContents:
        """Return all studies, with names that are paths, and messages about damaged files."""
        folders = _group_files(files)
        before, self._cached = self._cached, {}
        for folder in folders:
            cached = before.get(folder.name)
            contents = cached[1] if cached and cached[0] == folder else self._read_folder(folder)
            self._cached[folder.name] = folder, contents
        all_contents = [contents for _, contents in self._cached.values()]
        return StudyContents(
            tuple(study for contents in all_contents for study in contents.studies),
            tuple(problem for contents in all_contents for problem in contents.problems),
        )

    def _read_folder(self, folder: _Folder) -> StudyContents:
        name = os.path.basename(folder.files[0].path)
        if name in (KERAS_ORACLE, KERAS_TRIAL):
            return self._read_keras_tuner(folder)
        if name in (RAY_RESULT, RAY_PARAMS) or is_ray_state(name):
            return self._read_ray_tune(folder)
        return self._read_optuna(folder)

    def _read_optuna(self, folder: _Folder) -> StudyContents:
        (file,) = folder.files
        name = os.path.basename(file.path)
        read = read_optuna_database if is_database(name) else read_optuna_journal
        try:
            with self._log.fetch_study_file(file) as path:
                contents = read(path)
                is_empty = path.stat().st_size == 0
        except (FormatError, OSError) as error:
            return StudyContents(problems=(_describe_unreadable(folder.name, error),))
        if contents is None:
            has_study_name = any(word in name.lower() for word in _STUDY_WORDS)
            if is_empty or not has_study_name:
                return StudyContents()
            problem = Message("hparams.no_study", "it is no storage of Optuna")
            return StudyContents(problems=(_describe_unreadable(folder.name, problem),))
        studies = {f"{folder.name}/{study.name}": study for study in contents.studies}
        return StudyContents(
            tuple(replace(study, name=path) for path, study in studies.items()),
            tuple(_describe_unreadable(folder.name, it) for it in contents.problems),
        )

    def _read_keras_tuner(self, folder: _Folder) -> StudyContents:
        trials: list[StoredTrial] = []
        directions: dict[str, str] = {}
        objectives: list[str | None] = []
        problems: list[Message] = []
        experiment = Experiment()
        for file in _list_named(folder, KERAS_TRIAL)[:MAX_TRIALS]:
            trial_name = os.path.basename(os.path.dirname(file.path))
            try:
                with self._log.fetch_study_file(file) as path:
                    trial, own, objective = read_keras_trial(trial_name, path)
            except (FormatError, OSError) as error:
                problems.append(_describe_unreadable(f"{file.run}/{KERAS_TRIAL}", error))
                continue
            trials.append(trial)
            directions |= own
            objectives.append(objective)
        with ExitStack() as stack:
            try:
                oracle = [
                    stack.enter_context(self._log.fetch_study_file(file))
                    for file in _list_named(folder, KERAS_ORACLE)
                ]
                experiment = make_keras_experiment(
                    oracle[0] if oracle else None, directions, objectives
                )
            except (FormatError, OSError) as error:
                problems.append(_describe_unreadable(f"{folder.name}/{KERAS_ORACLE}", error))
                experiment = make_keras_experiment(None, directions, objectives)
        return _make_contents(folder.name, experiment, trials, problems)

    def _read_ray_tune(self, folder: _Folder) -> StudyContents:
        trials: list[StoredTrial] = []
        problems: list[Message] = []
        statuses = {}
        states = [file for file in folder.files if is_ray_state(os.path.basename(file.path))]
        for file in sorted(states, key=lambda it: it.path)[-1:]:
            try:
                with self._log.fetch_study_file(file) as path:
                    statuses = read_ray_statuses(path)
            except (FormatError, OSError) as error:
                problems.append(_describe_unreadable(_get_display_path(file), error))
        params = {file.run: file for file in _list_named(folder, RAY_PARAMS)}
        for file in _list_named(folder, RAY_RESULT)[:MAX_TRIALS]:
            trial_name = os.path.basename(os.path.dirname(file.path))
            with ExitStack() as stack:
                try:
                    results = stack.enter_context(self._log.fetch_study_file(file))
                    settings: Path | None = None
                    if file.run in params:
                        settings = stack.enter_context(self._log.fetch_study_file(params[file.run]))
                    trial, damaged = read_ray_trial(trial_name, settings, results, statuses)
                except (FormatError, OSError) as error:
                    problems.append(_describe_unreadable(_get_display_path(file), error))
                    continue
            trials.append(trial)
            if damaged:
                skipped = Message.format(
                    "hparams.damaged_lines", "{count:,} damaged lines are skipped", count=damaged
                )
                problems.append(_describe_unreadable(_get_display_path(file), skipped))
        return _make_contents(folder.name, Experiment(), trials, problems)


def _make_contents(
    name: str, experiment: Experiment, trials: Sequence[StoredTrial], problems: Sequence[Message]
) -> StudyContents:
    study = StoredStudy(name, experiment, tuple(trials))
    return StudyContents((study,) if trials else (), tuple(problems))


def _group_files(files: Iterable[StudyFile]) -> list[_Folder]:
    """Group the files by study; each storage of Optuna is by itself."""
    groups: dict[str, list[StudyFile]] = defaultdict(list)
    for file in files:
        name = os.path.basename(file.path)
        if name in (KERAS_ORACLE,) or is_ray_state(name):
            groups[file.run].append(file)
        elif name in (KERAS_TRIAL, RAY_RESULT, RAY_PARAMS):
            groups[file.run.rpartition("/")[0] or ROOT].append(file)
        else:
            groups[_get_display_path(file)].append(file)
    return [
        _Folder(name, tuple(sorted(own, key=lambda it: natural_key(it.path))))
        for name, own in sorted(groups.items(), key=lambda it: natural_key(it[0]))
    ]


def _list_named(folder: _Folder, name: str) -> list[StudyFile]:
    return [file for file in folder.files if os.path.basename(file.path) == name]


def _get_display_path(file: StudyFile) -> str:
    """Return the path of a file as it is named on the page: by run, relative to the log."""
    folder = file.run.removesuffix(ROOT).rstrip("/")
    name = os.path.basename(file.path)
    return f"{folder}/{name}" if folder else name


def _describe_unreadable(path: str, error: FormatError | OSError | Message) -> Message:
    return Message.format(
        "hparams.unreadable_study",
        'Problem in the study file "{path}": {error}.',
        path=path,
        error=error,
    )
