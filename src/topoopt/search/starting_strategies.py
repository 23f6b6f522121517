"""Starting points of a search: data parallel as in the authors' search, split only as far as memory requires."""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import accumulate

from topoopt.base.errors import Infeasible
from topoopt.base.units import format_memory
from topoopt.catalog import find_accelerator
from topoopt.jobs import Job, operators_of
from topoopt.search.proposals.problem_tables import MAX_CHANNEL_DEGREE
from topoopt.workloads import MemoryUse, OperatorSplit, ParallelStrategy, data_parallel, memory_use

DEGREES = (2, 4, 8)
"""Parts of a layer."""
LAYER_DIMS = ("in", "out")
TURNS = (("in",), ("out",), ("in", "out"), ("out", "in"))
"""Dims of layers that follow one another; in turn, the activations between two of them stay where they are."""
HEAVY = (0.5, 0.9)
"""Shares of the layers' parameters."""


def starting_strategy(job: Job) -> ParallelStrategy:
    """Return data parallelism with round-robin tables; with memory enforced, the least split that fits.

    Tables are then split by rows and linear layers on output channels, over ever more servers.

    Raises
    ------
    Infeasible
        If memory is enforced and not even the widest split fits.
    """
    servers = job.cluster.servers
    start = job.work.plain_strategy(servers)
    if job.settings.memory_check != "enforce":
        return start
    available = find_accelerator(job.cluster.accelerator).usable_memory_bytes
    degrees = [k for k in range(1, MAX_CHANNEL_DEGREE + 1) if servers % k == 0]
    fullest = fullest_server(job, start)
    for layers in degrees:
        for tables in degrees:
            candidate = _split(job, start, tables, layers)
            fullest = fullest_server(job, candidate)
            if fullest.total_bytes <= available:
                return candidate
    raise Infeasible(
        f"memory: even split over {degrees[-1]} servers, server {fullest.server} needs "
        f"{format_memory(fullest.total_bytes)} on an accelerator ({_causes(fullest)}); "
        f"{job.cluster.accelerator} has {format_memory(available)}; use memory_check=warn, "
        f"a smaller batch or another accelerator"
    )


def tensor_parallel_starts(job: Job) -> tuple[ParallelStrategy, ...]:
    """Return uniform tensor-parallel strategies, which single moves from data parallelism do not reach.

    Each needs a topology of its own to pay: AllReduce groups of every k-th server, and activations between neighbors.
    """
    servers = job.cluster.servers
    start = data_parallel(operators_of(job).graph, servers)
    rows = []
    for dim in ("in", "out"):
        if any(dim in op.splits for op in operators_of(job).graph.operators):
            degrees = [k for k in DEGREES if servers % k == 0]
            rows += [split_layers(job, start, k, dim, range(len(start.splits))) for k in degrees]
    return tuple(rows)


def fits(job: Job, strategy: ParallelStrategy) -> bool:
    """Return whether a strategy may be used: it fits in memory, or memory is not enforced."""
    available = find_accelerator(job.cluster.accelerator).usable_memory_bytes
    enforced = job.settings.memory_check == "enforce"
    return not enforced or fullest_server(job, strategy).total_bytes <= available


def fullest_server(job: Job, strategy: ParallelStrategy) -> MemoryUse:
    """Return the memory of the server with the fullest accelerator."""
    per_server = job.cluster.accelerators_per_server
    use = memory_use(operators_of(job).graph, strategy, job.global_batch, per_server, job.settings.optimizer)
    return max(use, key=lambda row: row.total_bytes)


