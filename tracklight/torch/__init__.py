"""Log from PyTorch programs: a drop-in replacement for ``torch.utils.tensorboard``.

    from tracklight.torch import SummaryWriter

    with SummaryWriter("runs/first") as writer:
        writer.add_scalar("loss", loss, step)

The files have the same content as those of ``torch.utils.tensorboard``. PyTorch is only imported to
read the graph of a model, by `SummaryWriter.add_graph`.

`summary_writer` has the public class and `file_writer` the event file below it. The other modules
build the values: `summary_values` (scalars, text, audio, histograms, PR curves, meshes,
hyperparameters), `images` (also embeddings) and `graphs`. `lightning` and `transformers` have the
logger and the callback of these frameworks; they are not imported here. May import
`tracklight.writer`, `tracklight.hparams`, `tracklight.projector` and `tracklight.formats`.
"""

from __future__ import annotations

from tracklight.torch.file_writer import FileWriter
from tracklight.torch.summary_writer import SummaryWriter

__all__ = ["FileWriter", "SummaryWriter"]
