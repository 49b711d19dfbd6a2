"""Messages with a code, and their translations in the catalog of the page."""

from __future__ import annotations

import ast
import json
import pickle
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
import pytest

import tracklight
from tracklight.analysis.evaluation.report import StoredMessage
from tracklight.errors import (
    FormatError,
    LogdirNotFoundError,
    Message,
    MissingDependencyError,
    RunNotFoundError,
    UsageError,
    find_message,
)

PACKAGE = Path(tracklight.__file__).parent
CATALOG = PACKAGE.parent / "web" / "messages"
CODE = re.compile(r"[a-z][a-z0-9_]*\.[a-z][a-z0-9_]*")
MAKES_MESSAGE = re.compile(r"(^Message|^Message\.format|(?<!Dependency)Error|super\(\)\.__init__)$")
ARGUMENT = re.compile(r"\{(\w+)")


class Sentence(NamedTuple):
    """A sentence in the source code."""

    code: str
    template: str
    place: str


def iter_sentences() -> Iterator[Sentence]:
    """Find calls whose first arguments are a message code and a text."""
    for path in sorted(PACKAGE.rglob("*.py")):
        tree = ast.parse(path.read_text("utf-8"))
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call) or len(node.args) < 2:
                continue
            if not MAKES_MESSAGE.search(ast.unparse(node.func)):
                continue
            first, second = node.args[:2]
            if isinstance(first, ast.Constant) and CODE.fullmatch(str(first.value)):
                place = f"{path.relative_to(PACKAGE)}:{node.lineno}"
                if isinstance(second, ast.Constant) and isinstance(second.value, str):
                    yield Sentence(first.value, second.value, place)
                elif isinstance(second, ast.Name | ast.JoinedStr | ast.BinOp):
                    pytest.fail(f"{place}: write the template of {first.value} as a literal")


@pytest.fixture(scope="module")
def sentences() -> list[Sentence]:
    return list(iter_sentences())


def read_catalog(locale: str) -> dict[str, str]:
    catalog = json.loads((CATALOG / locale / "server.json").read_text("utf-8"))
    assert isinstance(catalog, dict)
    return catalog


def list_locales() -> list[str]:
    return sorted(path.name for path in CATALOG.iterdir() if path.name != "en")


def test_a_message_formats_its_template() -> None:
    message = Message.format("log.no_part", "part {part:,} of {tag}", part=1234, tag="loss")
    assert str(message) == message.text == "part 1,234 of loss"
    assert message.args == {"part": 1234, "tag": "loss"}


def test_arguments_are_sent_as_words_and_numbers() -> None:
    message = Message.format("a.b", "{count} {path}", count=np.int64(3), path=Path("x"))
    assert message.args == {"count": 3, "path": "x"}
    assert type(message.args["count"]) is int


def test_the_message_of_another_error_is_nested() -> None:
    inner = FormatError("files.empty", "the file is empty")
    outer = find_message(FormatError("graphs.cannot_show", "x: {error}", error=inner))
    assert outer is not None
    assert outer.text == "x: the file is empty"
    assert outer.args["error"] == Message("files.empty", "the file is empty")
    stored = msgspec.json.encode(StoredMessage.make(outer))
    assert msgspec.json.decode(stored, type=StoredMessage).to_message() == outer


def test_an_error_shows_its_text() -> None:
    assert str(UsageError("a.b", "no run {run}", run="x")) == "no run x"
    assert str(UsageError("no run {run}")) == "no run {run}"
    assert find_message(UsageError("plain text")) is None


def test_the_package_has_message_codes(sentences: list[Sentence]) -> None:
    assert len(sentences) > 250


def test_each_code_has_one_template(sentences: list[Sentence]) -> None:
    templates: dict[str, set[str]] = {}
    for sentence in sentences:
        arguments = ",".join(sorted(ARGUMENT.findall(sentence.template)))
        templates.setdefault(sentence.code, set()).add(arguments)
    assert {code: found for code, found in templates.items() if len(found) > 1} == {}


@pytest.mark.parametrize("locale", list_locales())
def test_every_code_is_translated(sentences: list[Sentence], locale: str) -> None:
    catalog = read_catalog(locale)
    assert [each for each in sentences if each.code not in catalog] == []


@pytest.mark.parametrize("locale", list_locales())
def test_no_translation_is_unused(sentences: list[Sentence], locale: str) -> None:
    assert set(read_catalog(locale)) - {sentence.code for sentence in sentences} == set()


@pytest.mark.parametrize("locale", list_locales())
def test_translations_use_known_arguments(sentences: list[Sentence], locale: str) -> None:
    catalog = read_catalog(locale)
    unknown = [
        (sentence.code, argument)
        for sentence in sentences
        for argument in ARGUMENT.findall(catalog.get(sentence.code, ""))
        if argument not in ARGUMENT.findall(sentence.template)
    ]
    assert unknown == []


#: Packages whose sentences reach the What-If dashboard.
WHAT_IF = ("analysis/tables", "analysis/predictors", "analysis/what_if", "dashboards/what_if")


def iter_plain_errors(folder: str) -> Iterator[str]:
    """Find errors of a package that are raised with plain text, which the page cannot translate."""
    for path in sorted((PACKAGE / folder).glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if not isinstance(node, ast.Call) or len(node.args) != 1:
                continue
            name = ast.unparse(node.func)
            if re.fullmatch(r"(Usage|Model|Format|Log|Save)Error|Sentence\.make", name):
                text = node.args[0]
                is_plain = isinstance(text, ast.JoinedStr | ast.BinOp | ast.Call)
                if is_plain or (isinstance(text, ast.Constant) and text.value):
                    yield f"{path.relative_to(PACKAGE)}:{node.lineno}: {ast.unparse(node)}"


@pytest.mark.parametrize("folder", WHAT_IF)
def test_every_sentence_of_what_if_has_a_code(folder: str) -> None:
    assert list(iter_plain_errors(folder)) == []


def test_errors_can_be_sent_between_processes() -> None:
    for error in (
        RunNotFoundError("run-9", ["run-7"]),
        MissingDependencyError("--cluster", "ray"),
        LogdirNotFoundError("logs", "log"),
        UsageError("plain text"),
    ):
        copy = pickle.loads(pickle.dumps(error))
        assert type(copy) is type(error)
        assert str(copy) == str(error)
        assert find_message(copy) == find_message(error)
        assert vars(copy) == vars(error)
