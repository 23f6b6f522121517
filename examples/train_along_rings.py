"""Train with DistributedDataParallel, gradients along a plan's rings: torchrun --nproc-per-node 5 THIS_FILE [PLAN].

Rank i is on server i of the plan; without a plan there is a ring each way around. Needs PyTorch.
"""

import sys

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from topoopt.plugins.testbeds.collectives import (
    MultiRing,
    multi_ring_all_reduce,
    multi_ring_hook,
    rings_of_plan,
    rings_of_strides,
)

dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
own = rings_of_strides(range(size), (1, size - 1))
rings = rings_of_plan(sys.argv[1]) if len(sys.argv) > 1 else own

torch.manual_seed(0)
model = DistributedDataParallel(
    torch.nn.Sequential(torch.nn.Linear(16, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1))
)
model.register_comm_hook(MultiRing(rings), multi_ring_hook)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

torch.manual_seed(rank + 1)  # every rank has samples of its own
inputs = torch.randn(256, 16)
targets = inputs.sum(1, keepdim=True)
for step in range(50):
    optimizer.zero_grad()
    loss = torch.nn.functional.mse_loss(model(inputs), targets)
    loss.backward()
    optimizer.step()
    if step % 49 == 0:
        mean = multi_ring_all_reduce(loss.detach(), rings, average=True)
        if rank == 0:
            print(f"step {step}: loss {mean:.3f} on {size} ranks, {len(rings)} rings")
dist.destroy_process_group()
