"""Read studies from the storages of Optuna: SQLite databases and journal files.

Only the standard library is used; Optuna need not be installed. The tables are those of Optuna 2.4
and later (https://github.com/optuna/optuna/blob/master/optuna/storages/_rdb/models.py). A journal
has one operation per line as JSON (`optuna.storages.journal`).
"""

from __future__ import annotations

import math
import sqlite3
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import timezone
from pathlib import Path
from typing import Any

from tracklight.analysis.experiments import (
    MAX_TRIALS,
    MAX_VALUES,
    Points,
    StoredStudy,
    StoredTrial,
    StudyContents,
    as_hparam_value,
    find_number,
    find_step,
    find_time,
    make_objective,
    shorten_name,
)
from tracklight.errors import FormatError, Message
from tracklight.formats.hparams import Experiment, HParam, HParamValue, Interval, Status
from tracklight.util.parsing import load_json

SQLITE_MAGIC = b"SQLite format 3\0"

_MAX_STUDIES = 1000
_MAX_JOURNAL_BYTES = 1 << 30
_MAX_LINE_BYTES = 10 << 20
_MAX_JSON_CHARS = 100_000
#: A database may be locked by a writer for a moment.
_LOCK_TIMEOUT_S = 5.0
#: A hostile schema can make a query run forever.
_QUERY_TIMEOUT_S = 60.0
_METRIC_NAMES_KEY = "study:metric_names"
#: A list of all constraints, or, since Optuna 5, one number for each name after a colon.
_CONSTRAINTS_KEY = "constraints"
_TABLES = {"studies", "trials", "trial_params", "trial_values"}

_STATES = {
    "RUNNING": Status.RUNNING,
    "COMPLETE": Status.SUCCESS,
    "PRUNED": Status.PRUNED,
    "FAIL": Status.FAILURE,
}
#: The numbers of states and directions in a journal.
_STATE_NAMES = ("RUNNING", "COMPLETE", "PRUNED", "FAIL", "WAITING")
_DIRECTION_NAMES = ("NOT_SET", "MINIMIZE", "MAXIMIZE")
_GOALS = {"MINIMIZE": "minimize", "MAXIMIZE": "maximize"}
_SPECIAL_VALUES = {"INF_POS": math.inf, "INF_NEG": -math.inf, "NAN": math.nan}


# ---- studies under construction


@dataclass(slots=True)
class _Trial:
    number: int
    state: str = "RUNNING"
    start_time: float | None = None
    end_time: float | None = None
    params: dict[str, HParamValue] = field(default_factory=dict)
    values: dict[int, float] = field(default_factory=dict)
    """The final value of each objective."""
    reported: dict[int, float] = field(default_factory=dict)
    """Intermediate values by step."""
    attributes: dict[str, float] = field(default_factory=dict)
    """The numbers among the user attributes."""
    is_infeasible: bool = False
    """Whether a constraint is above zero."""

    def get_status(self) -> Status:
        is_infeasible = self.is_infeasible and self.state == "COMPLETE"
        return Status.INFEASIBLE if is_infeasible else _STATES[self.state]


@dataclass(slots=True)
class _Study:
    name: str
    directions: list[str] = field(default_factory=list)
    metric_names: list[str] = field(default_factory=list)
    trials: list[_Trial] = field(default_factory=list)
    domains: dict[str, HParam] = field(default_factory=dict)

    def build(self) -> StoredStudy:
        tags = self._list_tags()
        goals = [_GOALS.get(name) for name in self.directions]
        metrics = tuple(make_objective(*pair) for pair in zip(tags, goals, strict=True))
        experiment = Experiment(tuple(self.domains.values()), metrics, self.name)
        digits = max(4, len(str(max((trial.number for trial in self.trials), default=0))))
        trials = (
            _build_trial(trial, tags, digits) for trial in self.trials if trial.state in _STATES
        )
        return StoredStudy(self.name, experiment, tuple(trials))

    def _list_tags(self) -> list[str]:
        count = len(self.directions)
        if len(self.metric_names) == count and len(set(self.metric_names)) == count:
            return self.metric_names
        return ["objective"] if count == 1 else [f"objective_{index}" for index in range(count)]


