"""Check the installation: compiled parts, folders, extras, frameworks and dashboards."""

from __future__ import annotations

import importlib.util
import os
import platform
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, entry_points, version
from pathlib import Path
from typing import NamedTuple

from tracklight import __version__
from tracklight.cli.findings import Finding, Section, fine, name_some, note, wrong
from tracklight.errors import CannotListen
from tracklight.index.cache import find_user_cache
from tracklight.notes.place import find_data_folder
from tracklight.server.listen import bind
from tracklight.server.page import PAGE_DIR
from tracklight.server.plugins import GROUP


class Extra(NamedTuple):
    """An optional part of tracklight: the packages that it installs, and what they are for."""

    packages: tuple[str, ...]
    purpose: str


#: Every extra of pyproject.toml except "all".
EXTRAS = {
    "remote": Extra(("aiohttp", "fsspec"), "logs at http:// and other URLs"),
    "s3": Extra(("aiohttp", "fsspec", "s3fs"), "logs at s3://"),
    "gcs": Extra(("aiohttp", "fsspec", "gcsfs"), "logs at gs://"),
    "azure": Extra(("aiohttp", "fsspec", "adlfs"), "logs at az://"),
    "pandas": Extra(("pandas",), "tables for pandas"),
    "polars": Extra(("polars",), "tables for Polars"),
    "arrow": Extra(("pyarrow",), "tables for Arrow"),
    "parquet": Extra(("pyarrow",), "export to Parquet files"),
    "images": Extra((), "part of the core install"),
    "keras": Extra(("keras",), "the Keras callback"),
    "notebook": Extra(("anywidget",), "live charts in notebook cells"),
    "projector": Extra(("h5py", "pyarrow"), "embeddings in HDF5 and Parquet files"),
    "search": Extra(("optuna",), "hyperparameter search with Optuna"),
    "system": Extra(("psutil", "nvidia-ml-py"), "CPU, memory and GPU use beside profiles"),
}
_WRITERS = ("torch", "tensorflow", "keras", "jax", "lightning", "transformers", "tensorboardX")


def check_install() -> Section:
    system = f"{platform.system()} {platform.machine()}"
    title = f"tracklight {__version__}, Python {platform.python_version()} on {system}"
    findings = [*_check_parts(), *_check_folders(), _check_port(), *_check_packages()]
    return Section(title, findings)


def _check_parts() -> Iterator[Finding]:
    if importlib.util.find_spec("tracklight.formats._scan"):
        yield fine("the reader is compiled")
    else:
        yield wrong(
            "the reader is not compiled, so large logs are read slowly",
            "install a C compiler, then tracklight again",
        )
    if (PAGE_DIR / "index.html").is_file():
        yield fine("the page is built")
    else:
        yield wrong(
            "the page is not built, so only data are served", "install tracklight again, with npm"
        )


def _check_folders() -> Iterator[Finding]:
    yield _check_folder("what was read", find_user_cache(), "--cache-dir or TRACKLIGHT_CACHE")
    yield _check_folder("notes", find_data_folder(), "TRACKLIGHT_DATA")


def _check_folder(what: str, folder: Path, other_way: str) -> Finding:
    if _is_writable(folder):
        return fine(f"{what} can be kept in {folder}")
    return wrong(f"{what} cannot be kept: {folder} is not writable", f"choose another: {other_way}")


def _is_writable(folder: Path) -> bool:
    """Whether it could be written to, or made; nothing is."""
    nearest = next((it for it in (folder, *folder.parents) if it.exists()), folder)
    return nearest.is_dir() and os.access(nearest, os.W_OK)


def _check_port() -> Finding:
    try:
        bind("localhost", 6006).close()
    except CannotListen:
        return note("port 6006 is taken", "without --port the next one that is free is used")
    return fine("port 6006 is free")


def _check_packages() -> Iterator[Finding]:
    for name, extra in EXTRAS.items():
        yield _check_extra(name, extra)
    writers = [f"{name} {found}" for name in _WRITERS if (found := _find_version(name))]
    yield fine(f"programs can log from {name_some(writers, 99) or 'plain Python'}")
    tensorboard = _find_version("tensorboard")
    if tensorboard:
        yield fine(f"TensorBoard {tensorboard} is installed, too, and not needed")
    for entry in entry_points(group=GROUP):
        yield fine(f'the dashboard "{entry.name}" comes from {entry.value}')


def _check_extra(name: str, extra: Extra) -> Finding:
    versions = {package: _find_version(package) for package in extra.packages}
    missing = [package for package, found in versions.items() if found is None]
    if missing:
        return note(
            f'extra "{name}" is not installed (no {" and ".join(missing)}): {extra.purpose}',
            f"pip install 'tracklight[{name}]'",
        )
    listed = ", ".join(f"{package} {found}" for package, found in versions.items())
    return fine(f'extra "{name}"{f" ({listed})" if listed else ""}: {extra.purpose}')


def _find_version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
