"""How a collective goes around one of its rings: rounds, and the bytes of a member in each."""

from topoopt.collectives import ring_rounds
from topoopt.simulation.options import SimulationOptions
from topoopt.simulation.task_graph import COLLECTIVES

PEER_PACKET_BYTES = 9000


def ring_steps(
    collective: int, members: int, size_bytes: int, rings: int, options: SimulationOptions
) -> tuple[int, int]:
    """Return how many rounds a ring takes, and the bytes that each member sends in a round.

    Parameters
    ----------
    collective : int
        Index into :data:`topoopt.simulation.COLLECTIVES`.
    size_bytes : int
        Of one member's buffer; ``rings`` equal rings share it.
    """
    kind = COLLECTIVES[collective]
    rounds = ring_rounds(kind, members)
    if options.ring_model == "bulk":
        return 1, rounds * size_bytes // (members * rings)
    if options.packet.compat == "flexnetpacket" and kind == "allreduce":
        return _peer_steps(members, size_bytes // rings)
    return rounds, size_bytes // (rings * members)


def _peer_steps(members: int, size_bytes: int) -> tuple[int, int]:
    """Return the same for FlexNetPacket, which cuts the AllReduce of a small tensor to one round."""
    size = max(size_bytes, members)
    rounds = 2 * (members - 1)
    if size < PEER_PACKET_BYTES * members:
        return 1, size * rounds // members // members
    if size * members <= PEER_PACKET_BYTES * members * rounds:
        return 1, size // members
    return rounds, size // members
