"""What ops compute and move, against what their device can."""
