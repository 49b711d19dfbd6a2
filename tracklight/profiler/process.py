"""What is recorded of the process: its environment, its console output, and what it uses.

`tracklight.run` logs the environment (command, machine, versions, git revision and source code) as
text and as a `RunStart`. What the program prints is copied to a file in the directory of its run.
Each line begins with its time and stream, as Kubernetes writes logs:
``2026-11-17T09:14:05.123456Z stdout F text``. A line that the program overwrites with carriage
returns, such as a progress bar, is written once, in its last state.

`SystemMetricsLogger` logs CPU, memory and GPU utilization as scalars while a program runs. CPU and
memory are read with psutil, NVIDIA GPUs with nvidia-ml-py (module `pynvml`). Both come with the
extra `system`. What is not installed or not supported by the machine is left out.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from importlib import metadata
from types import ModuleType
from typing import Any, BinaryIO, Protocol

from tracklight.errors import MissingDependencyError, import_optional
from tracklight.formats.hparams import RunStart
from tracklight.util.memory import get_pid_namespace
from tracklight.writer import warnings
from tracklight.writer.event_writer import EventWriter

_INTERVAL_S = 1.0
_JOIN_TIMEOUT_S = 5.0
_FILE_SUFFIX = ".system"
_EXTRA = "system"
_GB = 1e9
_MB = 1e6


# ---- system metrics


class MetricSource(Protocol):
    """Something that reports metrics by name."""

    def read(self) -> Iterator[tuple[str, float]]: ...

    def close(self) -> None: ...


class _Rates:
    """The changes of counters of bytes since the previous reading, in MB/s.

    Args:
        read: Returns an object with the counters; it is called once per reading, as it reads files
            of the system.
        fields: The names of the counters by the names of the metrics.
    """

    def __init__(self, read: Callable[[], object], fields: Mapping[str, str]) -> None:
        self._read = read
        self._fields = fields
        self._last: tuple[float, dict[str, int]] | None = None

    def __call__(self) -> dict[str, float]:
        counters = self._read()
        now = time.monotonic()
        counts = {name: int(getattr(counters, field)) for name, field in self._fields.items()}
        last, self._last = self._last, (now, counts)
        if last is None or now <= last[0]:
            return dict.fromkeys(counts, 0.0)
        passed_s = now - last[0]
        return {
            name: max(0, count - last[1][name]) / passed_s / _MB for name, count in counts.items()
        }


class HostMetrics:
    """CPU, memory, disk and network of the machine, and CPU and memory of this process.

    CPU percentages cover the time since the previous reading of the same thread, so the first
    reading of a thread has none worth logging.
    """

    def __init__(self, psutil: ModuleType) -> None:
        self._psutil = psutil
        self._process = psutil.Process()
        self._rates = [
            _Rates(
                psutil.disk_io_counters,
                {"disk_read_mb_s": "read_bytes", "disk_write_mb_s": "write_bytes"},
            ),
            _Rates(
                psutil.net_io_counters,
                {"network_received_mb_s": "bytes_recv", "network_sent_mb_s": "bytes_sent"},
            ),
        ]

    def read(self) -> Iterator[tuple[str, float]]:
        readers: dict[str, Callable[[], float]] = {
            "process_cpu_percent": self._process.cpu_percent,
            "cpu_percent": self._psutil.cpu_percent,
            "memory_percent": lambda: self._psutil.virtual_memory().percent,
            "process_memory_gb": lambda: self._process.memory_info().rss / _GB,
        }
        # Some are not available, for example in a container without /proc.
        unavailable = (self._psutil.Error, OSError, AttributeError)
        for name, reader in readers.items():
            with suppress(*unavailable):
                yield name, float(reader())
        for rates in self._rates:
            with suppress(*unavailable):
                yield from rates().items()

    def close(self) -> None:
        pass


class GpuMetrics:
    """Utilization, memory, power and temperature of the NVIDIA GPUs visible to this process.

    Raises:
        pynvml.NVMLError: There is no NVIDIA driver, or it does not work.
    """

    def __init__(self, pynvml: ModuleType) -> None:
        self._nvml = pynvml
        pynvml.nvmlInit()
        self._devices: dict[int, Any] = {}
        for index in range(pynvml.nvmlDeviceGetCount()):
            try:
                device = pynvml.nvmlDeviceGetHandleByIndex(index)
                uuid = pynvml.nvmlDeviceGetUUID(device)
            except pynvml.NVMLError:  # a device that this user may not access, or that failed
                continue
            if _is_visible(index, uuid):
                self._devices[index] = device

    def read(self) -> Iterator[tuple[str, float]]:
        nvml = self._nvml
        readers: dict[str, Callable[[Any], float]] = {
            "percent": lambda device: nvml.nvmlDeviceGetUtilizationRates(device).gpu,
            "memory_gb": lambda device: nvml.nvmlDeviceGetMemoryInfo(device).used / _GB,
            "watts": lambda device: nvml.nvmlDeviceGetPowerUsage(device) / 1000,
            "celsius": lambda device: nvml.nvmlDeviceGetTemperature(
                device, nvml.NVML_TEMPERATURE_GPU
            ),
        }
        for index, device in self._devices.items():
            for name, reader in readers.items():
                try:
                    yield f"gpu{index}_{name}", float(reader(device))
                except nvml.NVMLError:
                    continue  # the device does not support this reading

    def close(self) -> None:
        self._nvml.nvmlShutdown()


def _is_visible(index: int, uuid: str) -> bool:
    """Return whether CUDA_VISIBLE_DEVICES allows a device.

    As in CUDA, entries after the first invalid one (such as -1) are ignored. Indexes are taken
    in PCI order, which is CUDA's order on machines with GPUs of one model.
    """
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is None:
        return True
    for entry in map(str.strip, visible.split(",")):
        if entry.startswith("MIG-"):
            return True  # NVML does not tell which GPU a MIG instance belongs to
        if entry.startswith("GPU-"):
            if uuid.startswith(entry):
                return True
        elif not entry.isdigit():
            break
        elif int(entry) == index:
            return True
    return False


def open_sources() -> list[MetricSource]:
    """Return the metric sources of this machine, and warn about packages that are missing."""
    sources: list[MetricSource] = []
    try:
        psutil = import_optional("psutil", "Logging CPU and memory use", _EXTRA)
        sources.append(HostMetrics(psutil))
    except MissingDependencyError as error:
        warnings.warn_once("sample", f"{error}. The profile itself is not affected.")
    try:
        pynvml = import_optional("pynvml", "Logging GPU use", _EXTRA)
    except MissingDependencyError as error:
        if sources and shutil.which("nvidia-smi"):
            warnings.warn_once("sample", f"{error}. The profile itself is not affected.")
        return sources
    try:
        sources.append(GpuMetrics(pynvml))
    except pynvml.NVMLError:  # no NVIDIA driver
        pass
    return sources


class SystemMetricsLogger:
    """Read the metrics once a second in a background thread and log them as `system/…` scalars.

    A step gets one point: the mean of all readings taken during it. Steps shorter than a second
    share a point. A program that reports no steps gets one point per reading.

    Args:
        run_dir: The directory of the run.
        strict: Whether the event writer raises exceptions instead of warning.
        interval_s: Time between two readings.
    """

    def __init__(self, run_dir: str, *, strict: bool, interval_s: float = _INTERVAL_S) -> None:
        self.step: int | None = None
        self._run_dir, self._strict, self._interval_s = run_dir, strict, interval_s
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._readings: dict[str, list[float]] = defaultdict(list)
        self._last_step = -1

    def start(self) -> None:
        self._sources = open_sources()
        if not self._sources:
            return
        self._writer = EventWriter(self._run_dir, filename_suffix=_FILE_SUFFIX, strict=self._strict)
        self._thread = threading.Thread(target=self._run, name="tracklight-system", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Take a last reading and close the file."""
        thread, self._thread = self._thread, None
        if thread is not None:
            self._stopping.set()
            thread.join(_JOIN_TIMEOUT_S)
            self._writer.close()

    def _run(self) -> None:
        with warnings.catch_errors("profile (sample)", strict=False):
            for source in self._sources:
                for _ in source.read():  # start the intervals that CPU percentages refer to
                    pass
            while not self._stopping.wait(self._interval_s):
                self._log_readings()
            self._log_readings()
            for source in self._sources:
                source.close()

    def _log_readings(self) -> None:
        for source in self._sources:
            for name, value in source.read():
                self._readings[name].append(value)
        step = self._last_step + 1 if self.step is None else self.step
        if step > self._last_step:
            for name, values in self._readings.items():
                self._writer.scalar(f"system/{name}", sum(values) / len(values), step)
            self._readings.clear()
            self._last_step = step


