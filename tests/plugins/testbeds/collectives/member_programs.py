"""What ranks do in the tests of collectives; run there by name."""

from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from topoopt.base.errors import TopoOptError
from topoopt.plugins.testbeds.collectives import (
    MultiRing,
    all_to_all,
    multi_ring_all_reduce,
    multi_ring_hook,
    rings_of_strides,
)
from topoopt.plugins.testbeds.training.real_training import Worker


def numbers_of(rank: int, dtype: Any, count: int) -> torch.Tensor:
    """The numbers that a rank brings, known to all."""
    drawn = torch.Generator().manual_seed(rank)
    if dtype.is_floating_point or dtype.is_complex:
        return torch.randn(count, generator=drawn, dtype=torch.float64).to(dtype)
    return torch.randint(0, 100, (count,), generator=drawn).to(dtype)


def difference_from_sum(
    worker: Worker, dtype: str, count: int, strides: tuple[int, ...], passing: str, pieces: int
) -> float:
    """Largest difference of a multi-ring AllReduce from the sum in double precision, relative to the largest sum."""
    kind = getattr(torch, dtype)
    ring = MultiRing(rings_of_strides(range(worker.size), strides), passing=passing, pieces=pieces)
    mine = numbers_of(worker.rank, kind, count)
    ring.all_reduce(mine)
    ring.close()
    wide = torch.complex128 if kind.is_complex else torch.float64
    brought = torch.stack([numbers_of(rank, kind, count) for rank in range(worker.size)])
    whole = brought.any(0).to(wide) if kind is torch.bool else brought.to(wide).sum(0)
    if kind is torch.uint8:
        whole %= 256
    return float(((mine.to(wide) - whole).abs() / whole.abs().max().clamp(min=1)).max()) if count else 0.0


def bits_of_sum(worker: Worker, count: int) -> bytes:
    """The bits of a sum of floats."""
    mine = numbers_of(worker.rank, torch.float32, count)
    summed = multi_ring_all_reduce(mine, rings_of_strides(range(worker.size), (1, 2)))
    return bytes(summed.numpy())


def sum_of_some(worker: Worker, members: tuple[int, ...]) -> list[int] | str:
    """The sum over some of the ranks of their numbers, plus 1; of others what they are told."""
    mine = torch.tensor([worker.rank + 1])
    try:
        multi_ring_all_reduce(mine, rings_of_strides(members, (1, len(members) - 1)))
    except TopoOptError as error:
        return str(error)
    return list(mine.tolist())


def sums_at_once(worker: Worker, buffers: int) -> list[list[int]]:
    """Ends of several AllReduces that are on their way at the same time, in a layout that is no single block."""
    ring = MultiRing(rings_of_strides(range(worker.size), (1, 2, 3)), overlap=3)
    tensors = [torch.full((1000, 7), worker.rank + number).t() for number in range(buffers)]
    for future in [ring.start(tensor) for tensor in tensors]:
        future.wait()
    ring.close()
    return [sorted(set(tensor.flatten().tolist())) for tensor in tensors]


def halves(worker: Worker) -> bool:
    """Whether reduce-scatter and then all-gather make an AllReduce."""
    ring = MultiRing(rings_of_strides(range(worker.size), (1, 2)))
    mine = torch.arange(101) * (worker.rank + 1)
    ring.start(mine, collective="reduce-scatter").wait()
    before = torch.equal(mine, torch.arange(101) * 15)
    ring.start(mine, collective="all-gather").wait()
    ring.close()
    return not before and torch.equal(mine, torch.arange(101) * 15)


def exchanged(worker: Worker) -> list[list[int]]:
    """What comes of an all-to-all of uneven sizes: rank s sends d numbers s*10 + d to rank d, so none to rank 0."""
    inputs = [torch.full((d,), worker.rank * 10 + d) for d in range(worker.size)]
    outputs = [torch.full((worker.rank,), -1) for _ in range(worker.size)]
    all_to_all(outputs, inputs)
    return [output.tolist() for output in outputs]


def refusal(worker: Worker, what: str) -> str:
    """What is said to a call that cannot be."""
    ring = MultiRing(rings_of_strides(range(worker.size), (1,)))
    calls: dict[str, Callable[[], object]] = {
        "average": lambda: ring.all_reduce(torch.tensor([1]), average=True),
        "pieces": lambda: MultiRing(ring.rings, pieces=0),
        "passing": lambda: MultiRing(ring.rings, passing="piece"),
        "collective": lambda: ring.start(torch.tensor([1]), collective="gather"),
        "outputs": lambda: all_to_all([], []),
        "strided": lambda: all_to_all([torch.ones(4)[::2]] * worker.size, [torch.ones(2)] * worker.size),
    }
    try:
        calls[what]()
    except TopoOptError as error:
        return str(error)
    finally:
        ring.close()
    return "nothing"


def model() -> nn.Module:
    """A small model, the same everywhere."""
    torch.manual_seed(7)
    return nn.Sequential(
        nn.Linear(8, 300), nn.Tanh(), nn.Linear(300, 200), nn.Tanh(), nn.Linear(200, 1)
    ).double()


def gradient_error(worker: Worker, overlap: int) -> tuple[float, int]:
    """Largest difference of DDP's gradients through the hook from those of one process, and how many buckets."""
    torch.manual_seed(11)
    batch = torch.randn(4 * worker.size, 8, dtype=torch.float64)
    alone = model()
    (alone(batch) ** 2).mean().backward()
    buckets: list[int] = []

    def hook(state: MultiRing, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
        buckets.append(bucket.index())
        return multi_ring_hook(state, bucket)

    ring = MultiRing(rings_of_strides(range(worker.size), (1, 2, 3, 4)), overlap=overlap)
    together = DistributedDataParallel(model(), bucket_cap_mb=0.05)
    together.register_comm_hook(ring, hook)
    for _ in range(3):  # DDP rearranges its buckets after the first
        together.zero_grad()
        buckets.clear()
        (together(batch[worker.rank :: worker.size]) ** 2).mean().backward()
    ring.close()
    pairs = zip(alone.parameters(), together.parameters(), strict=True)
    errors = [
        float((a.grad - b.grad).abs().max()) for a, b in pairs if a.grad is not None and b.grad is not None
    ]
    dist.barrier()
    return max(errors), len(buckets)
