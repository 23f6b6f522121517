"""Small models that are really trained: a rank with its process groups and rings, compared with one process."""

import datetime
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from topoopt.plugins.testbeds.collectives import MultiRing, all_to_all, multi_ring_hook
from topoopt.plugins.testbeds.collectives.pytorch import dist, torch
from topoopt.plugins.testbeds.collectives.rings import Tensor
from topoopt.plugins.testbeds.training.script import Rings

BACKEND = "gloo-at-address"
GIVE_UP_AFTER_S = 120.0


class Worker:
    """One rank, connected with all others.

    Attributes
    ----------
    rank, size : int
    transfers : process group
        Group for messages between two servers. It has connections of its own, so that AllReduces, which use those
        of the default group, do not queue behind them.
    kept : dict
        Objects that programs leave for each other.
    """

    def __init__(self, rank: int, size: int, address: str, meeting_file: str) -> None:
        torch.set_num_threads(1)
        self.rank, self.size = rank, size
        self._rings: dict[Rings, MultiRing] = {}
        self.kept: dict[str, Any] = {}
        _register(address)
        patience = datetime.timedelta(seconds=GIVE_UP_AFTER_S)
        store = dist.FileStore(meeting_file, size)
        dist.init_process_group(BACKEND, store=store, rank=rank, world_size=size, timeout=patience)
        self.transfers: Any = dist.new_group(backend=BACKEND, timeout=patience)

    def multi_ring(self, rings: Rings) -> MultiRing:
        """Return the AllReduce over some rings; all members of them use it in the same order."""
        if rings not in self._rings:
            self._rings[rings] = MultiRing(rings, overlap=4)
        return self._rings[rings]


SAMPLES = 4
"""Samples per server and step."""
ROWS, COLUMNS, FEATURES = 40, 6, 10
"""Size of an embedding table, and number of dense features."""
WORDS, LENGTH = 50, 7
"""Vocabulary and sequence length of the transformer."""


