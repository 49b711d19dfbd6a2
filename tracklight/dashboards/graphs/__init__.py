"""The Graphs dashboard: what a model computes, opened scope by scope."""
