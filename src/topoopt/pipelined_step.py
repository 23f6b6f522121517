"""The noun PipelinedStep: one training iteration of a model in pipeline stages, by durations and bytes.

It knows nothing of transformers: whoever makes it has already turned shapes into seconds and bytes. The task graph
and the closed form of an iteration are both made from it, and so is its traffic.
"""

from dataclasses import dataclass, field

from topoopt.traffic import Ints, Traffic


@dataclass(frozen=True, eq=False)
class Chunk:
    """One virtual stage: the layers that a worker runs one after the other for one micro-batch.

    Attributes
    ----------
    forward_s, backward_s : float
        Time of one micro-batch with everything that stays inside a server: compute, recomputation, tensor
        parallel collectives among accelerators of one server.
    activation_bytes : int
        What a worker sends on to the next chunk per micro-batch (as much comes back as gradient); 0 for the last.
    exchanges : int
        All-to-alls, of dispatch and combine, in the forward pass of one micro-batch; as many in the backward pass.
    exchange_share : float
        Of the bytes of one forward all-to-all that every accelerator of a worker sends in all, see
        :attr:`PipelinedStep.exchange_bytes`.
    worker_forward_bytes, worker_backward_bytes : int
        AllReduced per micro-batch over the servers of a worker, where it spans several of them.
    """

    forward_s: float
    backward_s: float
    activation_bytes: int = 0
    exchanges: int = 0
    exchange_bytes: int = 0
    worker_forward_bytes: int = 0
    worker_backward_bytes: int = 0


@dataclass(frozen=True, eq=False)
class Gradient:
    """Weights of one chunk that replicas hold in common.

    ``members`` are servers in ring order, ``kind`` is ``allreduce`` or ``reduce-scatter`` (followed by an
    all-gather of the parameters).
    """

    stage: int
    members: tuple[int, ...]
    size_bytes: int
    kind: str = "allreduce"
    delay_s: float = 0.0


@dataclass(frozen=True, eq=False)
class PipelinedStep:
    """An iteration of 1F1B, or of interleaved 1F1B where there are more chunks than stages.

    Attributes
    ----------
    servers, accelerators_per_server : int
    micro_batches : int
    chunks : tuple of Chunk
        Chunk c runs on stage ``c % stages``.
    worker_server : int64 array, shape (stages, replicas, width)
        Servers of each worker; width is 1 where a worker fits into a server.
    worker_accelerator : int64 array, shape (stages, replicas)
        Which device of its first server stands for the worker.
    gradients : tuple of Gradient
    traffic : Traffic
        All of one iteration, between servers.
    """

    servers: int
    accelerators_per_server: int
    micro_batches: int
    chunks: tuple[Chunk, ...]
    worker_server: Ints
    worker_accelerator: Ints
    gradients: tuple[Gradient, ...]
    traffic: Traffic
    names: tuple[str, ...] = field(default=())
