"""Steps and ops by xprof's own rules, to be held against xprof."""
