"""Capture files: find, group, read and export them.

Start with `files.open_capture`, which reads any supported file into a `Trace`:

- `xplane`: XPlane protobufs of TensorFlow and JAX
- `chrome_trace`: Chrome trace JSON of PyTorch (Kineto) and others
- `timestamps`, `metadata`: what both readers need to clean up times and describe devices
- `chrome_export`: write a trace as Chrome trace JSON, for Perfetto

May import `analysis.profiles.trace`, `analysis.profiles.arrays`, `formats` and `logdir`.
"""
