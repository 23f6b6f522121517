"""The noun Cabling: how servers are joined to the optical devices of a fabric."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Cabling:
    """Choices about optical devices.

    Attributes
    ----------
    links : str
        ``duplex`` or ``directed``, as a topology has it.
    shards : int
        Parts of the cluster with devices of their own.
    technology : str or None
        Optical technology in place of the usual ones.
    look_ahead : bool
        Whether every panel has a second one, on which the next job is wired.
    interfaces_per_device : int or None
        Interfaces of a server on one device, where the wiring is known.
    """

    links: str = "duplex"
    shards: int = 1
    technology: str | None = None
    look_ahead: bool = True
    interfaces_per_device: int | None = None


USUAL_CABLING = Cabling()
"""Duplex links, one shard, and look-ahead."""
