"""Calls: which event called which, and what they took together.

- `nesting`: the caller of each event, the device work that each event launched, and PyTorch's
  operators and modules, with the time on the host and on devices
- `call_tree`: calls merged by their stack, for flame graphs and call trees, and their difference

May import `trace`, `arrays`, `ops`, `roofline`, `steps` and `attribution`.
"""
