"""Evaluate a model per slice of the data, with confidence intervals.

    result = tracklight.fairness.evaluate(
        frame, label="approved", prediction="score", slices=["sex", ["sex", "age_group"]]
    )
    result.to_pandas()                       # slice, metric, threshold, value, lower, upper, count
    result.difference(baseline="Overall")    # gaps with intervals and corrected p-values
    result.write("logs/run1", step=epoch)    # appears in the Fairness dashboard

`evaluate` reads pandas, Arrow and Polars tables, NumPy arrays and Parquet files of any size;
`data` adapts them, `tables` has the results. The metrics are in `tracklight.analysis.evaluation`.
May import that package, `tracklight.writer` and `tracklight.formats`.
"""

from tracklight.analysis.evaluation.slices import Buckets, SliceSpec
from tracklight.fairness.evaluation import evaluate
from tracklight.fairness.tables import DifferenceTable, FairnessResult

__all__ = ["Buckets", "DifferenceTable", "FairnessResult", "SliceSpec", "evaluate"]
