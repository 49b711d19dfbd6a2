"""From many dimensions to two or three, and what can be said of neighbours in each."""
