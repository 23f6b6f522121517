"""A served model on every fabric, each with the deployment that suits it best, and what that costs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from topoopt.cost import NetworkPrice, OwnershipTerms, Pricing, network_bill, network_price, ownership
from topoopt.errors import Infeasible, TopoOptError
from topoopt.serving.deployment import Deployment
from topoopt.serving.fabrics.deployments import Contender
from topoopt.serving.fabrics.on_fabric import FabricQuestion, OnFabric, best_on
from topoopt.serving.fabrics.prepared import ServingStack, prepared
from topoopt.serving.network.latency import PoolLaws
from topoopt.serving.network.reach import Served
from topoopt.serving.network.worth import NetworkWorth, network_worth
from topoopt.transformer import TransformerModel

MOST_TRIED = 40
"""Deployments that are tried on a fabric, after which the best so far is taken, though another's bound is higher."""
_CLOSE = 2e-3


@dataclass(frozen=True, slots=True)
class Confirmed:
    """What the simulator says: Poisson requests of equal lengths.

    Attributes
    ----------
    ttft_s, tpot_s : float
        Means.
    ttft_p90_s, tpot_p90_s : float
    attainment : float
        Share of the requests with both in time.
    """

    ttft_s: float
    tpot_s: float
    ttft_p90_s: float
    tpot_p90_s: float
    attainment: float


@dataclass(frozen=True, eq=False, slots=True)
class ServedFabric:
    """A row of the comparison.

    Attributes
    ----------
    name : str
    deployment : Deployment
    on : OnFabric
    worth : NetworkWorth
        How much the network matters.
    served : Served
    laws : PoolLaws
    network_usd : float or None
        Price of the network; None where a part of it has none.
    usd_per_hour : float or None
        Servers, network and electricity.
    tried : int
        Deployments that were tried on this fabric.
    confirmed : Confirmed or None
        What the simulator says.
    """

    name: str
    deployment: Deployment
    on: OnFabric
    worth: NetworkWorth
    served: Served
    laws: PoolLaws
    network_usd: float | None
    usd_per_hour: float | None
    tried: int = 1
    confirmed: Confirmed | None = None

    @property
    def usd_per_million_tokens(self) -> float | None:
        """Dollars for a million tokens of answers at the rate of its figures; None where unknown, or not in time."""
        rate = self.on.load.requests_per_s
        if self.usd_per_hour is None or not rate or not self.on.in_time:
            return None
        return self.usd_per_hour / 3600 / (rate * self.on.load.answer_tokens) * 1e6


@dataclass(frozen=True, eq=False, slots=True)
class Priced:
    """How networks and servers are priced."""

    pricing: Pricing
    terms: OwnershipTerms


def compared(
    model: TransformerModel,
    question: FabricQuestion,
    candidates: Sequence[Contender],
    fabrics: Sequence[str],
    priced: Priced,
    stack: ServingStack,
    on_progress: Callable[[str, int, int], None] = lambda stage, done, total: None,
) -> tuple[tuple[ServedFabric, ...], tuple[tuple[str, str], ...]]:
    """Return the best deployment on each fabric, and fabrics that were left out with the reason.

    Contenders come with what they could do on a network that takes no time, the largest first. On each fabric they are
    tried in this order until none that is left could be better than what was found.

    Raises
    ------
    Infeasible
        If no deployment answers any request in time on any fabric.
    """
    made: dict[int, tuple[Served, PoolLaws] | str] = {}
    rows: list[ServedFabric] = []
    skipped: list[tuple[str, str]] = []
    for done, name in enumerate(fabrics):
        on_progress("fabrics", done, len(fabrics))
        found = _best(model, name, question, candidates, stack, made)
        if isinstance(found, str):
            skipped.append((name, found))
            continue
        on, served, laws, deployment, tried = found
        price = _price(name, question, priced)
        per_hour = ownership(priced.terms, question.cluster.servers, price).usd_per_hour
        rows.append(
            ServedFabric(
                name,
                deployment,
                on,
                network_worth(served, laws, on.reach, on.load, question.cluster),
                served,
                laws,
                price.usd,
                per_hour,
                tried,
            )
        )
    if not rows:
        raise Infeasible(f"serving: no fabric is left: {'; '.join(': '.join(one) for one in skipped)}")
    return tuple(rows), tuple(skipped)


_Found = tuple[OnFabric, Served, PoolLaws, Deployment, int]


def _best(
    model: TransformerModel,
    name: str,
    question: FabricQuestion,
    candidates: Sequence[Contender],
    stack: ServingStack,
    made: dict[int, tuple[Served, PoolLaws] | str],
) -> _Found | str:
    """Return the best deployment on a fabric, or why there is none."""
    best: _Found | None = None
    reason, tried = "", 0
    for index, one in enumerate(candidates):
        if best is not None and (
            one.bound_per_s <= best[0].largest_rate_per_s * (1 + _CLOSE) or tried >= MOST_TRIED
        ):
            break
        if index not in made:
            try:
                made[index] = prepared(model, one.deployment, question.cluster, question.load, stack)
            except TopoOptError as error:
                made[index] = str(error)
        ready = made[index]
        if isinstance(ready, str):
            reason = reason or ready
            continue
        try:
            on = best_on(name, *ready, question)
        except TopoOptError as error:
            reason = str(error)
            continue
        tried += 1
        if best is None or on.largest_rate_per_s > best[0].largest_rate_per_s * (1 + _CLOSE):
            best = (on, *ready, one.deployment, tried)
    if best is None:
        return reason
    return (*best[:4], tried)


def _price(name: str, question: FabricQuestion, priced: Priced) -> NetworkPrice:
    cluster = question.cluster
    try:
        bill = network_bill(name, cluster.servers, cluster.degree, cluster.link_bandwidth_bps, priced.pricing)
    except TopoOptError as error:
        return NetworkPrice(None, None, (str(error),))
    return network_price(bill)
