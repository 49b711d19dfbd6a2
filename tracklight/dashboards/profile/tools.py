"""The tools that a capture is looked at with, in their order."""

from __future__ import annotations

from tracklight.dashboards.profile import (
    compare,
    input,
    kernels,
    memory,
    ops,
    overview,
    program,
    roofline,
    timeline,
)
from tracklight.dashboards.profile.tool import Tool

TOOLS: tuple[Tool, ...] = (
    overview.TOOL,
    input.TOOL,
    timeline.TOOL,
    ops.TOOL,
    kernels.TOOL,
    memory.TOOL,
    program.TOOL,
    roofline.TOOL,
    compare.TOOL,
)
