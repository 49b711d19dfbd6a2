"""Programs of XLA: what their instructions are, cost and took, and how they read."""
