"""Steps found, and what their time went into."""
