"""Logs from PyTorch programs: change one import line, and the rest of the program stays as it is.

    from tracklight.torch import SummaryWriter

    with SummaryWriter("runs/first") as writer:
        writer.add_scalar("loss", loss, step)

What the files hold is what ``torch.utils.tensorboard`` writes, so everything that reads its logs
reads these. PyTorch itself is only imported to look at a model, by `SummaryWriter.add_graph`.
"""

from __future__ import annotations

from tracklight.torch.file_writer import FileWriter
from tracklight.torch.summary_writer import SummaryWriter

__all__ = ["FileWriter", "SummaryWriter"]