def _build_trial(trial: _Trial, tags: list[str], digits: int) -> StoredTrial:
    """Build a trial. Intermediate values exist only with one objective and come before its value.

    A value that is the last intermediate value, as that of a pruned trial, is not repeated.
    """
    curves: dict[str, Points] = {name: ((0, value),) for name, value in trial.attributes.items()}
    for index, tag in enumerate(tags):
        points = sorted(trial.reported.items()) if len(tags) == 1 else []
        value = trial.values.get(index)
        is_last = points and (trial.state == "PRUNED" or points[-1][1] == value)
        if value is not None and not is_last:
            points.append((points[-1][0] + 1 if points else 0, value))
        if points:
            curves[tag] = tuple(points)
    return StoredTrial(
        name=f"trial-{trial.number:0{digits}}",
        hparams=trial.params,
        status=trial.get_status(),
        start_time=trial.start_time,
        end_time=trial.end_time,
        curves=curves,
    )


class _Distributions:
    """Parses distributions; thousands of trials have the same."""

    def __init__(self) -> None:
        self._parsed: dict[str, tuple[str, dict[str, Any]]] = {}

    def _parse(self, text: str) -> tuple[str, dict[str, Any]]:
        if text not in self._parsed:
            content = _parse_json(text)
            name = content.get("name") if isinstance(content, dict) else None
            attributes = content.get("attributes") if isinstance(content, dict) else None
            self._parsed[text] = (str(name), attributes if isinstance(attributes, dict) else {})
        return self._parsed[text]

    def decode(self, value: Any, text: str) -> HParamValue | None:
        """Return the value of a parameter from its internal number."""
        name, attributes = self._parse(text)
        number = find_number(value)
        if number is None:
            return None
        if name != "CategoricalDistribution":
            return number
        choices = attributes.get("choices")
        if not isinstance(choices, list) or not (0 <= number < len(choices)):
            return None
        choice = choices[int(number)]
        return "None" if choice is None else as_hparam_value(choice)

    def describe(self, name: str, text: str) -> HParam:
        """Return the declaration of a hyperparameter with its domain."""
        _, attributes = self._parse(text)
        low, high = find_number(attributes.get("low")), find_number(attributes.get("high"))
        if low is not None and high is not None:
            return HParam(name, Interval(low, high))
        choices = attributes.get("choices")
        values = map(as_hparam_value, choices) if isinstance(choices, list) else ()
        return HParam(name, tuple(value for value in values if value is not None) or None)


# ---- SQLite


def read_optuna_database(path: Path) -> StudyContents | None:
    """Return the studies of a SQLite database; None if it is not a database of Optuna.

    Raises:
        FormatError: The database is damaged, locked or too large.
        OSError: The file cannot be read.
    """
    with path.open("rb") as file:
        header = file.read(20)
    if not header.startswith(SQLITE_MAGIC):
        return None
    try:
        with _open_database(path, is_wal=header[18:20] == b"\2\2") as database:
            tables = {
                name
                for (name,) in database.execute(
                    "SELECT name FROM sqlite_master WHERE type = 'table'"
                )
            }
            return _read_tables(database) if tables >= _TABLES else None
    except sqlite3.Error as error:
        raise FormatError(
            "hparams.damaged_database", "the database cannot be read: {error}", error=error
        ) from None


@contextmanager
def _open_database(path: Path, is_wal: bool) -> Iterator[sqlite3.Connection]:
    """Open a database read-only. Nothing is created beside it, and its schema is not trusted."""
    wal = path.with_name(f"{path.name}-wal")
    has_wal = wal.exists() and wal.stat().st_size > 0
    # SQLite would create files for a write-ahead log that nobody writes now.
    mode = "immutable=1" if is_wal and not has_wal else "mode=ro"
    connection = sqlite3.connect(
        f"{path.resolve().as_uri()}?{mode}", uri=True, timeout=_LOCK_TIMEOUT_S
    )
    with closing(connection) as database:
        deadline_s = time.monotonic() + _QUERY_TIMEOUT_S
        database.set_progress_handler(lambda: time.monotonic() > deadline_s, 100_000)
        database.execute("PRAGMA trusted_schema = OFF")
        database.execute("PRAGMA cell_size_check = ON")
        database.text_factory = lambda data: data.decode("utf-8", "replace")
        yield database


