"""The noun FinderRules: by which rules the topology finder wires and routes."""

from dataclasses import dataclass

from topoopt.base.errors import check_known
from topoopt.finder.degree_split import DEGREE_SPLITS, GROUPS_BY_FAMILY
from topoopt.finder.group_wiring import GROUP_RINGS, LIFTED
from topoopt.finder.matching import DAMPING
from topoopt.finder.named_wiring import STRIDES, check_wiring_name
from topoopt.finder.select_permutations import STRIDE_RULES
from topoopt.routing import ROUTING


@dataclass(frozen=True, slots=True)
class FinderRules:
    """Names in ``DEGREE_SPLITS``, ``STRIDE_RULES``, ``DAMPING``, ``ROUTING`` and of wirings, checked when made.

    Attributes
    ----------
    degree_split : str
        How many interfaces go to AllReduce rings.
    strides : str
        Which rings these are.
    wiring : str
        How the interfaces of the group of all servers are wired: along strides, as a family of wirings (see
        ``WIRING_NAMES``), or as a wiring file says. Coin-change routes are for strides and other circulants.
    damping : str
        By how much a link lowers the demand of its pair for another one.
    routing : str
        Coin-change routes exist on circulants; where model-parallel links make it something else, k-shortest is used.
    group_rings : str
        How the groups of :data:`GROUPS_BY_FAMILY` are wired: ``lifted``, as unions of Hamiltonian cycles, or along
        ``strides`` of the group, as those of all other degree splits are.
    """

    degree_split: str = "proportional"
    strides: str = "best"
    damping: str = "halving"
    routing: str = "coin-change"
    wiring: str = STRIDES
    group_rings: str = LIFTED

    def __post_init__(self) -> None:
        for kind, name, known in (
            ("degree split", self.degree_split, DEGREE_SPLITS),
            ("strides", self.strides, STRIDE_RULES),
            ("damping", self.damping, DAMPING),
            ("routing", self.routing, ROUTING),
            ("group rings", self.group_rings, GROUP_RINGS),
        ):
            check_known(kind, name, known)
        check_wiring_name(self.wiring)

    @property
    def lifts_groups(self) -> bool:
        """Whether groups that share no server are wired by unions of Hamiltonian cycles."""
        return self.group_rings == LIFTED and self.degree_split in GROUPS_BY_FAMILY


USUAL_RULES = FinderRules()
