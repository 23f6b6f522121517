"""Settings of a cluster: its servers, queue and optical switches, and the planning of its jobs."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from topoopt.base.errors import InvalidInput, check_fields
from topoopt.catalog import ClusterSpec, find_optical_switch
from topoopt.collectives import RING_MODELS
from topoopt.jobs import JobSettings
from topoopt.pricing import DEFAULT_PRICES
from topoopt.search import SearchOptions
from topoopt.simulation import SIMULATORS

Choose = Callable[[Sequence[int], int, np.random.Generator], tuple[int, ...]]


def _contiguous(free: Sequence[int], size: int, rng: np.random.Generator) -> tuple[int, ...]:
    cuts = np.flatnonzero(np.diff(free) > 1) + 1
    gaps = np.split(np.asarray(free), cuts)
    large = [gap for gap in gaps if len(gap) >= size]
    chosen = min(large, key=len) if large else np.asarray(free)
    return tuple(chosen[:size].tolist())


def _strided(free: Sequence[int], size: int, rng: np.random.Generator) -> tuple[int, ...]:
    return tuple(free[index * len(free) // size] for index in range(size))


def _random(free: Sequence[int], size: int, rng: np.random.Generator) -> tuple[int, ...]:
    return tuple(rng.choice(np.asarray(free), size, replace=False).tolist())


PLACEMENTS_OVER_TIME: Mapping[str, Choose] = {
    "contiguous": _contiguous,
    "strided": _strided,
    "random": _random,
}
"""Ways to choose among free servers, by name; as :data:`topoopt.simulation.PLACEMENTS`, for jobs that come and go."""
CONNECTIONS = ("group", "collective")
"""Unit that opens connections. ``group``: each edge of its ring once, for all its collectives, as communication
libraries do; a link is shared equally by the edges on it. ``collective``: every collective anew, as in the flow
simulator, so that a job with many concurrent AllReduces gets as many shares; here they still take one path.
"""


HASHED, SPREAD = PATHS = ("hashed", "spread")
"""Paths that a connection takes. ``hashed``: one, drawn by weight, as switches hash it. ``spread``: all of them by
weight, as in a plan and a comparison."""


@dataclass(frozen=True, slots=True)
class SharingOptions:
    """Options of :func:`topoopt.clusters.shared_pace`.

    Attributes
    ----------
    seed : int
        Decides the paths of connections and when jobs begin.
    iterations : int
        Iterations that every job does, at least, while all of them run; all that shorter jobs do in that time count
        too. With 27 jobs on 432 servers of a fat-tree the means of jobs after one iteration are within 1.4 % (root
        mean square, at most 4.4 %) of those after 40, and their average within 0.5 %.
    connections : str
        Name in :data:`CONNECTIONS`.
    staggered : bool
        Jobs begin at random times within their own iteration; else all at once.
    rings : int
        Most rings of a group; 0 for as many as a server has links.
    ring_model : str
        Name in :data:`topoopt.collectives.RING_MODELS`.
    paths : str
        Name in :data:`PATHS`.
    """

    seed: int = 0
    iterations: int = 1
    connections: str = "group"
    staggered: bool = True
    rings: int = 0
    ring_model: str = "stepped"
    paths: str = HASHED

    def __post_init__(self) -> None:
        check_fields(self, connections=CONNECTIONS, ring_model=RING_MODELS, paths=PATHS)
        for name, least in (("seed", 0), ("iterations", 1), ("rings", 0)):
            if not getattr(self, name) >= least:
                raise InvalidInput(f"shared fabric: {name} must be >= {least}, got {getattr(self, name)}")


DEFAULT_SHARING = SharingOptions()
"""Connections of groups, random phases."""
QUEUES = ("fifo", "backfill")
"""``fifo``: servers go to jobs in order of arrival. ``backfill``: a later job may take servers that an earlier one
waits for, or will take, if it is done before (EASY backfilling; Lifka, JSSPP 1995). What is promised is servers: the
hands that move fibers are not kept free for anybody."""
WEIGHTINGS = ("jobs", "iterations")
"""Whether each job, or each iteration, counts the same in the iteration times of a fabric."""


def _fiber_move_s() -> float:
    known_s = find_optical_switch("patch-panel").fiber_move_s
    assert known_s is not None, "the catalogue has it"
    return known_s


@dataclass(frozen=True, slots=True)
class PanelSettings:
    """Patch panels of the fabric ``topoopt``.

    Attributes
    ----------
    look_ahead : bool
        A second set of panels behind 1×2 switches: the next job is wired while the present one runs.
    move_s : float
        Time in which one robot or technician moves one fiber; by default the catalogue's, which is an assumption: with
        a robot on each panel, 30 s make 4 minutes of the wiring of 16 servers with 8 interfaces, and the sources say
        minutes.
    hands : int
        Robots or technicians that work at the same time on each set; 0 for one on each of its d panels (of a logical
        server's d). They make one wiring after another.
    flip_s : float
        A change of 1×2 switches; milliseconds in the sources, ten are assumed.
    """

    look_ahead: bool = True
    move_s: float = field(default_factory=_fiber_move_s)
    hands: int = 0
    flip_s: float = 10e-3

    def __post_init__(self) -> None:
        for name in ("move_s", "flip_s"):
            if not 0 <= getattr(self, name) < float("inf"):
                raise InvalidInput(f"{name}: expected seconds >= 0, got {getattr(self, name):g}")
        if self.hands < 0:
            raise InvalidInput(f"hands: expected an integer >= 1, got {self.hands}")


@dataclass(frozen=True, slots=True)
class Planning:
    """Inputs of a job's plan besides its shape: the cluster as jobs see it, and planning options."""

    cluster: ClusterSpec
    costs: JobSettings
    search: SearchOptions
    simulator: str
    scale_up_bps: float = 0.0


@dataclass(frozen=True, slots=True)
class ClusterSettings:
    """Settings of a cluster.

    Attributes
    ----------
    cluster : ClusterSpec
        All its servers.
    logical_servers : int
        Logical servers that each server is divided into. Interfaces and accelerators are divided evenly, none is
        shared; jobs then ask for logical servers, and i is part ``i % logical_servers`` of server
        ``i // logical_servers``.
    queue, weighting : str
        Names in :data:`QUEUES` and :data:`WEIGHTINGS`.
    placement : str
        Name in :data:`PLACEMENTS_OVER_TIME`.
    ocs : str
        Optical circuit switch of the fabric ``topoopt-ocs``, as in ``topoopt hardware optical-switches``.
    search, costs : SearchOptions, JobSettings
        Planning of each distinct job. The search's seed is used for everything random.
    simulator : str
        Fidelity of jobs on links of their own, a name in :data:`topoopt.simulation.SIMULATORS`; where jobs share links,
        flows do.
    prices, accounting : str
        Price table for the fabrics that are dimensioned by it, and accounting.
    sharing : SharingOptions
        Simulation of jobs that share links; its seed is the search's.
    scale_up_bps : float
        Bandwidth of a transformer's accelerator to the others of its server; 0 for that of the catalogue. Models of
        operators have that of the cluster.
    """

    cluster: ClusterSpec = field(default_factory=lambda: ClusterSpec(432, 8, 100e9))
    logical_servers: int = 1
    queue: str = "fifo"
    placement: str = "contiguous"
    weighting: str = "jobs"
    panels: PanelSettings = field(default_factory=PanelSettings)
    ocs: str = "piezo"
    search: SearchOptions = field(default_factory=SearchOptions)
    costs: JobSettings = field(default_factory=JobSettings)
    simulator: str = "analytic"
    prices: str = DEFAULT_PRICES
    accounting: str = "complete"
    sharing: SharingOptions = DEFAULT_SHARING
    scale_up_bps: float = 0.0

    def __post_init__(self) -> None:
        check_fields(
            self, queue=QUEUES, placement=PLACEMENTS_OVER_TIME, weighting=WEIGHTINGS, simulator=SIMULATORS
        )
        find_optical_switch(self.ocs)
        parts = self.logical_servers
        if parts < 1:
            raise InvalidInput(f"logical_servers: expected an integer >= 1, got {parts}")
        for name in ("degree", "accelerators_per_server"):
            whole = getattr(self.cluster, name)
            if whole % parts:
                raise InvalidInput(
                    f"logical_servers: {name} {whole} cannot be divided evenly by {parts}; use a divisor of both"
                )

    @property
    def logical(self) -> ClusterSpec:
        """The cluster as its jobs see it: logical servers with their share of interfaces and accelerators."""
        parts = self.logical_servers
        return replace(
            self.cluster,
            servers=self.cluster.servers * parts,
            degree=self.cluster.degree // parts,
            accelerators_per_server=self.cluster.accelerators_per_server // parts,
        )

    @property
    def planning(self) -> Planning:
        """Inputs of its jobs' plans."""
        return Planning(self.logical, self.costs, self.search, self.simulator, self.scale_up_bps)

    @property
    def seed(self) -> int:
        """Random seed."""
        return self.search.seed

    def described(self) -> Mapping[str, Any]:
        """Return the settings, as recorded in a result."""
        settings = asdict(self)
        settings["search"].pop("processes")  # the answer does not depend on it
        return settings


def choose_servers(free: Sequence[int], size: int, how: str, rng: np.random.Generator) -> tuple[int, ...]:
    """Return ``size`` of the free servers, in the order of the job's own.

    Parameters
    ----------
    free : ascending, at least ``size``
    how : str
        Name in :data:`PLACEMENTS_OVER_TIME`. ``contiguous``: neighbors, in the smallest gap that is large enough;
        where none is, the lowest ones. ``strided``: spread evenly over the free ones. ``random``: drawn.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> choose_servers([0, 1, 2, 5, 6], 2, "contiguous", rng), choose_servers([0, 1, 2, 5, 6], 2, "strided", rng)
    ((5, 6), (0, 2))
    """
    assert len(free) >= size
    return PLACEMENTS_OVER_TIME[how](free, size, rng)