def _read_tables(database: sqlite3.Connection) -> StudyContents:
    studies: dict[int, _Study] = {}
    query = f"SELECT study_id, substr(study_name, 1, 500) FROM studies LIMIT {_MAX_STUDIES}"
    for study_id, name in database.execute(query):
        studies[study_id] = _Study(shorten_name(name))
    _read_directions(database, studies)
    trials: dict[int, tuple[_Study, _Trial]] = {}
    zone = _find_time_zone(database)
    query = (
        "SELECT trial_id, study_id, number, state, datetime_start, datetime_complete FROM trials"
        f" ORDER BY trial_id LIMIT {MAX_TRIALS + 1}"
    )
    problems = []
    for trial_id, study_id, number, state, start, end in database.execute(query):
        study = studies.get(study_id)
        if len(trials) == MAX_TRIALS:
            problems.append(_make_limit_message())
        elif study is not None:
            number = find_step(number)
            trial = _Trial(
                len(study.trials) if number is None else number,
                str(state),
                find_time(start, zone),
                find_time(end, zone),
            )
            study.trials.append(trial)
            trials[trial_id] = study, trial
    _read_trial_tables(database, trials)
    return StudyContents(tuple(study.build() for study in studies.values()), tuple(problems))


def _find_time_zone(database: sqlite3.Connection) -> timezone | None:
    """Return the zone of times: UTC since Optuna 5, local time (None) before."""
    if "library_version" not in _list_columns(database, "version_info"):
        return None
    row = database.execute("SELECT substr(library_version, 1, 20) FROM version_info").fetchone()
    major = str(row[0]).partition(".")[0] if row else ""
    return timezone.utc if major.isdecimal() and int(major) >= 5 else None


def _read_directions(database: sqlite3.Connection, studies: Mapping[int, _Study]) -> None:
    if _list_columns(database, "study_directions"):
        query = "SELECT study_id, direction FROM study_directions ORDER BY study_id, objective"
        for study_id, direction in database.execute(query):
            if study_id in studies:
                studies[study_id].directions.append(str(direction))
    elif "direction" in _list_columns(database, "studies"):  # before Optuna 2.4
        for study_id, direction in database.execute("SELECT study_id, direction FROM studies"):
            if study_id in studies:
                studies[study_id].directions.append(str(direction))
    if not _list_columns(database, "study_system_attributes"):
        return
    query = (
        f"SELECT study_id, substr(value_json, 1, {_MAX_JSON_CHARS}) FROM study_system_attributes"
        " WHERE key = ?"
    )
    for study_id, text in database.execute(query, (_METRIC_NAMES_KEY,)):
        if study_id in studies:
            studies[study_id].metric_names = _parse_names(_parse_json(text))


def _read_trial_tables(
    database: sqlite3.Connection, trials: Mapping[int, tuple[_Study, _Trial]]
) -> None:
    distributions = _Distributions()
    query = (
        "SELECT trial_id, substr(param_name, 1, 500), param_value,"
        f" substr(distribution_json, 1, {_MAX_JSON_CHARS}) FROM trial_params"
        f" ORDER BY param_id LIMIT {MAX_VALUES}"
    )
    for trial_id, name, value, text in database.execute(query):
        if trial_id in trials:
            study, trial = trials[trial_id]
            _set_param(study, trial, str(name), value, str(text), distributions)
    value_type = _get_type_column(database, "trial_values", "value_type")
    query = f"SELECT trial_id, objective, value, {value_type} FROM trial_values LIMIT {MAX_VALUES}"
    for trial_id, objective, value, kind in database.execute(query):
        number, index = _decode_value(value, kind), find_step(objective)
        if trial_id in trials and number is not None and index is not None:
            trials[trial_id][1].values[index] = number
    if _list_columns(database, "trial_intermediate_values"):
        value_type = _get_type_column(
            database, "trial_intermediate_values", "intermediate_value_type"
        )
        query = (
            f"SELECT trial_id, step, intermediate_value, {value_type}"
            f" FROM trial_intermediate_values LIMIT {MAX_VALUES}"
        )
        for trial_id, step, value, kind in database.execute(query):
            number, index = _decode_value(value, kind), find_step(step)
            if trial_id in trials and number is not None and index is not None:
                trials[trial_id][1].reported[index] = number
    if _list_columns(database, "trial_user_attributes"):
        query = (
            "SELECT trial_id, substr(key, 1, 500), value_json FROM trial_user_attributes"
            f" WHERE length(value_json) < 40 LIMIT {MAX_VALUES}"
        )
        for trial_id, key, text in database.execute(query):
            number = find_number(_parse_json(text))
            if trial_id in trials and number is not None:
                trials[trial_id][1].attributes[str(key)] = number
    if _list_columns(database, "trial_system_attributes"):
        query = (
            f"SELECT trial_id, key, substr(value_json, 1, {_MAX_JSON_CHARS})"
            f" FROM trial_system_attributes WHERE key = ? OR key LIKE ? LIMIT {MAX_VALUES}"
        )
        for trial_id, key, text in database.execute(
            query, (_CONSTRAINTS_KEY, f"{_CONSTRAINTS_KEY}:%")
        ):
            if trial_id in trials:
                trials[trial_id][1].is_infeasible |= _is_violated(str(key), _parse_json(text))


