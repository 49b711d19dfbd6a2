"""What-If analysis of models: edits, counterfactuals, partial dependence, thresholds, statistics.

`workspace` holds the data, the models and the edits. `distances` and `counterfactuals` compare
rows, `feature_effects` varies features, `performance` and `thresholds` evaluate decisions per
slice, and `feature_statistics` describes the data. Everything returns arrays or plain values;
`tracklight.what_if` turns them into tables, the dashboard into responses.

No HTTP. May import `tracklight.analysis.tables`, `predictors` and `evaluation`. Start reading at
`workspace.py`.
"""
