"""What to change, with its evidence and by how much it could win."""