def _is_violated(key: str, value: Any) -> bool:
    """Return whether a system attribute is a constraint that its trial violates."""
    if key.partition(":")[0] != _CONSTRAINTS_KEY:
        return False
    numbers = map(find_number, value if isinstance(value, list) else [value])
    return any(number is not None and number > 0 for number in numbers)


def _list_columns(database: sqlite3.Connection, table: str) -> set[str]:
    return {str(row[1]) for row in database.execute(f"PRAGMA table_info({table})")}


def _get_type_column(database: sqlite3.Connection, table: str, column: str) -> str:
    """Return a column, or NULL for databases of older versions that do not have it."""
    return column if column in _list_columns(database, table) else "NULL"


def _decode_value(value: Any, kind: Any) -> float | None:
    if kind in _SPECIAL_VALUES:
        return _SPECIAL_VALUES[kind]
    if value is None:  # Optuna 2 stored NaN as NULL
        return math.nan
    return find_number(value)


def _set_param(
    study: _Study,
    trial: _Trial,
    name: str,
    value: Any,
    distribution: str,
    distributions: _Distributions,
) -> None:
    decoded = distributions.decode(value, distribution)
    if decoded is not None:
        trial.params[name] = decoded
        if name not in study.domains:
            study.domains[name] = distributions.describe(name, distribution)


# ---- journal


def read_optuna_journal(path: Path) -> StudyContents | None:
    """Return the studies of a journal file; None if it is not a journal of Optuna.

    Lines that cannot be read are skipped and counted; the last one may be incomplete.

    Raises:
        FormatError: The file is too large.
        OSError: The file cannot be read.
    """
    if path.stat().st_size > _MAX_JOURNAL_BYTES:
        raise FormatError(
            "hparams.study_file_too_large",
            "the file is larger than {size}",
            size=f"{_MAX_JOURNAL_BYTES >> 30} GB",
        )
    journal = _Journal()
    damaged = 0
    with path.open("rb") as file:
        for index, line in enumerate(iter(lambda: file.readline(_MAX_LINE_BYTES), b"")):
            is_valid = line.endswith(b"\n") and journal.apply(_parse_json(line))
            if index == 0 and not is_valid:
                return None
            damaged += line.endswith(b"\n") and not is_valid
    problems = [_make_limit_message()] if journal.has_more_trials else []
    if damaged:
        problems.append(
            Message.format(
                "hparams.damaged_lines",
                "{count:,} damaged lines are skipped",
                count=damaged,
            )
        )
    studies = [study.build() for study in journal.studies.values() if study.name]
    return StudyContents(tuple(studies), tuple(problems))


