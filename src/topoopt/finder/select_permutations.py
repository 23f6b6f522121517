"""SelectPermutations: which strides of a group get interfaces, by a rule chosen by name."""

from collections.abc import Mapping

from topoopt.base.arrays import Floats
from topoopt.base.errors import InvalidInput, check_known
from topoopt.finder.best_strides import best
from topoopt.finder.fit_demand import fit_demand
from topoopt.finder.stride_rule import StrideRule, lower_bound, nearest
from topoopt.topologies import LINK_MODELS

STRIDE_RULES: Mapping[str, StrideRule] = {"best": best, "nearest": nearest, "lower-bound": lower_bound}


def select_permutations(
    size: int,
    degree: int,
    *,
    links: str = "duplex",
    rule: str = "best",
    demand_bytes: Floats | None = None,
) -> tuple[int, ...]:
    """Return the strides on which a group of ``size`` spends ``degree`` interfaces of every member.

    Directed links: one stride an interface. Duplex: one stride, used as +p and -p, for two interfaces; an
    odd interface takes the half turn size/2 where the size is even (it makes no ring) and idles where it
    is odd. In a group of two every interface is a cable of stride 1.

    Parameters
    ----------
    demand_bytes : float64 array, shape (size,), optional
        Model-parallel bytes over each distance, summed over the members. Rule ``best`` has many equally good
        answers, which differ in who is whose neighbor; of these it then takes the one that moves the
        bytes over the fewest hops.

    Raises
    ------
    InvalidInput
        If the degree is below what one ring takes, or a name is unknown.

    References
    ----------
    .. [1] W. Wang et al., "TopoOpt", NSDI 2023, Algorithm 3.

    Examples
    --------
    >>> select_permutations(16, 4, rule="lower-bound"), select_permutations(128, 4)
    ((1, 5), (1, 15))
    """
    check_known("links", links, LINK_MODELS)
    check_known("strides", rule, STRIDE_RULES)
    cost = ring_interfaces(size, links)
    if degree < cost:
        raise InvalidInput(f"degree: a {links} ring of {size} takes {cost} interfaces a server, got {degree}")
    half_turn = (size // 2,) if degree % cost and size % 2 == 0 else ()
    strides = STRIDE_RULES[rule](size, degree // cost, links, half_turn)
    if rule == "best" and demand_bytes is not None:
        strides = fit_demand(size, strides, links, half_turn, demand_bytes)
    return strides + half_turn


def ring_interfaces(size: int, links: str) -> int:
    """Return how many interfaces of every member one stride takes."""
    return 2 if links == "duplex" and size > 2 else 1
