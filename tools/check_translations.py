"""List missing and stale translations of the site: ``python tools/check_translations.py``.

Extracts the texts of docs/ with Sphinx and compares them with docs/locale/zh_CN. ``--update``
writes the texts that changed into the .po files: new ones are empty, and those that resemble an old
one keep its translation, marked as fuzzy, until it has been checked.
"""

from __future__ import annotations

import io
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.pofile import read_po, write_po

DOCS = Path(__file__).resolve().parent.parent / "docs"
LANGUAGE = "zh_CN"
LOCALE = DOCS / "locale" / LANGUAGE / "LC_MESSAGES"
#: The pages that have to be translated completely; the others are shown in English.
PAGES = ("index", "quickstart", "migration", "dashboards/*")

# Dates and addresses change with every update and say nothing that git does not.
_VOLATILE = re.compile(
    r'"(POT-Creation-Date|PO-Revision-Date|Last-Translator|Language-Team|Report-Msgid-Bugs-To'
    r"|Generated-By): .*\n"
)


def list_pages() -> list[str]:
    """Return the names of the pages to translate, without their suffix."""
    found = [path for pattern in PAGES for path in sorted(DOCS.glob(f"{pattern}.md"))]
    return [path.relative_to(DOCS).with_suffix("").as_posix() for path in found]


def extract(target: Path) -> None:
    """Write the texts of the pages to translate as .pot files."""
    # The other pages take most of the time. Links to them are checked by `make docs`.
    pages = ",".join(f"{pattern}.md" for pattern in PAGES)
    command = [sys.executable, "-m", "sphinx", "-Q", "-b", "gettext"]
    command += ["-D", f"include_patterns={pages}", str(DOCS), str(target)]
    subprocess.run(command, check=True)


def read_catalog(path: Path) -> Catalog:
    if not path.exists():
        return Catalog(locale=LANGUAGE)
    with path.open("rb") as file:
        return read_po(file, locale=LANGUAGE)


def iter_problems(name: str, source: Catalog, translated: Catalog) -> Iterator[str]:
    """Yield one line for each text of a page that is not translated, or no longer exists."""
    for message in source:
        if not message.id:
            continue
        text = str(message.id)
        translation = translated.get(text)
        if translation is None or not translation.string:
            yield f"{name}: missing: {_shorten(text)}"
        elif translation.fuzzy:
            yield f"{name}: fuzzy: {_shorten(text)}"
        elif list_targets(text) != list_targets(str(translation.string)):
            yield f"{name}: other links: {_shorten(text)}"
    for message in translated:
        if message.id and source.get(message.id) is None:
            yield f"{name}: stale: {_shorten(str(message.id))}"


def list_targets(text: str) -> list[str]:
    """Return the links and images of a text, which a translation must keep."""
    return sorted(re.findall(r"\]\(([^)\s]+)\)", text))


def list_problems(templates: Path) -> list[str]:
    """Compare all pages with the .pot files in a folder."""
    problems = []
    for name in list_pages():
        source, translated = (
            read_catalog(templates / f"{name}.pot"),
            read_catalog(LOCALE / f"{name}.po"),
        )
        problems += iter_problems(name, source, translated)
    return problems


def update(templates: Path) -> None:
    for name in list_pages():
        catalog = read_catalog(LOCALE / f"{name}.po")
        catalog.update(read_catalog(templates / f"{name}.pot"), keep_user_comments=False)
        catalog.obsolete.clear()
        target = LOCALE / f"{name}.po"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(format_catalog(catalog), encoding="utf-8")


def format_catalog(catalog: Catalog) -> str:
    buffer = io.BytesIO()
    write_po(buffer, catalog, width=100)
    return _VOLATILE.sub("", buffer.getvalue().decode("utf-8"))


def _shorten(text: str) -> str:
    return text if len(text) <= 70 else f"{text[:70]}…"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        extract(Path(folder))
        if sys.argv[1:] == ["--update"]:
            update(Path(folder))
        problems = list_problems(Path(folder))
    for problem in problems:
        print(problem)
    sys.exit(f"{len(problems)} translations to do" if problems else 0)


if __name__ == "__main__":
    main()
