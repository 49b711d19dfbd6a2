"""Train on one of two processes: ``python debugger_ddp.py FOLDER RANK WRAPPED``.

The data of rank 1 contain NaN at step 3. WRAPPED is 1 to watch the model with its wrapper
`DistributedDataParallel`, 0 to watch the model inside of it.
"""

from __future__ import annotations

import os
import sys

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from tracklight.debugger import watch


def main() -> None:
    folder, rank, is_wrapped = sys.argv[1], int(sys.argv[2]), sys.argv[3] == "1"
    torch.set_num_threads(1)
    torch.distributed.init_process_group(
        "gloo", init_method=f"file://{folder}/rendezvous", rank=rank, world_size=2
    )
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
    parallel = DistributedDataParallel(model)
    optimizer = torch.optim.SGD(parallel.parameters(), 0.01)
    torch.manual_seed(rank)
    with watch(parallel if is_wrapped else model, f"{folder}/logs/ddp"):
        for step in range(6):
            x = torch.randn(4, 8)
            if rank == 1 and step == 3:
                x[2, 5] = torch.nan
            optimizer.zero_grad()
            nn.functional.mse_loss(parallel(x), x[:, :1].nan_to_num()).backward()
            optimizer.step()
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()
    # On a busy machine, threads of Gloo may still run at the exit of Python and make it crash.
    os._exit(0)


if __name__ == "__main__":
    main()
