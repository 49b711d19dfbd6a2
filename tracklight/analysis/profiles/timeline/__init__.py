"""The data behind the trace viewer: layout, levels of detail, search and details of events.

Start with `layout.Timeline`, which lays out a trace once. The rest answers queries about it:

- `lanes`: assigns the events of a track to lanes
- `pyramid`: events at several levels of detail
- `tiles`: what is visible in a range of time at one level of detail
- `search`: events by name or argument
- `details`: one event, a selected range of time, and flows between events

May import `analysis.profiles.trace` and `analysis.profiles.arrays`.
"""
