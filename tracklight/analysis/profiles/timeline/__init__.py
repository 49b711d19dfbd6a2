"""A trace to look at: in lanes, at any level of detail, with what belongs together."""
