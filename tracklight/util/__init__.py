"""Helpers that know nothing about logs: caches, atomic file writes, hashes.

Every other package may import this one; it may import only `tracklight.errors`.
"""
