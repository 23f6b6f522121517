"""A served model on every fabric, each with the deployment that suits it best, and its cost."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from topoopt.base.answers import Progress, silent
from topoopt.base.errors import Infeasible, TopoOptError
from topoopt.base.units import format_time
from topoopt.catalog import NETWORKS, NetworkRow, Table, compare
from topoopt.inference.deployment import Deployment, EngineSettings
from topoopt.inference.fabric_deployments import Contender, SplitRates, contenders, split_rates, splits
from topoopt.inference.fabric_evaluation import (
    FabricQuestion,
    OnFabric,
    ServingStack,
    best_on,
    prepared,
    share_left,
)
from topoopt.inference.memory import cache_element_bytes
from topoopt.inference.network.latency import NetworkWorth, PoolLaws, network_worth
from topoopt.inference.network.reach import Served
from topoopt.inference.step.law import step_table
from topoopt.inference.step.replica import served_system
from topoopt.pricing import OwnershipTerms, Pricing, known_price, ownership
from topoopt.workloads.transformer import TransformerModel

MOST_TRIED = 40
"""Most deployments simulated on a fabric; then the best so far is used, though another's bound is higher."""
CLOSE = 2e-3
"""Rates that differ by less are equal."""


@dataclass(frozen=True, eq=False, slots=True)
class ServedFabric(NetworkRow):
    """A fabric with the deployment that suits it best.

    Attributes
    ----------
    deployment : Deployment
    on : OnFabric
    worth : NetworkWorth
        Effect of the network.
    served : Served
    laws : PoolLaws
    usd_per_hour : float or None
        Servers, network and electricity.
    tried : int
        Deployments that were tried on this fabric.
    """

    deployment: Deployment
    on: OnFabric
    worth: NetworkWorth
    served: Served
    laws: PoolLaws
    usd_per_hour: float | None
    tried: int = 1

    @property
    def usd_per_million_tokens(self) -> float | None:
        """Dollars per million output tokens at the rate of its figures; None where unknown, or objectives are
        missed."""
        load = self.on.load
        tokens_per_s = load.requests_per_s * load.answer_tokens
        return usd_per_million(self.usd_per_hour, tokens_per_s) if self.on.in_time else None


def usd_per_million(usd_per_hour: float | None, tokens_per_s: float) -> float | None:
    """Return the cost per million tokens at a token rate; None without a price or tokens."""
    if usd_per_hour is None or not tokens_per_s > 0:
        return None
    return usd_per_hour / 3600 / tokens_per_s * 1e6


@dataclass(frozen=True, eq=False, slots=True)
class Priced:
    """Pricing of networks and servers."""

    pricing: Pricing
    terms: OwnershipTerms


@dataclass(frozen=True, eq=False, slots=True)
class Tried:
    """A deployment on a fabric.

    Attributes
    ----------
    row : ServedFabric
    promised_per_s : float
        Rate without a network, scaled to the share that remains on this fabric.
    """

    row: ServedFabric
    promised_per_s: float


class Trying:
    """Deployments that are tried on fabrics: each is prepared once for all of them.

    Parameters
    ----------
    candidates
        Deployments with their rates on an ideal network, the largest first.
    """

    def __init__(
        self,
        model: TransformerModel,
        question: FabricQuestion,
        candidates: Sequence[Contender],
        priced: Priced,
        stack: ServingStack,
    ) -> None:
        self.candidates = candidates
        self._asked = model, question, priced, stack
        self._made: dict[int, tuple[Served, PoolLaws] | str] = {}

    def on(self, name: str, index: int) -> Tried | str:
        """Return a deployment on a fabric with the wiring that is best for it, or why it cannot be there."""
        model, question, priced, stack = self._asked
        one = self.candidates[index]
        if index not in self._made:
            try:
                self._made[index] = prepared(model, one.deployment, question.cluster, question.load, stack)
            except TopoOptError as error:
                self._made[index] = str(error)
        ready = self._made[index]
        if isinstance(ready, str):
            return ready
        try:
            on = best_on(name, *ready, question)
        except TopoOptError as error:
            return str(error)
        cluster = question.cluster
        ports = cluster.servers, cluster.degree, cluster.link_bandwidth_bps
        price = known_price(name, *ports, priced.pricing)
        row = ServedFabric(
            name,
            NETWORKS[name].description,
            cluster.server_bandwidth_bps,
            one.deployment,
            on,
            network_worth(*ready, on.reach, on.load, cluster),
            *ready,
            ownership(priced.terms, cluster.servers, price).usd_per_hour,
            **price.columns,
        )
        return Tried(row, one.bound_per_s * share_left(on, *ready, question))