class Transformer(torch.nn.Module):  # type: ignore[misc]
    """Embeddings, two encoder layers without dropout, and a word for each place."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = torch.nn.Embedding(WORDS, 16)
        layer = torch.nn.TransformerEncoderLayer(16, 4, 32, dropout=0.0, batch_first=True)
        self.layers = torch.nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = torch.nn.Linear(16, WORDS)

    def forward(self, words: Tensor) -> Tensor:
        """Return scores of each word at each place."""
        return self.head(self.layers(self.embedding(words)))


class Dlrm(torch.nn.Module):  # type: ignore[misc]
    """The dense part of a DLRM: a bottom and a top perceptron, with looked-up rows between them."""

    def __init__(self, tables: int) -> None:
        super().__init__()
        self.bottom = perceptron(FEATURES, 16, COLUMNS)
        self.top = perceptron(COLUMNS * (tables + 1), 24, 1)

    def forward(self, dense: Tensor, rows: Tensor) -> Tensor:
        """Return a score for each sample, of features and of one row from each table."""
        return self.top(torch.cat([self.bottom(dense), rows], 1))


def perceptron(inputs: int, inner: int, outputs: int) -> Any:
    """Return a perceptron of two hidden layers."""
    nn = torch.nn
    return nn.Sequential(
        nn.Linear(inputs, inner), nn.Tanh(), nn.Linear(inner, inner), nn.Tanh(), nn.Linear(inner, outputs)
    )


def convolutions() -> Any:
    """Return convolutions and a dense head, as a VGG has them."""
    nn = torch.nn
    return nn.Sequential(
        *(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(8, 12, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Flatten(), nn.Linear(48, 32), nn.ReLU(), nn.Linear(32, 10)),
    )


def images(samples: int) -> tuple[Tensor, Tensor]:
    """Return pictures and their classes."""
    return torch.randn(samples, 3, 8, 8, dtype=torch.float64), torch.randint(0, 10, (samples,))


def sentences(samples: int) -> tuple[Tensor, Tensor]:
    """Return sentences and the following words."""
    return torch.randint(0, WORDS, (samples, LENGTH)), torch.randint(0, WORDS, (samples, LENGTH))


def measurements(samples: int) -> tuple[Tensor, Tensor]:
    """Return features and their classes."""
    return torch.randn(samples, FEATURES, dtype=torch.float64), torch.randint(0, 10, (samples,))


DATA_PARALLEL: Mapping[str, tuple[Callable[[], Any], Callable[[int], tuple[Tensor, Tensor]]]] = {
    "vgg": (convolutions, images),
    "transformer": (Transformer, sentences),
    "perceptron": (lambda: perceptron(FEATURES, 16, 10), measurements),
}
"""Models whose every server has all parameters, each with its batches."""
import_module("torch._dynamo")  # DistributedDataParallel imports it; once, before ranks are forked
RATE = 0.1
BUCKET_MB = 0.002
"""Bucket size, so small that even these models have several buckets."""


@dataclass(frozen=True, slots=True)
class TrainingCheck:
    """Result of some steps of real training.

    Attributes
    ----------
    gradient_error : float
        Largest difference of a gradient from that of one process, over the largest gradient.
    first_loss, last_loss : float
        Losses over the whole batch.
    """

    gradient_error: float
    first_loss: float
    last_loss: float


def train(
    worker: Worker, model: str, rings: Rings, steps: int, placement: tuple[int, ...] = ()
) -> TrainingCheck:
    """Train a small model on all servers and alone, and compare every gradient of every step.

    Parameters
    ----------
    model : str
        ``dlrm``, or a name in ``DATA_PARALLEL``.
    rings : tuple of tuples
        Along which gradients are averaged.
    placement : tuple of int
        Server of each table of a DLRM.
    """
    torch.manual_seed(1)
    errors, losses = (
        _train_dlrm(worker, rings, steps, placement)
        if model == "dlrm"
        else _train(worker, model, rings, steps)
    )
    return TrainingCheck(max(errors), losses[0], losses[-1])


def _train(worker: Worker, name: str, rings: Rings, steps: int) -> tuple[list[float], list[float]]:
    make, draw = DATA_PARALLEL[name]
    alone = make().double()
    together = _parallel(worker, rings, _copy(alone, make().double()))
    inputs, targets = draw(SAMPLES * worker.size)
    mine = slice(SAMPLES * worker.rank, SAMPLES * (worker.rank + 1))
    errors, losses = [], []
    for _ in range(steps):
        losses.append(_backward(alone, inputs, targets))
        _backward(together, inputs[mine], targets[mine])
        errors.append(_error(_gradients(alone), _gradients(together)))
        _step(alone)
        _step(together)
    return errors, losses


def _backward(model: Any, inputs: Tensor, targets: Tensor) -> float:
    model.zero_grad()
    scores = model(inputs)
    loss = torch.nn.functional.cross_entropy(scores.reshape(-1, scores.shape[-1]), targets.reshape(-1))
    loss.backward()
    return float(loss)


def _train_dlrm(
    worker: Worker, rings: Rings, steps: int, placement: tuple[int, ...]
) -> tuple[list[float], list[float]]:
    """Train with every table on its server: rows are sent where needed, and their gradients back."""
    tables, samples = len(placement), SAMPLES * worker.size
    alone, copy = Dlrm(tables).double(), Dlrm(tables).double()
    whole = [torch.randn(ROWS, COLUMNS, dtype=torch.float64, requires_grad=True) for _ in range(tables)]
    dense, clicks = (
        torch.randn(samples, FEATURES, dtype=torch.float64),
        torch.randn(samples, 1, dtype=torch.float64),
    )
    looked_up = torch.randint(0, ROWS, (tables, samples))
    together = _parallel(worker, rings, _copy(alone, copy))
    own = {
        t: whole[t].detach().clone().requires_grad_() for t in range(tables) if placement[t] == worker.rank
    }
    mine = slice(SAMPLES * worker.rank, SAMPLES * (worker.rank + 1))
    anchor = torch.zeros(1, requires_grad=True)
    errors, losses = [], []
    for _ in range(steps):
        for tensors in (alone.parameters(), together.parameters(), whole, own.values()):
            for tensor in tensors:
                tensor.grad = None
        rows = torch.cat([table[index] for table, index in zip(whole, looked_up, strict=True)], 1)
        loss = ((alone(dense, rows) - clicks) ** 2).mean()
        loss.backward()
        here = [table[looked_up[t]] for t, table in own.items()]
        near = _RowsToServers.apply(worker, placement, anchor, *here)
        ((together(dense[mine], near) - clicks[mine]) ** 2).mean().backward()
        for table in own.values():
            table.grad /= worker.size  # each server's loss is a mean over its own samples
        pairs = [(whole[t].grad, table.grad) for t, table in own.items()]
        errors.append(
            _error(_gradients(alone) + [a for a, _ in pairs], _gradients(together) + [b for _, b in pairs])
        )
        losses.append(float(loss))
        for tensors in (alone.parameters(), together.parameters(), whole, own.values()):
            _descend(tensors)
    return errors, losses


class _RowsToServers(torch.autograd.Function):  # type: ignore[misc]
    """Rows of all samples where tables are, to rows of all tables where samples are; gradients go back.

    A server without tables has gradients to send, too: ``anchor``, which needs a gradient, makes PyTorch ask for them.
    """

    @staticmethod
    def forward(
        context: Any, worker: Worker, placement: tuple[int, ...], anchor: Tensor, *rows: Tensor
    ) -> Tensor:
        context.worker, context.placement = worker, placement
        parts = torch.stack(rows).split(SAMPLES, 1) if rows else [torch.zeros(0)] * worker.size
        counts = [placement.count(server) for server in range(worker.size)]
        arrived = [torch.empty(count, SAMPLES, COLUMNS, dtype=torch.float64) for count in counts]
        sent = [part.contiguous().double().reshape(len(rows), SAMPLES, COLUMNS) for part in parts]
        all_to_all(arrived, sent, group=worker.transfers)
        by_table = {
            t: part
            for part, tables in zip(arrived, _held(worker, placement), strict=True)
            for t, part in zip(tables, part, strict=True)
        }
        return torch.cat([by_table[t] for t in range(len(placement))], 1)

    @staticmethod
    def backward(context: Any, gradient: Tensor) -> Any:
        worker, placement = context.worker, context.placement
        parts = gradient.split(COLUMNS, 1)
        sent = [
            torch.stack([parts[t] for t in tables])
            if tables
            else torch.zeros(0, SAMPLES, COLUMNS, dtype=torch.float64)
            for tables in _held(worker, placement)
        ]
        own = placement.count(worker.rank)
        arrived = [torch.empty(own, SAMPLES, COLUMNS, dtype=torch.float64) for _ in range(worker.size)]
        all_to_all(arrived, [part.contiguous() for part in sent], group=worker.transfers)
        back = torch.cat(arrived, 1)
        return None, None, torch.zeros(1), *back


def _held(worker: Worker, placement: tuple[int, ...]) -> list[list[int]]:
    return [[t for t, server in enumerate(placement) if server == rank] for rank in range(worker.size)]


def _parallel(worker: Worker, rings: Rings, model: Any) -> Any:
    together = torch.nn.parallel.DistributedDataParallel(model, bucket_cap_mb=BUCKET_MB)
    together.register_comm_hook(worker.multi_ring(rings), multi_ring_hook)
    return together


def _copy(source: Any, target: Any) -> Any:
    target.load_state_dict(source.state_dict())
    return target


def _gradients(model: Any) -> list[Tensor]:
    return [parameter.grad for parameter in model.parameters()]


def _error(expected: list[Tensor], got: list[Tensor]) -> float:
    largest = max(float(gradient.abs().max()) for gradient in expected)
    return max(float((a - b).abs().max()) for a, b in zip(expected, got, strict=True)) / largest


def _step(model: Any) -> None:
    _descend(model.parameters())


def _descend(tensors: Any) -> None:
    with torch.no_grad():
        for tensor in tensors:
            tensor.sub_(tensor.grad, alpha=RATE)


def _register(address: str) -> None:
    """Make gloo listen at a chosen address; stock gloo uses the host's name or an interface."""

    def make(store: Any, rank: int, size: int, timeout: datetime.timedelta) -> Any:
        gloo = dist.ProcessGroupGloo
        options = gloo._Options()
        options._devices = [gloo.create_device(hostname=address)]
        options._timeout = timeout
        return gloo(store, rank, size, options)

    dist.Backend.register_backend(BACKEND, make, devices=["cpu"])
