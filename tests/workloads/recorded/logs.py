"""Lines of NCCL's log and events of torch.profiler, made here in the formats that their sources document."""

from collections.abc import Iterable, Mapping
from typing import Any

WORLD = "0xa1b2c3d4e5f60718"


def who(rank: int, per_host: int) -> str:
    return f"node{rank // per_host}:{4100 + rank}:{4200 + rank} [{rank % per_host}] NCCL INFO"


def pointer(rank: int, name: str) -> str:
    return f"0x55d0{rank:04x}{int(name, 16) % 4096:04x}"


def made(rank: int, name: str, place: int, size: int, per_host: int = 4) -> str:
    """Return the line of a rank that has become number ``place`` of a communicator."""
    device = rank % per_host
    return (
        f"{who(rank, per_host)} ncclCommInitRank comm {pointer(rank, name)} rank {place} nranks {size} "
        f"cudaDev {device} nvmlDev {device} busId 1b000 commId {name} - Init COMPLETE"
    )


def split(rank: int, name: str, color: int, place: int, size: int, parent: str = WORLD) -> list[str]:
    """Return both lines of a rank of a communicator that was split from another, as NCCL 2.27 writes them."""
    about = (
        f"{who(rank, 4)} ncclCommSplit comm {pointer(rank, name)} rank {place} nranks {size} "
        f"cudaDev {rank % 4} nvmlDev {rank % 4} busId 1b000 "
        f"parent {pointer(rank, parent)} splitCount 1 color {color} key {rank}"
    )
    return [f"{about}- Init START", f"{about} - Init COMPLETE"]


def called(
    rank: int,
    operation: str,
    count: int,
    size: int,
    name: str = WORLD,
    *,
    datatype: int = 7,
    root: int = 0,
    per_host: int = 4,
) -> str:
    """Return the line of a call on a communicator of ``size`` ranks."""
    return (
        f"{who(rank, per_host)} {operation}: opCount 1f sendbuff 0x7f0c20000000 recvbuff (nil) count {count} datatype "
        f"{datatype} op 0 root {root} comm {pointer(rank, name)} [nranks={size}] stream 0x55d011223300"
    )


def world(ranks: int, per_host: int = 4) -> list[str]:
    """Return the lines that make the communicator of all."""
    return [made(rank, WORLD, rank, ranks, per_host) for rank in range(ranks)]


def event(name: str, group: str, **said: Any) -> dict[str, Any]:
    """Return an event of a collective; ``nelems`` go in and come out unless ``came`` says otherwise."""
    arguments = {
        "Collective name": name,
        "dtype": said.pop("dtype", "Float"),
        "In msg nelems": said["nelems"],
        "Out msg nelems": said.get("came", said.pop("nelems")),
        "Process Group Name": group,
        **said.pop("more", {}),
    }
    return {"ph": "X", "cat": "cpu_op", "name": "record_param_comms", "ts": 1, "dur": 2, "args": arguments}


def trace(
    rank: int,
    ranks: int,
    groups: Mapping[str, Iterable[int]],
    events: Iterable[dict[str, Any]],
    steps: int = 1,
) -> dict[str, Any]:
    """Return the trace of a rank, with its process groups and so many steps of the profiler."""
    configuration = [
        {"pg_name": name, "pg_size": len(list(of)), "ranks": list(of)} for name, of in groups.items()
    ]
    marks = [{"ph": "X", "name": f"ProfilerStep#{step}", "ts": step, "dur": 1} for step in range(steps)]
    about = {"backend": "nccl", "rank": rank, "world_size": ranks, "pg_config": configuration}
    return {"schemaVersion": 1, "distributedInfo": about, "traceEvents": [*marks, *events]}
