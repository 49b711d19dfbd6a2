"""Analysis of logged data, one subpackage or module for each kind. No HTTP.

`source` defines read access to a log (`Source`, `Context`), which the rest builds on. Subpackages:
`graphs`, `profiles`, `debugger`, `embeddings`, `evaluation` (metrics per slice), `fairness`
(evaluations of a log), `experiments` (hyperparameters), `derived_metrics` (expressions over tags),
`media` (images, audio, text and other single values), `tables` (data sets), `predictors` (models)
and `what_if`; modules: `meshes`, `pr_curves` and `jobs` (background jobs). One kind of data does
not import another, with few exceptions that ``tools/check_imports.py`` lists.

May import `tracklight.formats`, `tracklight.logdir`, `tracklight.index`, `tracklight.types`,
`tracklight.errors` and `tracklight.util`; dashboards, the reader and the server build on it.
"""
