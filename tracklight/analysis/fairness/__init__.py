"""Evaluations of a log: results per slice that were logged, or found as TFMA folders.

- `tfma_folder` reads an evaluation folder of TensorFlow Model Analysis and turns its metrics and
  plots into the same form as our own results (`analysis.evaluation`).
- `library` lists the evaluations of a log and loads them through a cache.

Start with `library.EvaluationLibrary`. May import `formats`, `logdir`, `index` and
`analysis.evaluation`; nothing here knows about HTTP.
"""
