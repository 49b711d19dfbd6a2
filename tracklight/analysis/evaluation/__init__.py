"""Model evaluation: metrics per slice, with confidence intervals. NumPy only, no HTTP.

Rows are consumed in chunks and reduced to weighted counts by slice, replicate (of the jackknife or
bootstrap), label and score bin. Every metric, curve and interval is computed from these counts, so
memory does not depend on the number of rows.

- `evaluator` is the entry point: `Evaluator.update(chunk)` for each chunk, then `result()`.
- `slices` and `filters` define slices and assign rows to them; `resampling` assigns rows to
  replicates, and has the distributions behind intervals.
- `curves` holds the sums, and computes ROC, PR and calibration curves and score distributions.
- `models` turns sums into metrics of binary, multi-class and regression models; `metrics` has the
  formulas.
- `results` is the table of metrics with intervals and differences; `report` stores it in event
  files and writes it as Markdown.

Thresholds: a prediction is positive when the score is **greater than** the threshold. Undefined
metrics (0 / 0) are NaN.

May import `tracklight.errors`, `tracklight.types` and `tracklight.util` only.
"""
