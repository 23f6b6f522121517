"""Max-min rates at one moment, by the filling that the engine of the simulators has inside."""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from topoopt.base.errors import InvalidInput
from topoopt.simulation.fluid.filling_kernel import fill, list_active
from topoopt.simulation.fluid.state import ACTIVE, Links, Sharing, make_links, make_sharing


@njit()
def set_levels(x: Sharing, net: Links) -> None:
    """Set the fair level of all active classes, on links that know of none."""
    list_active(x, net)
    fill(x, net)


def max_min_rates(
    capacity: NDArray[np.float64],
    flow_first: NDArray[np.int64],
    flow_link: NDArray[np.int64],
    coefficient: NDArray[np.float64],
    weight: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return the rate of each flow, shape (flows,), in the unit of ``capacity``.

    No flow's rate per weight can rise without lowering that of a flow with an equal or smaller one.

    Parameters
    ----------
    capacity : shape (links,), positive
    flow_first, flow_link, coefficient : shapes (flows+1,), (entries,), (entries,)
        Flow k sends ``coefficient[e]`` bytes over link ``flow_link[e]`` per byte of its own, for e in
        ``flow_first[k] : flow_first[k+1]``; it must use at least one link.
    weight : shape (flows,), positive

    References
    ----------
    .. [1] D. Bertsekas, R. Gallager, "Data Networks", section 6.5.2 (progressive filling).

    Examples
    --------
    >>> two_links = np.array([10.0, 4.0])
    >>> first, link = np.array([0, 1, 3]), np.array([0, 0, 1])
    >>> max_min_rates(two_links, first, link, np.ones(3), np.ones(2)).tolist()
    [6.0, 4.0]
    """
    flows = len(weight)
    if (np.diff(flow_first) < 1).any():
        raise InvalidInput("max-min rates: every flow must use at least one link")
    for name, values in (("capacity", capacity), ("coefficient", coefficient), ("weight", weight)):
        if (np.asarray(values) <= 0).any():
            raise InvalidInput(f"max-min rates: {name} must be positive, got {np.min(values)}")
    none, weights = np.zeros(0), np.ascontiguousarray(weight, np.float64)
    sharing = make_sharing(np.zeros(0, np.int64), none, none, flows)
    sharing.active[:], sharing.tally[ACTIVE], sharing.weight[:] = np.arange(flows), flows, weights
    links = make_links(
        np.ascontiguousarray(flow_first, np.int64),
        np.ascontiguousarray(flow_link, np.int64),
        np.ascontiguousarray(coefficient, np.float64),
        np.ascontiguousarray(capacity, np.float64),
    )
    set_levels(sharing, links)
    return sharing.level * weights
