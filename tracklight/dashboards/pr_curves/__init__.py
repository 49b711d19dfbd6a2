"""The PR curves dashboard: precision and recall of a classifier at every threshold."""
