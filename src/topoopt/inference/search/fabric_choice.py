"""The best deployment on every fabric: by simulation without a network, reduced by the network's effect."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from topoopt.base.answers import Progress
from topoopt.base.arrays import Floats
from topoopt.base.errors import Infeasible
from topoopt.catalog import Table, compare
from topoopt.inference.deployment import Deployment
from topoopt.inference.fabric_comparison import CLOSE, MOST_TRIED, ServedFabric, Tried, Trying
from topoopt.inference.fabric_deployments import Contender
from topoopt.inference.fabric_evaluation import FabricQuestion, ServingStack
from topoopt.inference.memory import cache_bytes_per_token
from topoopt.inference.network.reach import StepReach
from topoopt.inference.requests import RequestLoad
from topoopt.inference.search.candidates import Candidate
from topoopt.inference.search.goodput import Binding, Evaluated, evaluated
from topoopt.inference.search.question import NetworkQuestion, Question, ServerFailure
from topoopt.inference.simulator import Fleet, Outage, Transfer, TransferRoutes
from topoopt.inference.step_table import StepTable

NEAREST = "network-aware"
"""The router of two pools whose pairs were chosen with the wiring."""
SMALLEST_SHARE = 1e-9
"""Share of requests above which a pairing connects two replicas."""
INSIDE_BYTES_PER_S = 1e15
"""Bandwidth of a KV cache that crosses no link: both replicas are on one server, as in closed form."""
MOST_KEPT = 400
"""Deployments tried on fabrics, by their estimates."""
MOST_SIMULATED = 5
"""Most deployments simulated on a fabric, among those with estimates above the simulated ones."""
MOST_OF_A_TOKEN = 0.5
"""Share of the time per token on the network above which it is the bottleneck."""


@dataclass(frozen=True, slots=True, eq=False)
class OnOneFabric:
    """A fabric: the closed form that chose wiring, pairing and deployment, and its simulation.

    Attributes
    ----------
    served : ServedFabric
    evaluated : Evaluated
    """

    served: ServedFabric
    evaluated: Evaluated

    @property
    def fabric(self) -> str:
        """Name of the fabric."""
        return self.served.fabric

    @property
    def rate_per_s(self) -> float:
        """Requests per second of the run: as requested, or the goodput."""
        run = self.evaluated.run
        return len(run.requests) / run.end_s if run.requests.clients else run.requests.rate_per_s


def on_fabrics(
    question: Question,
    network: NetworkQuestion,
    found: Sequence[Candidate],
    simulated: Sequence[Evaluated],
    on_progress: Progress,
) -> Table[OnOneFabric]:
    """Return a row for each fabric.

    The estimate of a deployment is its goodput, simulated on an ideal network; if it was not simulated, its
    closed-form rate, reduced as much as that of the best simulated one of its mode. On each fabric, wiring, routes
    and pairing are chosen in closed form, at the mean lengths of the requests, and reduce the estimate. The best
    is then simulated on that fabric with the requests themselves, and is the answer if no other estimate is
    higher.

    Raises
    ------
    Infeasible
        If no deployment can be on any fabric.
    """
    demand, goals = question.demand, question.objectives
    load = RequestLoad(demand.rate_per_s or 0.0, demand.prompt, demand.answer)
    asked = FabricQuestion(network.cluster, load, goals.ttft_s, goals.tpot_s, network.pairings, question.seed)
    contenders = sorted(_promised(found, simulated), key=lambda one: -one.bound_per_s)[:MOST_KEPT]
    stack = ServingStack(network.sent, question.way.law, question.way.layerwise)
    trying = Trying(question.machine.model, asked, contenders, network.priced, stack)
    by_deployment = {one.deployment: one for one in found}
    table = compare(
        network.fabrics,
        lambda name: _best_on(question, name, trying, by_deployment),
        on_progress=on_progress,
        stage="fabrics",
    )
    return table.or_infeasible("fabrics")


def _best_on(
    question: Question, name: str, trying: Trying, by_deployment: Mapping[Deployment, Candidate]
) -> OnOneFabric:
    """Return the best deployment on a fabric: simulated ones by their goodput, others by their estimates."""
    promises: dict[int, Tried] = {}
    done: dict[int, Evaluated] = {}
    reason, following = "", 0

    def worth_per_s(index: int) -> float:
        return done[index].goodput_per_s if index in done else promises[index].promised_per_s

    while True:
        best = max(promises, key=worth_per_s, default=None)
        left = following < len(trying.candidates) and len(promises) < MOST_TRIED
        if left and (
            best is None or trying.candidates[following].bound_per_s > worth_per_s(best) * (1 + CLOSE)
        ):
            tried = trying.on(name, following)
            if isinstance(tried, str):
                reason = reason or tried
            else:
                promises[following] = tried
            following += 1
            continue
        if best is None:
            raise Infeasible(reason)
        if best in done or len(done) == MOST_SIMULATED:
            break
        row = promises[best].row
        one = by_deployment[row.deployment]
        fleet_at = fleet_on_fabric(question.fleet(one), row, question)
        found = evaluated(question.demand, question.objectives, one, fleet_at)
        done[best] = found if _computes(row) else _bound_by_network(found, row)
    best = max(done, key=lambda index: (done[index].goodput_per_s, done[index].run.output_tokens_per_s))
    return OnOneFabric(replace(promises[best].row, tried=len(promises)), done[best])


def _promised(found: Sequence[Candidate], simulated: Sequence[Evaluated]) -> Iterator[Contender]:
    known: dict[Deployment, float] = {one.candidate.deployment: one.goodput_per_s for one in simulated}
    kept: dict[str, float] = {}
    for one in simulated:
        mode = one.candidate.deployment.mode
        kept[mode] = max(kept.get(mode, 0.0), one.goodput_per_s / one.candidate.rate_per_s)
    for candidate in found:
        deployment = candidate.deployment
        rate = known.get(deployment, candidate.rate_per_s * kept.get(deployment.mode, 0.0))
        if rate > 0:
            yield Contender(rate, deployment)


def fleet_on_fabric(fleet: Fleet, row: ServedFabric, question: Question) -> Callable[[float], Fleet]:
    """Return a fleet on a fabric as a function of the rate, with the requested router and failures."""
    return partial(on_fabric, fleet, row, router=question.router, failures=question.server_failures)


def _computes(row: ServedFabric) -> bool:
    one = row.on.expected
    return row.on.binds != "network" and one.token_network_s <= MOST_OF_A_TOKEN * one.tpot_s


def _bound_by_network(found: Evaluated, row: ServedFabric) -> Evaluated:
    words = (
        "its busiest link has no time left"
        if row.on.binds == "network"
        else f"of the time of a token {row.on.expected.token_network_s / row.on.expected.tpot_s:.0%} is the network's"
    )
    return replace(found, binding=Binding("network", words))


def on_fabric(
    fleet: Fleet,
    row: ServedFabric,
    rate_per_s: float,
    router: str | None,
    failures: Sequence[ServerFailure] = (),
) -> Fleet:
    """Return a fleet on a fabric at a rate.

    Steps include the network time while links carry the caches at this rate. Transfers take the routes of the
    fabric, whose links they share max-min fairly; traffic of experts and stages reduces the capacity.

    Parameters
    ----------
    router
        Routing policy; None for the default one, or, with two pools and a chosen pairing, the decode replica that
        gets the cache first.
    failures
        Server failures; links of a failed server carry nothing, including traffic that it relays for others.
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
    topology = row.on.fabric.topology
    return tuple(np.flatnonzero((topology.src == server) | (topology.dst == server)).tolist())


def with_network(
    table: StepTable, decoding: StepReach | None, reading: StepReach | None, busy: Floats
) -> StepTable:
    """Return a step table with the network time added to decode and prefill steps."""

    def added(step: StepReach | None) -> Floats:
        if step is None:
            return np.zeros(len(table.tokens))
        return np.array([step.step_s(float(one), busy) for one in table.tokens])

    return table.with_network(added(decoding), added(reading))


def _transfer(row: ServedFabric, rate_per_s: float, layers: int) -> Transfer:
    """Return the transfers over the links of the fabric, which are shared with experts and stages."""
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
