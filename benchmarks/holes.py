"""What PyTorch's caching allocator needs beyond tensors in a pipeline's first stage: ``python -m benchmarks.holes``.

An iteration in PyTorch operators one by one is played tensor by tensor: 1F1B, a Llama's layers with RMSNorm in fp32 or
in one kernel, FlashAttention, SwiGLU, gradients that autograd allocates. Of each stage: how much more than its
tensors' peak the device must have so that the iteration runs, and how much more is reserved where there is room.
"""

import heapq
import random
import statistics
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count, product

from benchmarks.caching_allocator import Block, CachingAllocator, NoRoom

GIBIBYTE = 2**30
STAGES = 60
BUCKET = 5e8
"""Gradients that are summed up at once, as in Aleph-Alpha/scaling and DeepSpeed."""

STEP = 0.005
"""Of the tensors' peak, by which room is added until an iteration runs."""


@dataclass(frozen=True, slots=True)
class Job:
    """A pipeline whose first stage is played."""

    hidden: int
    inner: int
    layers: int
    tp: int
    pp: int
    sequences: int
    tokens: int
    norm_kernel: bool
    dp: int = 8


class Storage:
    """Memory of a tensor, given back when nobody refers to it."""

    __slots__ = ("block", "device", "size")

    def __init__(self, device: CachingAllocator, size: float) -> None:
        self.device, self.size = device, size
        self.block: Block | None = device.take(size)

    def __del__(self) -> None:
        if getattr(self, "block", None) is not None:
            self.device.give_back(self.block)  # type: ignore[arg-type]


@dataclass(slots=True, eq=False)
class Weight:
    """A matrix: bytes, and its gradient once there is one."""

    size: float
    gradient: Storage | None = None


_ORDER = count()


@dataclass(slots=True, eq=False)
class Node:
    """An operator of autograd's graph: whose outputs it took, their gradients' bytes (0: passed on), what it keeps."""

    inputs: "list[Node | Weight]" = field(default_factory=list)
    gradients: list[float] = field(default_factory=list)
    kept: list[Storage] = field(default_factory=list)
    order: int = field(default_factory=lambda: next(_ORDER))


@dataclass(slots=True, eq=False)
class Tensor:
    """A storage and the operator that it came from."""

    storage: Storage
    node: Node


class Stage:
    """The first stage of a job on a device."""

    def __init__(self, job: Job, device: CachingAllocator) -> None:
        self.job, self.device = job, device
        h, f, tp = 2.0 * job.hidden, job.inner / job.tp, job.tp
        of_layer = (2 * h, 3 * h * job.hidden / tp, h * job.hidden / tp, h * f, h * f, h * f)
        self.weights = [[Weight(size) for size in of_layer] for _ in range(job.layers)]
        whole = sum(of_layer) * job.layers
        arriving = 2.0 * job.sequences * job.tokens * job.hidden
        # 16-bit weights, fp32 weights and moments of the rank's share, what arrives from the next stage.
        self.stays = [Storage(device, size) for size in (whole, *3 * [2 * whole / job.dp], arriving)]

    def apply(
        self, inputs: list[Tensor | Weight], size: float, gradients: list[float], kept: str = ""
    ) -> Tensor:
        """Run an operator; ``kept`` has a digit for each input that it keeps, and ``o`` for its output."""
        out = Storage(self.device, size)
        nodes = [one.node if isinstance(one, Tensor) else one for one in inputs]
        saved = [inputs[int(which)].storage for which in kept if which.isdigit()]  # type: ignore[union-attr]
        return Tensor(out, Node(nodes, gradients, saved + [out] * ("o" in kept)))

    def norm(self, x: Tensor, weight: Weight) -> Tensor:
        """Return RMSNorm of a tensor of 16 bits."""
        small = 2.0 * self.job.hidden
        half = x.storage.size
        if self.job.norm_kernel:
            return self.apply([x, weight], half, [half, small], "0")
        wide = self.apply([x], 2 * half, [half])
        square = self.apply([wide], 2 * half, [2 * half], "0")
        mean = self.apply([square], half / self.job.hidden, [2 * half])
        del square
        normed = self.apply([wide, mean], 2 * half, [2 * half, half / self.job.hidden], "0")
        del wide, mean
        narrow = self.apply([normed], half, [2 * half])
        del normed
        return self.apply([narrow, weight], half, [half, small], "0")

    def layer(self, x: Tensor, weights: list[Weight]) -> Tensor:
        """Return what a layer makes of its input."""
        job, whole = self.job, x.storage.size
        part, inner = whole / job.tp, whole * job.inner / job.hidden / job.tp
        normed = self.norm(x, weights[0])
        joint = self.apply([normed, weights[1]], 3 * part, [whole, weights[1].size], "0")
        del normed
        query, key = (self.apply([joint], part, [3 * part]) for _ in range(2))
        out = self.apply([query, key, joint], part, [part, part, 3 * part], "012o")
        del query, key, joint
        if job.sequences > 1:
            out = self.apply([out], part, [part])
        back = self.apply([out, weights[2]], whole, [part, weights[2].size], "0")
        del out
        x = self.apply([back, x], whole, [0, 0])
        del back
        normed = self.norm(x, weights[0])
        gate, up = (self.apply([normed, one], inner, [whole, one.size], "0") for one in weights[3:5])
        del normed
        active = self.apply([gate], inner, [inner], "0")
        del gate
        both = self.apply([active, up], inner, [inner, inner], "01")
        del active, up
        back = self.apply([both, weights[5]], whole, [inner, weights[5].size], "0")
        del both
        return self.apply([back, x], whole, [0, 0])

    def forward(self) -> Tensor:
        """Return what the stage sends on for one micro-batch."""
        x = Tensor(Storage(self.device, self.stays[-1].size), Node())
        for weights in self.weights:
            x = self.layer(x, weights)
        return x

    def iterate(self) -> None:
        """Play 1F1B over two rounds of micro-batches, and the end of the iteration."""
        flying = [self.forward() for _ in range(self.job.pp)]
        for turn in range(2 * self.job.pp):
            backward(self.device, flying.pop(0), Storage(self.device, self.stays[-1].size))
            if turn < self.job.pp:
                flying.append(self.forward())
        self.step()

    def step(self) -> None:
        """Copy gradients into buckets, turn these to fp32, and the rank's share of all; gradients are gone after it."""
        bucket, whole = 0.0, 0.0
        for weight in (one for weights in self.weights for one in weights):
            bucket, whole = bucket + weight.size, whole + weight.size
            if bucket > 2 * BUCKET:
                _copies = [Storage(self.device, size) for size in (bucket, 2 * bucket)]
                bucket = 0.0
        _copies = [Storage(self.device, 2 * whole / self.job.dp)]
        for weight in (one for weights in self.weights for one in weights):
            weight.gradient = None


