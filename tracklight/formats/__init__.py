"""File formats: convert bytes to records and records to bytes.

This package holds everything that knows the encoding of a file: TFRecord and event files,
protobuf messages, tensors, media files, ONNX models, dumps of TensorFlow's debugger
(`debug_events`), recordings of our own (`tensor_health`), profiles (`formats.profiles`) and
checkpoints (`formats.checkpoints`). It knows nothing about directories, runs or HTTP.

It may import only `errors`, `types` and `util`. Most of the other packages import it.

Where to start reading:

* Reading event files: `scanner` splits a file into records and returns a `batch.Batch`, with
  scalars as columns and the location of everything else; `values` decodes such a value on demand.
* Writing event files: `summary` builds values and events, `tfrecord` adds the framing.
  `record_buffer` is the fast path for scalars.
* `proto` provides the protobuf message classes that are declared in ``schemas/*.proto``.

``_scan``, ``_encode`` and ``_xplane`` are compiled with Cython. Each has an equivalent in Python,
which is used when no compiler was available and serves as the reference in tests.
"""
