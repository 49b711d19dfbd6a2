"""Turns the files of every profiler into traces."""
