"""A capture at a glance, and two of them side by side."""
