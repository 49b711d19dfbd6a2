"""Capture files: find, group, read and export them.

Start with `files.open_capture`, which reads any supported file into a `Trace`:

- `xplane`: XPlane protobufs of TensorFlow and JAX
- `chrome_trace`: Chrome trace JSON of PyTorch (Kineto) and others, and writing it for Perfetto
- `timestamps`: what both readers need to clean up times and describe devices

May import `analysis.profiles.trace`, `analysis.profiles.arrays`, `formats` and `logdir`.
"""