# ---- environment

#: Packages whose versions are recorded if the program has imported them.
_PACKAGES = (
    "tracklight numpy torch tensorflow keras jax jaxlib flax lightning transformers datasets "
    "accelerate scikit-learn scipy pandas xgboost lightgbm"
).split()
_MODULE_OF_PACKAGE = {"scikit-learn": "sklearn"}
_MAX_SOURCE_BYTES = 1 << 20
_GIT_TIMEOUT_S = 2.0


def collect_run_start() -> RunStart:
    """Return what is known about the program and the machine."""
    return RunStart(
        command=" ".join([os.path.basename(sys.executable), *sys.argv]),
        directory=os.getcwd(),
        host=platform.node(),
        user=_get_user(),
        git_commit=find_git_revision() or "",
        platform=platform.platform(),
        python=platform.python_version(),
        versions=_list_versions(),
        pid=os.getpid(),
        pid_namespace=get_pid_namespace(),
        wall_time=time.time(),
    )


def describe_environment(start: RunStart) -> str:
    """Return a Markdown table of facts about the program and the machine.

    CUDA_VISIBLE_DEVICES is the only environment variable in it: others may contain secrets.
    """
    facts = {
        "command": start.command,
        "working directory": start.directory,
        "host": start.host,
        "user": start.user,
        "platform": start.platform,
        "Python": start.python,
        "CPU count": str(os.cpu_count()),
        "CUDA_VISIBLE_DEVICES": os.environ.get("CUDA_VISIBLE_DEVICES", ""),
        "git": start.git_commit,
        **start.versions,
    }
    rows = [f"| {name} | `{_escape_cell(fact)}` |" for name, fact in facts.items() if fact]
    return "\n".join(["| | |", "|---|---|", *rows])


