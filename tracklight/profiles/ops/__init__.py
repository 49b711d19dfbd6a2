"""Which op each event is, and how long ops took."""