def _split(job: Job, start: ParallelStrategy, tables: int, layers: int) -> ParallelStrategy:
    servers, splits, placed = start.servers, [], 0
    for op, split in zip(operators_of(job).graph.operators, start.splits, strict=True):
        if op.is_embedding:
            dim = next((d for d in ("rows", "columns") if d in op.splits), "none")
            degree = tables if dim != "none" else 1
            dim = dim if degree > 1 else "none"
            splits.append(OperatorSplit(1, placed % (servers // degree), degree, dim))
            placed += 1
        elif "out" in op.splits and layers > 1:
            splits.append(OperatorSplit(max(split.batch_degree // layers, 1), 0, layers, "out"))
        else:
            splits.append(split)
    return ParallelStrategy(servers, tuple(splits))


def _causes(use: MemoryUse) -> str:
    return ", ".join(f"{name} {format_memory(size)}" for name, size in use.by_cause.items() if size)


def split_tables(job: Job, start: ParallelStrategy, columns: int) -> ParallelStrategy:
    """Return the strategy with tables in this many columns, round-robin from the first server on."""
    splits, placed = list(start.splits), 0
    for index, op in enumerate(operators_of(job).graph.operators):
        if op.is_embedding and "columns" in op.splits and columns > 1:
            splits[index] = OperatorSplit(1, placed % (start.servers // columns), columns, "columns")
            placed += 1
    return ParallelStrategy(start.servers, tuple(splits))


def split_layers(
    job: Job, start: ParallelStrategy, degree: int, dim: str, layers: Sequence[int]
) -> ParallelStrategy:
    """Return the strategy with these data-parallel layers split in ``degree`` parts, where possible on this dim."""
    splits, operators = list(start.splits), operators_of(job).graph.operators
    for index in layers:
        if dim in operators[index].splits:
            splits[index] = OperatorSplit(max(splits[index].batch_degree // degree, 1), 0, degree, dim)
    return ParallelStrategy(start.servers, tuple(splits))


def layers_of(job: Job) -> tuple[int, ...]:
    """Return the operators that can be split on input or output channels."""
    operators = operators_of(job).graph.operators
    return tuple(index for index, op in enumerate(operators) if op.splits & set(LAYER_DIMS))


def parts_of(layers: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    """Return parts of the layers: three quarters and half of them from either end, and every other one.

    Examples
    --------
    >>> parts_of((0, 1, 2, 3))
    ((0, 1, 2), (1, 2, 3), (0, 1), (2, 3), (0, 2), (1, 3))
    """
    count, rows = len(layers), list[Sequence[int]]()
    for share in (3 * count // 4, count // 2):
        rows += [layers[:share], layers[count - share :]]
    rows += [layers[::2], layers[1::2]]
    return tuple(dict.fromkeys(tuple(row) for row in rows if 0 < len(row) < count))


@dataclass(frozen=True, slots=True)
class Shape:
    """Strategy in a few numbers: some layers are split alike, as are all tables, and everything else.

    Attributes
    ----------
    width : int
        Servers of the operators that are data parallel.
    batch, channel, dims : int, int, tuple of str
        Split of the layers, the dims in turn along a branch of the model; each branch is on the next servers.
    layers : tuple of int
        Operators that have this split.
    columns, places : int
        Parts of a table, and servers over which tables are spread.
    """

    width: int
    batch: int
    channel: int
    dims: tuple[str, ...]
    layers: tuple[int, ...]
    columns: int
    places: int

    def of(self, job: Job) -> ParallelStrategy:
        """Return the strategy of a job."""
        servers, operators, placed = job.cluster.servers, operators_of(job).graph.operators, 0
        splits, place = list[OperatorSplit](), dict[int, tuple[int, str]]()
        for at, row in enumerate(branches_of(job)):
            place |= {index: (at, self.dims[k % len(self.dims)]) for k, index in enumerate(row)}
        for index, op in enumerate(operators):
            if op.is_embedding:
                columns = self.columns if "columns" in op.splits else 1
                start = servers // self.places * (placed % (self.places // columns))
                splits.append(OperatorSplit(1, start, columns, "columns" if columns > 1 else "none"))
                placed += 1
            elif index in self.layers and place[index][1] in ("none", *op.splits):
                branch, dim = place[index]
                start = branch % (servers // (self.batch * self.channel))
                splits.append(OperatorSplit(self.batch, start, self.channel, dim))
            else:
                splits.append(OperatorSplit(self.width if "batch" in op.splits else 1))
        return ParallelStrategy(servers, tuple(splits))

    def neighbours(self, job: Job) -> Iterator[Callable[["Shape"], Iterable["Shape"]]]:
        """Yield functions that return the shapes which differ in one coordinate; the first moves the whole job."""
        servers, layers = job.cluster.servers, layers_of(job)
        degrees = [k for k in range(1, servers + 1) if servers % k == 0]
        few = [k for k in degrees if k <= MAX_CHANNEL_DEGREE]
        splits = [
            (b, c, dims)
            for c in few
            for dims in (TURNS if c > 1 else (("none",),))
            for b in degrees
            if servers % (b * c) == 0
        ]
        parts = dict.fromkeys((layers, *parts_of(layers), *_unequal_parts(job)))
        yield lambda at: [
            Shape(k, k, 1, ("none",), at.layers, c, k) for k in degrees for c in few if k % c == 0
        ]
        yield lambda at: [replace(at, batch=b, channel=c, dims=dims) for b, c, dims in splits]
        yield lambda at: [replace(at, width=k) for k in degrees]
        yield lambda at: [replace(at, columns=c) for c in few if at.places % c == 0]
        yield lambda at: [replace(at, places=k) for k in degrees if k % at.columns == 0]
        yield lambda at: [replace(at, layers=part) for part in parts]


@lru_cache(maxsize=8)
def branches_of(job: Job) -> tuple[tuple[int, ...], ...]:
    """Return the layers in rows of which each follows the one before it and nothing else."""
    operators, rows = operators_of(job).graph.operators, list[tuple[int, ...]]()
    for index in layers_of(job):
        follows = bool(rows) and operators[index].inputs == (rows[-1][-1],)
        rows[-1:] = [(*rows[-1], index)] if follows else [*rows[-1:], (index,)]
    return tuple(rows)


def _unequal_parts(job: Job) -> Iterator[tuple[int, ...]]:
    """Yield the fewest layers that hold shares of all layers' parameters, and all branches but the last."""
    operators, layers = operators_of(job).graph.operators, layers_of(job)
    ranked = sorted(layers, key=lambda index: -operators[index].parameter_bytes)
    held = list(accumulate(operators[index].parameter_bytes for index in ranked))
    for share in HEAVY if layers else ():
        yield tuple(sorted(ranked[: bisect_left(held, share * held[-1]) + 1]))
    yield tuple(index for row in branches_of(job)[:-1] for index in row)


def plain_shape(job: Job) -> Shape:
    """Return the shape of data parallelism."""
    servers = job.cluster.servers
    return Shape(servers, servers, 1, ("none",), layers_of(job), 1, servers)


def has_columns(job: Job) -> bool:
    """Return whether there are tables that can be split in columns."""
    return any(op.is_embedding and "columns" in op.splits for op in operators_of(job).graph.operators)


FEW_COLUMNS = 2
"""Parts of a table; more of them take longer to simulate and gain little beyond."""
PARTS = (2, 4)
"""Parts of a layer, on its input channels."""


def few_strategies(job: Job) -> Mapping[str, ParallelStrategy]:
    """Return data parallelism, with tables in columns, and with layers split in a few parts, by name.

    Raises
    ------
    Infeasible
        If memory is enforced and nothing fits.
    """
    servers = job.cluster.servers
    columns = has_columns(job) and servers % FEW_COLUMNS == 0
    tables = f", tables in {FEW_COLUMNS} columns" if columns else ""
    plain = data_parallel(operators_of(job).graph, servers)
    base = split_tables(job, plain, FEW_COLUMNS) if columns else plain
    found = {"data parallel": starting_strategy(job)}
    if columns:
        found[f"data parallel{tables}"] = base
    layers = layers_of(job)
    for parts in PARTS:
        if layers and servers % parts == 0:
            found[f"layers in {parts} parts{tables}"] = split_layers(job, base, parts, "in", layers)
    return {name: one for name, one in found.items() if name == "data parallel" or fits(job, one)}
