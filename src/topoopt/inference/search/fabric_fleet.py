"""A deployment on a fabric as the simulator takes it: steps with what the network adds, transfers between pairs."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from topoopt.base.arrays import Floats
from topoopt.inference.fabrics.compared import ServedFabric
from topoopt.inference.kv_cache import cache_bytes_per_token
from topoopt.inference.network.reach import StepReach
from topoopt.inference.search.question import ServerFailure
from topoopt.inference.simulator import Fleet, Outage, Transfer, TransferRoutes
from topoopt.inference.step_table import StepTable

NEAREST = "network-aware"
"""The router of two pools whose pairs were chosen with the wiring."""

SMALLEST_SHARE = 1e-9
"""Of requests, from which a pairing joins two replicas."""

INSIDE_BYTES_PER_S = 1e15
"""Of a cache that crosses no link: both replicas are on one server, as in closed form."""


def on_fabric(
    fleet: Fleet,
    row: ServedFabric,
    rate_per_s: float,
    router: str | None,
    failures: Sequence[ServerFailure] = (),
) -> Fleet:
    """Return a fleet on a fabric at a rate.

    Steps take what the network adds while links carry the caches of so many requests. Transfers take the routes of the
    fabric, whose links they share max-min fairly; what experts and stages send leaves them the less of each.

    Parameters
    ----------
    router
        Who gets a request; of two pools who has the cache first where pairs were chosen, if None.
    failures
        Of servers, whose links carry nothing meanwhile: nothing of others that they forward, either.
    """
    way, laws = row.on.reach, row.laws
    busy = np.minimum(rate_per_s * way.kv_busy, 1.0)
    if fleet.prefill is None:
        table = with_network(fleet.decode.table, way.decode, way.decode, busy)
        return replace(fleet, decode=replace(fleet.decode, table=table))
    usual = fleet.router if row.on.pairing.name == "any" else NEAREST
    return replace(
        fleet,
        decode=replace(fleet.decode, table=with_network(fleet.decode.table, way.decode, None, busy)),
        prefill=replace(fleet.prefill, table=with_network(fleet.prefill.table, None, way.prefill, busy)),
        router=router or usual,
        transfer=_transfer(row, rate_per_s, row.served.model.layers if laws.by_layer else 1),
        outages=[Outage(_links_of(row, one.server), one.begin_s, one.end_s) for one in failures],
    )


def _links_of(row: ServedFabric, server: int) -> tuple[int, ...]:
    """Return the links from and to a server."""
    topology = row.on.fabric.topology
    return tuple(np.flatnonzero((topology.src == server) | (topology.dst == server)).tolist())


def with_network(
    table: StepTable, decoding: StepReach | None, reading: StepReach | None, busy: Floats
) -> StepTable:
    """Return a table of steps with what the network adds to those that decode and to those that read prompts."""

    def added(step: StepReach | None) -> Floats:
        if step is None:
            return np.zeros(len(table.tokens))
        return np.array([step.step_s(float(one), busy) for one in table.tokens])

    return table.with_network(added(decoding), added(reading))


def _transfer(row: ServedFabric, rate_per_s: float, layers: int) -> Transfer:
    """Return the transfers over the links of the fabric, of which experts and stages use a share meanwhile."""
    way, laws, load = row.on.reach, row.laws, row.on.load
    readers, answerers = way.shares.shape
    count = readers + answerers
    each = cache_bytes_per_token(row.served.model, row.deployment.settings.kv_precision)
    link_bytes_per_s = row.on.fabric.topology.bandwidth_bps / 8
    others = np.minimum(rate_per_s * np.maximum(way.busy - way.kv_busy, 0.0), 1 - 1e-9)
    reader, answerer, link = np.nonzero(way.kv_link_s)
    seconds = way.kv_link_s[reader, answerer, link]
    pair = reader * count + readers + answerer
    routes = TransferRoutes(
        np.searchsorted(pair, np.arange(count * count + 1)),
        link,
        seconds * link_bytes_per_s[link] / (each * round(load.prompt_tokens)),
        link_bytes_per_s * laws.transfer.efficiency * (1 - others),
    )
    allowed = np.ones((count, count), np.bool_)
    allowed[:readers, readers:] = way.shares > SMALLEST_SHARE
    return Transfer(
        np.full((count, count), laws.transfer.start_s),
        np.full((count, count), INSIDE_BYTES_PER_S),
        each,
        layers,
        routes,
        allowed,
    )