def read_main_source() -> str | None:
    """Return the program's main file as Markdown; None in a notebook or if it exceeds 1 MiB."""
    path = getattr(sys.modules.get("__main__"), "__file__", None)
    if path is None:
        return None
    try:
        if os.path.getsize(path) > _MAX_SOURCE_BYTES:
            return None
        with open(path, encoding="utf-8") as file:
            source = file.read()
    except (OSError, UnicodeDecodeError):
        return None
    fence = "`" * (_count_backticks(source) + 3)
    return f"`{path}`\n\n{fence}python\n{source}\n{fence}\n"


def read_git_diff() -> str | None:
    """Return the changes of tracked files since the commit as Markdown; None above 1 MiB."""
    diff = _run_git("diff", "HEAD")
    if not diff or len(diff) > _MAX_SOURCE_BYTES:
        return None
    fence = "`" * (_count_backticks(diff) + 3)
    return f"{fence}diff\n{diff}\n{fence}\n"


def find_git_revision() -> str | None:
    """Return the commit hash of the working directory, with a plus if tracked files differ."""
    head = _run_git("rev-parse", "HEAD")
    if not head:
        return None
    return head + ("+" if _run_git("status", "--porcelain", "--untracked-files=no") else "")


def _get_user() -> str:
    import getpass

    try:
        return getpass.getuser()
    except (ImportError, KeyError, OSError):  # a container may have no entry for the user
        return ""


