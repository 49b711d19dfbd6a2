"""Data sets as columns: TFRecord, CSV, JSON lines, Parquet, and the tables of Python libraries.

`DataTable` is a set of `DataColumn` values of one length. `files` reads files, `objects` converts
tables of pandas, Arrow, Polars, NumPy and Hugging Face, `examples` decodes ``tf.Example`` messages
without TensorFlow.

What-If and its predictors build on this package. It must not import HTTP code or other parts of
`tracklight.analysis`. Start reading at `columns.py`.
"""
