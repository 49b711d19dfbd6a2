"""Write event files from a training program.

`event_writer.EventWriter` is the entry point: it encodes records into a buffer, which a
`writer_thread.WriterThread` writes to a `Sink` (a local file or an object store) in the
background. `values` builds the records that the logging APIs (`tracklight.summary`,
`tracklight.torch` and so on) pass to it, with the help of `arguments` and `media`, which
convert what users pass in. `warnings` reports misuse without breaking the training,
`tf_function` supports logging from inside a ``tf.function``, and `process` collects what
`tracklight.run` records of the program.

May import `tracklight.formats`, `tracklight.errors` and `tracklight.util`. Must not import
`tracklight.summary`, `tracklight.profiler`, the framework integrations, or a framework itself:
importing the writer has to stay cheap.
"""
