"""What users say about a log: kept in tracklight's own data folder, never in the log."""