def _run_git(*arguments: str) -> str:
    try:
        result = subprocess.run(
            ["git", *arguments],
            capture_output=True,
            encoding="utf-8",
            errors="replace",  # files may have another encoding
            timeout=_GIT_TIMEOUT_S,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return result.stdout.strip()


def _list_versions() -> dict[str, str]:
    versions = {}
    for package in _PACKAGES:
        if _MODULE_OF_PACKAGE.get(package, package) in sys.modules:
            try:
                versions[package] = metadata.version(package)
            except metadata.PackageNotFoundError:
                continue
    return versions


def _escape_cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").replace("`", "'").split())


def _count_backticks(text: str) -> int:
    """Return the length of the longest run of backticks; a code fence must be longer."""
    longest = 0
    while "`" * (longest + 1) in text:
        longest += 1
    return longest


# ---- console output

FILE_NAME = "console.log"

#: Longer lines are split, so that a program that never ends its line cannot fill the memory.
_MAX_LINE_CHARS = 64 * 1024
#: Later output is dropped, with a last line that says so.
_MAX_FILE_BYTES = 256 << 20


class ConsoleCapture:
    """Copies ``sys.stdout`` and ``sys.stderr`` to a file until it is stopped.

    Output of other processes and of C code, which does not use these objects, is not captured.

    Args:
        run_dir: The directory of the run; remote directories are not supported.
    """

    def __init__(self, run_dir: str) -> None:
        self._lock = threading.Lock()
        self._file: BinaryIO | None = None
        self._bytes = 0
        self._second = (-1, "")
        self._tees: dict[str, _Tee] = {}
        if "://" in run_dir:
            warnings.warn_once("console", f"is captured in local directories only, not {run_dir}")
            return
        try:
            os.makedirs(run_dir, exist_ok=True)
            # Unbuffered: each line is one system call, and a killed process loses none.
            self._file = open(os.path.join(run_dir, FILE_NAME), "ab", buffering=0)
        except OSError as error:
            warnings.warn_once("console", f"cannot be captured in {run_dir}: {error}")
            return
        for name in ("stdout", "stderr"):
            tee = _Tee(getattr(sys, name), name, self)
            self._tees[name] = tee
            setattr(sys, name, tee)

    def write_line(self, stream: str, line: str) -> None:
        """Write a line with the current time. Failures are reported once."""
        second, microsecond = divmod(time.time_ns() // 1000, 1_000_000)
        with self._lock:
            if self._file is None:
                return
            if self._second[0] != second:
                text = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(second))
                self._second = second, text
            stamp = f"{self._second[1]}.{microsecond:06}Z"
            record = f"{stamp} {stream} F {line}\n".encode(errors="backslashreplace")
            self._bytes += len(record)
            if self._bytes > _MAX_FILE_BYTES:
                record = f"{stamp} stderr F (further output is not captured)\n".encode()
            try:
                self._file.write(record)
            except (OSError, ValueError) as error:
                self._file.close()
                self._file = None
                warnings.warn_once("console", f"is no longer captured: {error}")
            if self._bytes > _MAX_FILE_BYTES and self._file is not None:
                self._file.close()
                self._file = None

    def stop(self) -> None:
        """Restore the streams and close the file. Further calls do nothing."""
        for name, tee in self._tees.items():
            tee.end_line()
            # Another program may have replaced the stream meanwhile, and still writes to this one.
            if getattr(sys, name) is tee:
                setattr(sys, name, tee.original)
        self._tees = {}
        with self._lock:
            if self._file is not None:
                self._file.close()
                self._file = None


class _Tee:
    """A text stream that passes everything on and reports complete lines."""

    def __init__(self, original: Any, name: str, capture: ConsoleCapture) -> None:
        self.original = original
        self._name = name
        self._capture = capture
        self._line = ""

    def write(self, text: str) -> int:
        count: int = self.original.write(text)
        if "\n" not in text and len(self._line) + len(text) < _MAX_LINE_CHARS:
            # Only the last state of a progress bar is kept.
            self._line = text[text.rfind("\r") :] if "\r" in text[1:] else self._line + text
            return count
        *complete, self._line = (self._line + text).split("\n")
        if len(self._line) >= _MAX_LINE_CHARS:
            complete.append(self._line)
            self._line = ""
        for line in complete:
            self._capture.write_line(self._name, _get_last_state(line))
        return count

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    def end_line(self) -> None:
        """Report a line that was not ended."""
        line, self._line = _get_last_state(self._line), ""
        if line:
            self._capture.write_line(self._name, line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.original, name)

    def __iter__(self) -> Any:
        return iter(self.original)


def _get_last_state(line: str) -> str:
    """Return what a terminal shows of a line with carriage returns."""
    shown = ""
    for part in line.split("\r"):
        shown = part + shown[len(part) :]
    return shown
