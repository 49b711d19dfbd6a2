"""Values that are shown one at a time (images, audio, text, histograms, curves, meshes). No HTTP.

- `values`: the steps of a tag, reading and decoding single values, and those of a static export.
- `markdown`: rendering of logged Markdown to safe HTML, with `markdown_parser` and `safe_html`.
- `time_limits`: deadlines and regular expressions in a subprocess, for untrusted input.

Start with `values`. May import `tracklight.analysis.source`, `tracklight.formats`,
`tracklight.types`, `tracklight.errors` and `tracklight.util`.
"""
