"""System: the hardware parameters of step times in closed form."""

import re
from dataclasses import dataclass

from topoopt.base.errors import InvalidInput, TopoOptError
from topoopt.base.units import format_bandwidth
from topoopt.catalog import Accelerator, ClusterSpec, find_accelerator
from topoopt.pricing import (
    Iteration,
    NetworkPrice,
    Ownership,
    OwnershipTerms,
    Pricing,
    in_samples,
    network_bill,
    network_price,
    ownership,
)
from topoopt.transformers.configuration import bits_of_parts
from topoopt.transformers.degrees import divisors

UNFUSED_PARTS = (
    *("norms", "rotary", "activation", "queries", "gate"),
    *("step", "sums", "loss", "logits", "sends", "hops", "pieces"),
)
"""Parts that may run operation by operation, as PyTorch runs them uncompiled, or whole where a slice would do.

========== =========================================================================================================
norms      RMSNorm; PyTorch's own LayerNorm is one kernel
rotary     rotary embedding of queries and keys
activation the gated activation; PyTorch's own GELU is one kernel
queries    queries, keys and values as products of their own
gate       the gate and the matrix beside it as products of their own
step       whole gradients are copied into buckets and reduced, though ZeRO 1 needs a slice of them
sums       tensor-parallel sums are not cut into pieces that go on beside the products, as Megatron's user buffers
           and PyTorch's asynchronous tensor parallelism do it
loss       logits are turned to 32 bits, their softmax and its gradients are written
logits     every tensor-parallel rank gathers all logits, and has the loss of all
sends      every tensor-parallel rank sends all activations to the next stage, not its slice (Narayanan 2021, 4.1)
hops       interleaved stages wait for their sends, which do not overlap the work on other chunks, as they do
           by default in Megatron Core since 2023 (``overlap_p2p_comm``)
pieces     tensor-parallel sums are whole, but the backward pass scatters beside the product for weights, as Megatron
           does without user buffers (``LinearWithGradAccumulationAndAsyncCommunication``, 2022)
========== =========================================================================================================

Without sequence parallelism, every matrix that is a product of its own sums up the gradient of its input over the
tensor-parallel ranks by itself.
"""
GATHERS = ("ahead", "after", "alone", "each")
"""Schedules of ZeRO-3's weight gathering: those of the next layer while this one computes (PyTorch's
``BACKWARD_PRE``, its default); in the backward pass after that (``BACKWARD_POST``, the default of MosaicML's
Composer); without overlap, as runs with PyTorch 1.13 look; or every parameter by itself, as DeepSpeed did until
0.4 of 2021.

ZeRO-2 scatters gradients beside the backward pass, too, but ``alone`` in PaddlePaddle (``_reduce_overlap`` of
``group_sharded_stage2.py`` is off) and in DeepSpeed unless ``overlap_comm`` is set, which is so for ZeRO-3 only."""
LARGEST_SERVER = 16
"""Scale-up domains of more accelerators are racks and pods, of which a job need not have all."""


@dataclass(frozen=True, slots=True)
class System:
    """Accelerators, the links among those of a server, and the network between servers.

    Attributes
    ----------
    accelerator : str
        A name or alias of the catalogue.
    accelerators_per_server : int
        Accelerators that reach each other over the scale-up links.
    scale_up_bandwidth_bps : float
        Bandwidth per accelerator and direction.
    network_bandwidth_bps : float
        Bandwidth per accelerator to other servers and direction: d·B over the accelerators of a server.
    network_latency_s : float
        One hop.
    """

    accelerator: str
    accelerators_per_server: int
    scale_up_bandwidth_bps: float
    network_bandwidth_bps: float
    network_latency_s: float = 1e-6

    def __post_init__(self) -> None:
        find_accelerator(self.accelerator)
        for key in ("accelerators_per_server", "scale_up_bandwidth_bps", "network_bandwidth_bps"):
            value = getattr(self, key)
            if not 0 < value < float("inf"):
                raise InvalidInput(f"{key}: must be positive, got {value}")


def system_of(cluster: ClusterSpec) -> System:
    """Return the system that a cluster's servers make."""
    return System(
        cluster.accelerator,
        cluster.accelerators_per_server,
        cluster.intra_server_bandwidth_bps,
        cluster.server_bandwidth_bps / cluster.accelerators_per_server,
        cluster.link_latency_s,
    )


