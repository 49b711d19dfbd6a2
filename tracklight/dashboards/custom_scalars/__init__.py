"""The Custom scalars dashboard: charts laid out by who logs them, or in the page."""
