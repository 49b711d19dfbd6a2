"""Write ``dumps.tar.xz``: ``python make.py`` where TensorFlow is installed.

Runs ``tests/frameworks/programs/debug_dump_program.py`` in every mode and stores, beside each dump,
what TensorFlow's own reader finds in it. The text of library files is left out of the dumps.
"""

from __future__ import annotations

import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
PROGRAM = HERE.parents[1] / "frameworks/programs/debug_dump_program.py"
MODES = ("NO_TENSOR", "CURT_HEALTH", "CONCISE_HEALTH", "FULL_HEALTH", "SHAPE", "FULL_TENSOR")


def drop_library_text(path: Path) -> None:
    import tensorflow as tf
    from tensorflow.core.protobuf import debug_event_pb2

    events = [
        debug_event_pb2.DebugEvent.FromString(record.numpy())
        for record in tf.data.TFRecordDataset(str(path))
    ]
    with tf.io.TFRecordWriter(str(path)) as writer:
        for event in events:
            if "-packages" in event.source_file.file_path:
                del event.source_file.lines[:]
            writer.write(event.SerializeToString())


def main() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        for mode, buffer in [*((mode, 0) for mode in MODES), ("FULL_HEALTH", 20)]:
            name = "circular" if buffer else mode.lower()
            command = [sys.executable, PROGRAM, folder / name, mode, str(buffer)]
            subprocess.run([*command, folder / f"{name}.json"], check=True)
            for path in (folder / name).glob("*.source_files"):
                drop_library_text(path)
        with tarfile.open(HERE / "dumps.tar.xz", "w:xz") as archive:
            for path in sorted(folder.iterdir()):
                archive.add(path, path.name)


if __name__ == "__main__":
    main()
