"""Memory: what was allocated, by what, and what was in use at the peak.

- `allocators`: allocator events of traces, leaks, and heap profiles in the pprof format
- `snapshots`: snapshots of PyTorch's CUDA allocator, by category and stack, fragmentation, and the
  buffers that XLA assigned to a program

May import `trace`, `arrays`, `steps`, `xla_programs` and `formats`.
"""
