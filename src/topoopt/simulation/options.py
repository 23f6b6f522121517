"""Options of simulations."""

from collections.abc import Callable
from dataclasses import dataclass, field

from topoopt.base.errors import InvalidInput, check_known, check_least
from topoopt.collectives import ALGORITHMS, ON_WIRINGS, QUICKEST, RING_MODELS, collective_name
from topoopt.simulation.flows.mltcp_weight import Aggressiveness
from topoopt.simulation.packet.options import PacketOptions

Report = Callable[[float], None]
"""Progress callback; called with the fraction done, from 0 to 1."""
EXACT_CONNECTIONS = 2_000
"""Up to this many connections the flow simulator handles every change of rates on its own by default."""
COARSE_TOLERANCE = 3e-4
"""Beyond, changes within this fraction of the elapsed time are handled together."""
EXACT_SHARES = 100_000
"""Up to this many connections links share exactly by default."""
SHARE_TOLERANCE = 0.02
"""Beyond, a link's fair share stays while its flows have it but for this fraction."""
SPLITS = ("spread", "paths", "one")
"""Use of several weighted paths by a transfer. ``spread``: one flow whose bytes cross each link in their share, at
the pace of the slowest. ``paths``: one flow per path; the transfer ends with the last. ``one``: one path, drawn by
weight with the seed, as switches hash a connection; two transfers may collide."""


@dataclass(frozen=True, slots=True)
class SimulationOptions:
    """Options of all simulators.

    Attributes
    ----------
    ring_model : str
        ``stepped``: rounds with barriers, a new connection each. ``bulk``: one flow per ring for all rounds
        (FlexNet's model).
    algorithm : str
        Algorithm of the collectives that it implements, a name in :data:`topoopt.collectives.ALGORITHMS` or in
        :data:`~topoopt.collectives.ON_WIRINGS`; ``auto``: for each AllReduce the one that is quickest in closed form
        on the fabric's paths.
    split : str
        ``spread``, ``paths`` or ``one``, see :data:`SPLITS`.
    tolerance : float, optional
        Flow simulator: changes within this fraction of the elapsed time are handled together; 0 is exact.
        By default exact up to 2,000 flows; beyond 3e-4, and less where many communications wait for each other.
    share_tolerance : float, optional
        Flow simulator, of 2,048 sets of links and more: flows get the fair share of their bottleneck, but for this
        fraction; 0 is exact. By default 0.02 beyond 100,000 flows; exact if ``tolerance`` is given.
    aggressiveness : Aggressiveness, optional
        Flow simulator: MLTCP's F, by which the flows of a job weigh against those of others; by default all weigh 1.
    seed : int
        Random seed of paths and of the order of tasks that become ready together (0: in order of number).
    packet : PacketOptions
        Options of the packet simulator alone.
    """

    ring_model: str = "stepped"
    algorithm: str = "ring"
    split: str = "spread"
    tolerance: float | None = None
    share_tolerance: float | None = None
    aggressiveness: Aggressiveness | None = None
    seed: int = 0
    packet: PacketOptions = field(default_factory=PacketOptions)

    def __post_init__(self) -> None:
        check_known("ring model", self.ring_model, RING_MODELS)
        check_known("collective", self.algorithm, (*ALGORITHMS, *ON_WIRINGS, QUICKEST))
        check_known("split", self.split, SPLITS)
        for name, value in (("tolerance", self.tolerance), ("share_tolerance", self.share_tolerance)):
            if value is not None and not 0 <= value < 1:
                raise InvalidInput(f"{name}: must be in 0 <= {name} < 1, got {value}")
        check_least(self, seed=0)


DEFAULT_OPTIONS = SimulationOptions()
"""Stepped rings, spread transfers, a tolerance by the number of flows."""


def collective_options(name: str) -> SimulationOptions:
    """Return the options for a collective setting: a ring model, an algorithm, or ``auto``.

    Raises
    ------
    InvalidInput
        If there is no such word in :data:`topoopt.collectives.COLLECTIVE_NAMES`.

    Examples
    --------
    >>> options = collective_options("tree")
    >>> options.ring_model, options.algorithm
    ('stepped', 'tree')
    """
    name = collective_name(name)
    return SimulationOptions(ring_model=name) if name in RING_MODELS else SimulationOptions(algorithm=name)
