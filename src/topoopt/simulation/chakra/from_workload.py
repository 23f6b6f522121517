"""Chakra traces of a workload of SimAI: rank r on server r, in the order in which SimAI runs its layers."""

from topoopt.base.errors import InvalidInput
from topoopt.schema.files import read_text
from topoopt.simulation.chakra.trace import (
    COLL,
    COLLECTIVE_TYPES,
    COMP,
    EXACT_DURATION,
    EXACT_SIZE,
    KINDS,
    ChakraNode,
    ChakraTrace,
    ChakraTraces,
)
from topoopt.workloads.recorded import SimaiWorkload, simai_workload

MOST_NODES = 1_000_000
_NUMBERS = {ours: COLLECTIVE_TYPES.index(theirs) for theirs, ours in reversed(KINDS.items())}


def workload_traces(path: str) -> ChakraTraces:
    """Return the traces of all ranks.

    A collective of weights runs beside later computation; the next layer waits for any other.

    Raises
    ------
    InvalidInput
        As :func:`~topoopt.workloads.recorded.simai_workload`; if there are too many nodes.
    """
    workload = simai_workload(read_text(path), path)
    if (nodes := 2 * len(workload.passes) * workload.ranks) > MOST_NODES:
        raise InvalidInput(
            f"{path}: {nodes} nodes of {workload.ranks} ranks, at most {MOST_NODES} are simulated; topoopt traffic and "
            "plan take it"
        )
    groups: dict[str, tuple[int, ...]] = {}
    ranks = tuple(_trace(workload, rank, groups) for rank in range(workload.ranks))
    return ChakraTraces(path, ranks, groups)


def _trace(workload: SimaiWorkload, rank: int, groups: dict[str, tuple[int, ...]]) -> ChakraTrace:
    nodes: list[ChakraNode] = []
    last: tuple[int, ...] = ()
    for one in workload.passes:
        phase = "forward" if one.name == "forward" else "backward"
        name = f"{one.layer} {phase}"
        nodes.append(ChakraNode(len(nodes), name, COMP, last, 0, {EXACT_DURATION: one.compute_s}))
        last = (len(nodes) - 1,)
        members = workload.members(rank, one.group)
        if one.collective and len(members) > 1:
            group = f"{one.group} {members[0]}"
            groups[group] = members
            said = {"comm_type": _NUMBERS[one.collective], "comm_size": one.size_bytes, "pg_name": group}
            if one.collective == "all-gather":
                said[EXACT_SIZE] = one.size_bytes
            nodes.append(ChakraNode(len(nodes), name, COLL, last, 0, said))
            last = last if one.name == "weights" else (len(nodes) - 1,)
    return ChakraTrace(workload.place, "", {}, tuple(nodes))
