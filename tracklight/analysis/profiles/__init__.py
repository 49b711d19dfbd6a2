"""Analysis of profiler captures of TensorFlow, JAX, PyTorch and the built-in Python sampler.

Start with `trace.Trace`, the in-memory form of every capture, and `captures.open_capture`, which
reads one. `steps` divides a trace into steps and says what their time went into; `findings.summary`
combines all results for the overview. `timeline` answers the queries of the trace viewer.

Modules, each importing only those before it:

- `trace`, `arrays`: the data model and the array operations that analyses share
- `attribution`: what device work and gaps belong to, and how long devices were busy
- `captures`: find, group, read and export capture files
- `xla_programs`, `ops`, `xprof`, `steps`: which op each event is, and which step it belongs to
- `kernels`, `roofline`, `communication`, `memory`: device kernels, FLOPs and bytes, collectives,
  allocations
- `calls`: operators, modules, flame graphs and call trees
- `findings`: what to change, the summary of a capture, and the comparison of two
- `timeline`: lanes, levels of detail, search and event details
- `profile_data`, `sql`: captures as tables, for programs, and queries over them

This package may import `formats`, `logdir` and `index`, but nothing that serves HTTP.
"""
