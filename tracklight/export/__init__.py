"""Writing what a log holds to files of other formats.

`scalars` writes points column by column, so that a log of any size can be exported. `tables`
writes histograms and text, and any other table, row by row. `media` writes images and audio as
files with an index table. `output` has what all of them share: the atomic output file, and the
choice of the format.
"""

from __future__ import annotations

from tracklight.export.output import open_output
from tracklight.export.scalars import FORMATS, export_scalars

__all__ = ["FORMATS", "export_scalars", "open_output"]