def backward(device: CachingAllocator, root: Tensor, gradient: Storage) -> None:
    """Go through the graph from the last operator to the first; what a node keeps is freed behind it."""
    waiting = {root.node.order: (root.node, gradient)}
    heap = [-root.node.order]
    del root, gradient
    while heap:
        node, arrived = waiting.pop(-heapq.heappop(heap))
        leaving = [Storage(device, size) if size else arrived for size in node.gradients]
        node.kept, inputs = [], node.inputs
        del node, arrived
        for one in inputs:
            given = leaving.pop(0)
            if isinstance(one, Weight):
                one.gradient = one.gradient or given
            elif one.order not in waiting:
                waiting[one.order] = (one, given)
                heapq.heappush(heap, -one.order)
            elif sys.getrefcount(waiting[one.order][1]) > 2:
                # Somebody else has the first of the two: their sum is a tensor of its own.
                waiting[one.order] = (one, Storage(device, given.size))
            del given


def play(job: Job, capacity: float) -> CachingAllocator:
    """Return a device of some bytes after two iterations.

    Raises
    ------
    NoRoom
        If that is not enough.
    """
    device = CachingAllocator(capacity)
    stage = Stage(job, device)
    for _ in range(2):
        stage.iterate()
    return device


def shares(job: Job) -> tuple[float, float]:
    """Return what a stage needs, and what is reserved where there is room, beyond the peak of its tensors."""
    free = play(job, float("inf"))
    peak = free.most_allocated
    for steps in count():
        try:
            play(job, peak * (1 + STEP * steps))
        except NoRoom:
            continue
        return STEP * steps, free.most_reserved / peak - 1
    raise AssertionError


def jobs() -> Iterator[Job]:
    """Yield stages of Llamas that fill much of a device."""
    sizes = ((4096, 11008, 32), (6144, 16384, 48), (8192, 28672, 80), (12288, 32768, 96))
    batches = ((1, 2048), (2, 2048), (4, 2048), (1, 8192))
    for (hidden, inner, layers), tp, pp, (sequences, tokens), kernel in product(
        sizes, (1, 2, 4, 8), (2, 4, 8), batches, (False, True)
    ):
        one = Job(hidden, inner, max(layers // pp // 2, 4), tp, pp, sequences, tokens, kernel)
        if 20 * GIBIBYTE < play(one, float("inf")).most_allocated < 120 * GIBIBYTE:
            yield one


def main() -> None:
    """Print the medians of some stages, drawn by chance."""
    drawn = random.Random(0).sample(list(jobs()), STAGES)
    for kernel, name in ((False, "norms in fp32"), (True, "norms in one kernel")):
        found = [shares(job) for job in drawn if job.norm_kernel == kernel]
        needed, held = (statistics.median(column) for column in zip(*found, strict=True))
        least, most = min(found)[0], max(found)[0]
        print(
            f"{name}: {len(found)} stages need {100 * needed:.1f} % more ({100 * least:.1f} to {100 * most:.1f}), "
            f"hold {100 * held:.0f} % more where there is room"
        )


if __name__ == "__main__":
    main()
