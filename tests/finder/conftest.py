"""What a ring must be, wherever it is laid."""

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from topoopt.topologies import Ring, Topology

RingCheck = Callable[[Topology, Sequence[int], Ring], None]


@pytest.fixture(scope="session")
def check_ring() -> RingCheck:
    """Return a function that asserts that a ring visits every member once, in order, over existing links."""

    def check(topology: Topology, group: Sequence[int], ring: Ring) -> None:
        assert sorted(ring.members) == sorted(group)
        src, dst = ring.edges()
        assert (topology.link_ids(src, dst) >= 0).all(), ring
        assert ring.walk[0] == ring.members[0]
        steps = iter(ring.walk)
        assert all(member in steps for member in ring.members), f"not a subsequence: {ring}"
        if ring.stride:
            place = {member: i for i, member in enumerate(sorted(group))}
            ends = np.array([place[member] for member in ring.members])
            assert set(((np.roll(ends, -1) - ends) % len(group)).tolist()) == {ring.stride % len(group)}

    return check
