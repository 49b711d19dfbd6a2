"""What device work, and time without any, belongs to.

- `launches`: links from launches to device work, and from one thread to another
- `utilization`: how long tracks and devices were busy
- `device_steps`: the step that each device event belongs to
- `cuda_graphs`: the XLA instruction that each kernel of a CUDA graph runs
- `python_frames`: the Python code that ran while nothing else was recorded

May import `analysis.profiles.trace`, `analysis.profiles.arrays` and `formats`.
"""