class _Journal:
    """Replays the operations of a journal, with Optuna's rules for conflicts between workers."""

    def __init__(self) -> None:
        self.studies: dict[int, _Study] = {}
        self.has_more_trials = False
        self._next_study_id = 0
        self._trials: list[tuple[_Study, _Trial]] = []
        self._distributions = _Distributions()
        self._operations = (
            self._create_study,
            self._delete_study,
            self._ignore,  # user attribute of a study
            self._set_study_attributes,
            self._create_trial,
            self._set_param,
            self._set_state,
            self._set_intermediate_value,
            self._set_user_attributes,
            self._set_system_attributes,
            self._ignore,  # discarded trials, which Optuna ignores as well
        )

    def apply(self, record: Any) -> bool:
        """Apply an operation; return whether it is one."""
        code = record.get("op_code") if isinstance(record, dict) else None
        if type(code) is not int or not 0 <= code < len(self._operations):
            return False
        try:
            self._operations[code](record)
        except (KeyError, TypeError, ValueError, AttributeError, IndexError):
            return False
        return True

    def _ignore(self, record: dict[str, Any]) -> None:
        pass

    def _create_study(self, record: dict[str, Any]) -> None:
        name = shorten_name(record["study_name"])
        if any(study.name == name for study in self.studies.values()):
            return  # two workers created it at the same time
        if len(self.studies) < _MAX_STUDIES:
            directions = [_DIRECTION_NAMES[number] for number in record["directions"]]
            self.studies[self._next_study_id] = _Study(name, directions)
        self._next_study_id += 1

    def _delete_study(self, record: dict[str, Any]) -> None:
        self.studies.pop(record["study_id"], None)

    def _set_study_attributes(self, record: dict[str, Any]) -> None:
        study = self.studies.get(record["study_id"])
        names = record["system_attr"].get(_METRIC_NAMES_KEY)
        if study is not None and names is not None:
            study.metric_names = _parse_names(names)

    def _create_trial(self, record: dict[str, Any]) -> None:
        study = self.studies.get(record["study_id"])
        if study is None:
            return
        trial = _Trial(len(study.trials), start_time=find_time(record.get("datetime_start")))
        if len(self._trials) >= MAX_TRIALS:
            self.has_more_trials = True
            return
        study.trials.append(trial)
        self._trials.append((study, trial))
        if "state" not in record:
            return
        # A trial that was added as a whole, with `enqueue_trial` or `add_trial`.
        trial.state = _STATE_NAMES[record["state"]]
        trial.end_time = find_time(record.get("datetime_complete"))
        values = record.get("values") or [record.get("value")]
        trial.values.update(_enumerate_numbers(values))
        for step, value in (record.get("intermediate_values") or {}).items():
            self._report(trial, step, value)
        for name, value in (record.get("params") or {}).items():
            distribution = str(record["distributions"][name])
            _set_param(study, trial, name, value, distribution, self._distributions)
        self._add_attributes(trial, record.get("user_attrs") or {})
        self._check_constraints(trial, record.get("system_attrs") or {})

    def _find_open_trial(self, record: dict[str, Any]) -> tuple[_Study, _Trial] | None:
        """Return a trial that has not ended; ended ones do not change any more."""
        trial_id = record["trial_id"]
        if not 0 <= trial_id < len(self._trials):
            return None
        pair = self._trials[trial_id]
        return pair if pair[1].state in ("RUNNING", "WAITING") else None

    def _set_param(self, record: dict[str, Any]) -> None:
        pair = self._find_open_trial(record)
        if pair is not None:
            value, text = record["param_value_internal"], str(record["distribution"])
            _set_param(*pair, str(record["param_name"]), value, text, self._distributions)

    def _set_state(self, record: dict[str, Any]) -> None:
        pair = self._find_open_trial(record)
        if pair is None:
            return
        trial, state = pair[1], _STATE_NAMES[record["state"]]
        if state == "RUNNING" and trial.state != "WAITING":
            return
        trial.state = state
        trial.start_time = find_time(record.get("datetime_start")) or trial.start_time
        trial.end_time = find_time(record.get("datetime_complete")) or trial.end_time
        trial.values.update(_enumerate_numbers(record.get("values") or ()))

    def _set_intermediate_value(self, record: dict[str, Any]) -> None:
        pair = self._find_open_trial(record)
        if pair is not None:
            self._report(pair[1], record["step"], record["intermediate_value"])

    def _report(self, trial: _Trial, step: Any, value: Any) -> None:
        number, index = find_number(value), find_step(step)
        if number is not None and index is not None:
            trial.reported[index] = number

    def _set_user_attributes(self, record: dict[str, Any]) -> None:
        pair = self._find_open_trial(record)
        if pair is not None:
            self._add_attributes(pair[1], record["user_attr"])

    def _set_system_attributes(self, record: dict[str, Any]) -> None:
        pair = self._find_open_trial(record)
        if pair is not None:
            self._check_constraints(pair[1], record["system_attr"])

    def _check_constraints(self, trial: _Trial, attributes: Mapping[str, Any]) -> None:
        if any(_is_violated(str(key), value) for key, value in attributes.items()):
            trial.is_infeasible = True

    def _add_attributes(self, trial: _Trial, attributes: Mapping[str, Any]) -> None:
        for name, value in attributes.items():
            number = find_number(value)
            if number is not None:
                trial.attributes[shorten_name(name)] = number


def _enumerate_numbers(values: Any) -> dict[int, float]:
    numbers = map(find_number, values)
    return {index: number for index, number in enumerate(numbers) if number is not None}


def _parse_names(names: Any) -> list[str]:
    return [shorten_name(name) for name in names] if isinstance(names, list) else []


def _parse_json(text: Any) -> Any:
    try:
        return load_json(text)
    except (ValueError, TypeError, RecursionError):
        return None


def _make_limit_message() -> Message:
    return Message.format(
        "hparams.too_many_trials",
        "only the first {max_trials:,} trials are read",
        max_trials=MAX_TRIALS,
    )
