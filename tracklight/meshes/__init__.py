"""Find the meshes of a log and join the series that each one is logged as.

A mesh is up to three series (vertices, faces and colors) that may have been logged at different
steps: `names` finds them, `moments` joins them by step and `reading` decodes one part. Both the
Mesh dashboard and `tracklight.open` read meshes through this package, so it must import neither.
"""
