"""The data behind the trace viewer: layout, levels of detail, search and details of events.

Start with `layout.Timeline`, which lays out a trace once: events in lanes, at several levels of
detail. The rest answers queries about it:

- `tiles`: what is visible in a range of time, counters, and events by name or argument
- `details`: one event, a selected range of time, and flows between events

May import `analysis.profiles.trace` and `analysis.profiles.arrays`.
"""
