"""The words of a price: which network, what is bought, what is counted."""

import os
from collections.abc import Sequence
from typing import Annotated, TypedDict

from topoopt.schema.words.ownership import OwnershipWords
from topoopt.schema.words.pricing import PricingWords
from topoopt.schema.words.word import Rate, Time, Word, panel


@panel("Network")
class NetworkWords(TypedDict, total=False):
    """Whose network it is."""

    servers: int
    """Servers; 128."""
    degree: int
    """Training ports of a server; 4."""
    bandwidth: Rate
    """Of one port; 100Gbps."""
    links: Annotated[str, Word("duplex|directed")]
    """A port is a fiber pair to one neighbor, or sends to one and hears another; duplex."""
    accelerator: Annotated[str, Word("NAME")]
    """Of the servers, for their price (topoopt hardware); a100."""
    accelerators_per_server: int
    """Accelerators of a server; 4."""
    wiring: Annotated[str | os.PathLike[str], Word("FILE")]
    """A wiring file, or a graph of others (GraphML, DOT, node-link JSON, a list of links), which says servers,
    ports, links, and the bandwidth where its links have one."""


@panel("What is bought")
class PurchaseWords(TypedDict, total=False):
    """Fabrics, and where their prices and watts come from."""

    fabrics: Annotated[Sequence[str], Word("LIST")]
    """Fabrics, with commas: topoopt, topoopt-ocs, topoopt-hybrid, ideal-switch, fat-tree, oversub-fat-tree,
    rail, expander, torus, full-mesh, sip-ml, ocs-reconfig, mixnet. All if not given."""
    power: Annotated[str, Word("typical|FILE", "typical")]
    """Watts of parts: makers' typical figures, or a file whose rows are laid over them."""
    oversubscription: Annotated[float, Word("RATIO", 2.0)]
    """Of the oversub-fat-tree, at its first switch."""
    ocs_interfaces: int
    """Ports of a server that topoopt-hybrid has behind optical circuit switches; half of them."""
    electrical_interfaces: int
    """Ports of a server that mixnet has on its electrical fat-tree; a quarter of them."""
    shards: Annotated[int, Word("N", 1)]
    """Parts of the cluster with optical devices of their own; servers of two parts cannot be joined."""
    technology: Annotated[str, Word("NAME")]
    """Optical technology of the fabrics that have one (topoopt hardware optical-switches)."""


@panel("What is counted")
class AccountingWords(TypedDict, total=False):
    """Choices of the accounting; and how the network is run."""

    nics: bool
    """Network cards."""
    look_ahead: bool
    """A second panel behind 1×2 switches, on which the next job is wired while this one runs."""
    look_ahead_fiber: bool
    """Fibers of its own for the second panel."""
    fiber_on: Annotated[str, Word("WHICH")]
    """Who pays for fiber: every-fabric, fat-trees or none."""


@panel("Optical technologies")
class OpticsWords(TypedDict, total=False):
    """How often the traffic changes, and what rewiring may take."""

    change_every: Time
    """How long the traffic stays the same, such as 1s; as long as the job if not given."""
    overhead: Annotated[float, Word("FRACTION", 0.1)]
    """Of the time, for rewiring at most."""


class CostWords(
    NetworkWords, PurchaseWords, PricingWords, AccountingWords, OwnershipWords, OpticsWords, total=False
):
    """All words that :func:`topoopt.cost` takes."""
