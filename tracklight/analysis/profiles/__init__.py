"""What profilers record, whichever wrote it: read into one form, steps found, time divided."""
