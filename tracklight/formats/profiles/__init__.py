"""Formats of profiles: XSpace, HLO, Chrome trace, pprof and CUDA memory snapshots.

These modules parse files and know nothing about the analysis of profiles, which is in
`tracklight.analysis.profiles`. They may import what `tracklight.formats` may import.

* `xplane`: the profiles of TensorFlow and JAX (``*.xplane.pb``).
* `hlo`: the XLA programs in such profiles.
* `chrome_trace`: the traces of the PyTorch profiler (``*.pt.trace.json``).
* `memory_profiles`: the device memory profiles of JAX (``*.prof``, a pprof file), and the state and
  history of PyTorch's CUDA allocator (``*snapshot*.pickle``).
"""
