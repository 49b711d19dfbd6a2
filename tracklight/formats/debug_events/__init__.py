"""The data of debuggers: dumps of TensorFlow, and recordings of ``tracklight.debugger``.

Read the files that ``tf.debugging.experimental.enable_dump_debug_info`` writes.

A dump consists of six files per host, ``tfdbg_events.<seconds>.<host>.<kind>``, each of them a
TFRecord file of DebugEvent messages. The files of executions and of graph execution traces may hold
millions of events, so they are scanned into `columns`; tensors are decoded when they are needed.
The messages of the other files are small and decoded at once. `following` reads files that grow,
and recovers from damage.

`recording` is how tracklight's own debugger stores the health of tensors in event files.

This package knows nothing about directories; `tracklight.analysis.debugger` combines the files of
a dump.
"""