def compared(
    model: TransformerModel,
    question: FabricQuestion,
    candidates: Sequence[Contender],
    fabrics: Sequence[str],
    priced: Priced,
    stack: ServingStack,
    on_progress: Progress = silent,
) -> Table[ServedFabric]:
    """Return the best deployment on each fabric in closed form.

    Contenders come with their rates on an ideal network, the largest first. On each fabric they are tried in this
    order until none of the rest could be better than the best so far.

    Raises
    ------
    Infeasible
        If no deployment can be on any fabric.
    """
    trying = Trying(model, question, candidates, priced, stack)

    def fastest_on(name: str) -> ServedFabric:
        best, reason, tried = None, "", 0
        for index, one in enumerate(candidates):
            if best is not None and (
                one.bound_per_s <= best.promised_per_s * (1 + CLOSE) or tried >= MOST_TRIED
            ):
                break
            found = trying.on(name, index)
            if isinstance(found, str):
                reason = reason or found
                continue
            tried += 1
            if best is None or found.promised_per_s > best.promised_per_s * (1 + CLOSE):
                best = found
        if best is None:
            raise Infeasible(reason)
        return replace(best.row, tried=tried)

    return compare(fabrics, fastest_on, on_progress=on_progress, stage="fabrics").or_infeasible("fabrics")


@dataclass(frozen=True, eq=False, slots=True)
class ServingComparison:
    """A served model on several fabrics.

    Attributes
    ----------
    fabrics : tuple of ServedFabric
    skipped : tuple of (fabric, reason)
    deployments : int
        Number of deployments considered; 1 where it was given.
    """

    fabrics: tuple[ServedFabric, ...]
    skipped: tuple[tuple[str, str], ...]
    deployments: int


MOST_KEPT = 400
"""Deployments kept by their rates without a network."""


def compare_serving(
    model: TransformerModel,
    question: FabricQuestion,
    settings: EngineSettings,
    fabrics: Iterable[str],
    priced: Priced,
    stack: ServingStack,
    deployments: Sequence[Contender] | int,
    on_progress: Progress,
) -> ServingComparison:
    """Return a model on every fabric, each with the deployment that suits it best.

    Parameters
    ----------
    deployments
        Deployments to try; or, where they are searched, the concurrent requests per attention copy.

    Raises
    ------
    Infeasible
        If the model does not fit, or no split meets the objectives: with the best one found.
    """
    cluster = question.cluster
    cache_element_bytes(settings.kv_precision)  # an unknown format or engine is no split that does not fit
    step_table(model, cluster.accelerator, settings=settings, fabric=served_system(cluster))
    if isinstance(deployments, int):
        on_progress("splits", 0, 0)
        candidates, looked_at = _searched(model, question, settings, deployments)
    else:
        candidates, looked_at = list(deployments), len(deployments)
        for one in candidates:
            prepared(model, one.deployment, cluster, question.load, stack)  # says what is wrong with it
    rows, skipped = compared(model, question, candidates, tuple(fabrics), priced, stack, on_progress)
    return ServingComparison(rows, skipped, looked_at)


def _searched(
    model: TransformerModel, question: FabricQuestion, settings: EngineSettings, batch: int
) -> tuple[list[Contender], int]:
    cluster = question.cluster
    objectives_s = question.ttft_s, question.tpot_s
    total = cluster.total_accelerators
    rates: list[SplitRates] = []
    for split in splits(model, total):
        one = split_rates(model, split, settings, cluster, question.load, objectives_s, batch)
        if one is not None:
            rates.append(one)
    if not rates:
        raise Infeasible(
            f"{model.name}: no split over {total} accelerators of {cluster.accelerator} has room for its "
            f"{settings.weight_precision} weights and a request of {question.load.prompt_tokens:g} + "
            f"{question.load.answer_tokens:g} tokens; take more servers, or a smaller weight_precision"
        )
    found, looked_at = contenders(rates, total, settings, MOST_KEPT)
    if not found:
        first_s = min(one.prompt_s for one in rates)
        token_s = min(one.token_s for one in rates)
        raise Infeasible(
            f"{model.name}: no split answers even a single request in time; the best first token comes after "
            f"{format_time(first_s)} (slo_ttft {format_time(question.ttft_s)}), the best token takes "
            f"{format_time(token_s)} (slo_tpot {format_time(question.tpot_s)})"
        )
    return found, looked_at
