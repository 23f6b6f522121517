"""What MLTCP in the kernel is told of each job, and what it says: through the maps of the registered algorithm."""

import json
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from topoopt.base.errors import InvalidInput
from topoopt.plugins.testbeds.congestion.toolchain import run_tool
from topoopt.simulation import Aggressiveness

ONE = 1024
"""Of the kernel's fixed-point numbers."""
_LARGEST = float(1 << 20)

_OF_NAMESPACE = 1 << 32
_JOB, _KEY = struct.Struct("<iiQQQ"), struct.Struct("<Q")


@dataclass(frozen=True, slots=True)
class MltcpJob:
    """What the kernel is told of a job.

    Attributes
    ----------
    aggressiveness : Aggressiveness
        F, by which the growth of windows is multiplied: a linear one.
    total_bytes : int
        In an iteration: of one connection, or of all together; 0: the kernel learns it.
    compute_time_s : float
        The gap between two iterations; 0: the kernel learns it.
    by_job : bool
        Whether the bytes of all connections of the job count together.

    Raises
    ------
    InvalidInput
        For another form of F, or one that is too large.
    """

    aggressiveness: Aggressiveness = field(default_factory=Aggressiveness)
    total_bytes: int = 0
    compute_time_s: float = 0.0
    by_job: bool = False

    def __post_init__(self) -> None:
        asked = self.aggressiveness
        if asked.form != "linear":
            raise InvalidInput(f"aggressiveness: the kernel has linear only, got {asked.form}")
        for name, value in (("slope", asked.slope), ("intercept", asked.intercept)):
            if abs(value) > _LARGEST:
                raise InvalidInput(
                    f"{name}: must be in -{_LARGEST:g}..{_LARGEST:g} in the kernel, got {value:g}"
                )

    def packed(self) -> bytes:
        """Return it as the kernel has it: ``struct mltcp_job`` of the C file."""
        factors = round(self.aggressiveness.slope * ONE), round(self.aggressiveness.intercept * ONE)
        return _JOB.pack(*factors, self.total_bytes, round(self.compute_time_s * 1e9), self.by_job)


@dataclass(frozen=True, slots=True)
class MltcpIteration:
    """What the kernel has found out about a job, or about one connection.

    Attributes
    ----------
    number : int
        Of the iteration that runs; the first is 1.
    sent_bytes : int
        Acknowledged in it.
    total_bytes : int
        Learned: what the middle one of the first three whole iterations had; 0 until they are seen.
    compute_time_s : float
        Learned: the shortest gap between two.
    learned_iterations : int
        From how many.
    """

    number: int
    sent_bytes: int
    total_bytes: int
    compute_time_s: float
    learned_iterations: int


def key_of_mark(mark: int) -> int:
    """Return the key of the job whose sockets bear a mark (``SO_MARK``)."""
    assert 0 < mark < _OF_NAMESPACE, mark
    return mark


def key_of_namespace(place: Path) -> int:
    """Return the key of the job that a network namespace is of, for sockets without a mark."""
    return _OF_NAMESPACE | place.stat().st_ino


def tell(algorithm: str, key: int, job: MltcpJob) -> None:
    """Tell the kernel of a job; connections that are made from now on are told from the beginning.

    Raises
    ------
    Infeasible
        If no such algorithm is registered.
    """
    words = ("key", *_bytes(_KEY.pack(key)), "value", *_bytes(job.packed()))
    run_tool("bpftool", "map", "update", "name", f"{algorithm}_p", *words)


def iterations(algorithm: str) -> Mapping[int, MltcpIteration]:
    """Return what the kernel has found out, by the key of the job, or by a number of the connection."""
    rows: list[Any] = json.loads(run_tool("bpftool", "-j", "map", "dump", "name", f"{algorithm}_i"))
    found = {}
    for row in rows:
        value = row["formatted"]["value"]
        known = value["learned"] > 0
        found[int(row["formatted"]["key"])] = MltcpIteration(
            value["number"],
            value["bytes"],
            value["total_bytes"] if known else 0,
            value["compute_time_ns"] / 1e9 if known else 0.0,
            value["learned"],
        )
    return MappingProxyType(found)


def forget(algorithm: str, key: int) -> None:
    """Let the kernel forget what it has found out about a job, if it has."""
    if key in iterations(algorithm):
        run_tool("bpftool", "map", "delete", "name", f"{algorithm}_i", "key", *_bytes(_KEY.pack(key)))


def _bytes(packed: bytes) -> tuple[str, ...]:
    return ("hex", *(f"{one:02x}" for one in packed))