def usual_system(
    accelerator: str,
    accelerators_per_server: int | None = None,
    scale_up_bandwidth_bps: float | None = None,
    network_bandwidth_bps: float | None = None,
    network_latency_s: float = 1e-6,
    accelerators: int | None = None,
) -> System:
    """Return the hardware; missing values come from the catalogue's row of the accelerator.

    Parameters
    ----------
    accelerators
        Accelerators of the job, for :func:`accelerators_of_a_server`.

    Raises
    ------
    InvalidInput
        If the accelerator is unknown, or a number is neither given nor in the catalogue.
    """
    part = find_accelerator(accelerator)
    scale_up_bps = _rate("intra_server_bandwidth", scale_up_bandwidth_bps, part.scale_up_bandwidth_bps, part)
    return System(
        accelerator,
        accelerators_of_a_server(part, accelerators)
        if accelerators_per_server is None
        else accelerators_per_server,
        scale_up_bps,
        _rate("bandwidth", network_bandwidth_bps, part.nic_bandwidth_bps, part),
        network_latency_s,
    )


def accelerators_of_a_server(part: Accelerator, accelerators: int | None = None) -> int:
    """Return the smallest number of accelerators that scale-up links join; the catalogue may have ``4-32``.

    A job of ``accelerators`` has equal parts of racks and pods: of 256 in racks of 72, which it does not fill,
    64 of each of four, so that no group of ranks that fits into a rack lies in two of them.

    Raises
    ------
    InvalidInput
        If the catalogue has none.
    """
    match = re.match(r"\d+", part.scale_up_domain)
    if match is None:
        raise InvalidInput(
            f"accelerators_per_server: the catalogue does not say how many {part.name} share one"
        )
    domain = int(match[0])
    if accelerators is None or domain <= LARGEST_SERVER:
        return domain
    even = max(one for one in divisors(accelerators) if one <= domain)
    return even if 2 * even >= min(domain, accelerators) else domain


def _rate(word: str, rate: float | None, known: float | None, part: Accelerator) -> float:
    if rate is not None:
        return rate
    if known is None:
        raise InvalidInput(f"{word}: the catalogue gives none for {part.name}; write for example 400Gbps")
    return known


def is_apart(part: str, word: str) -> bool:
    """Return whether a word as of :func:`unfused_bits` has one of :data:`UNFUSED_PARTS`."""
    return bool(unfused_bits(word) >> UNFUSED_PARTS.index(part) & 1)


def unfused_bits(word: str) -> int:
    """Return the bits of ``none``, ``all``, or of :data:`UNFUSED_PARTS` joined by ``+``.

    Raises
    ------
    InvalidInput
        For an unknown part, with the known ones.

    Examples
    --------
    >>> unfused_bits("none"), unfused_bits("norms+activation"), unfused_bits("all")
    (0, 5, 4095)
    """
    alone = {"": 0, "none": 0, "all": (1 << len(UNFUSED_PARTS)) - 1}
    return alone[word] if word in alone else bits_of_parts("unfused", word, UNFUSED_PARTS, ("none", "all"))


FABRIC = "rail"
"""Closed forms use a bandwidth and no network; on switches, one leaf per accelerator of a server provides it."""


@dataclass(frozen=True, slots=True)
class OwnedCluster:
    """Servers and a network that gives every accelerator its bandwidth; make it with :func:`owned_cluster`.

    Attributes
    ----------
    words : str
        Description of the network.
    """

    terms: OwnershipTerms
    servers: int
    network: NetworkPrice
    words: str

    def training(self, time_s: float, sequences: int, sequence: int) -> Ownership:
        """Return the cost of training, given the iteration time, its sequences, and the tokens of each."""
        one = Iteration(time_s, sequences, sequences * sequence)
        terms = self.terms
        run = in_samples(terms.run, one)
        return ownership(OwnershipTerms(terms.running, terms.server, run), self.servers, self.network, one)


def owned_cluster(system: System, accelerators: int, terms: OwnershipTerms, prices: Pricing) -> OwnedCluster:
    """Return the cluster of accelerators, with its network priced as rails; one server needs none."""
    per_server = min(system.accelerators_per_server, accelerators)
    servers = -(-accelerators // per_server)
    if servers == 1:
        return OwnedCluster(terms, 1, NetworkPrice(0.0, 0.0), "none: one server")
    speed_bps = system.network_bandwidth_bps
    words = f"rails, {per_server} x {format_bandwidth(speed_bps)} a server"
    try:
        bill = network_bill(FABRIC, servers, per_server, speed_bps, prices)
    except TopoOptError as error:
        return OwnedCluster(terms, servers, NetworkPrice(None, None, (str(error),)), words)
    return OwnedCluster(terms, servers, network_price(bill), f"{words}, prices of {bill.prices}")
