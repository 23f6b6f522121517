"""The search over deployments and fabrics, from a model and a cluster to a comparison."""

from collections.abc import Callable, Iterable, Sequence

from topoopt.base.errors import Infeasible
from topoopt.base.units import format_time
from topoopt.inference.deployment import EngineSettings, Parallelism
from topoopt.inference.fabrics.answer import ServingComparison
from topoopt.inference.fabrics.compared import Priced, compared
from topoopt.inference.fabrics.deployments import Contender, contenders
from topoopt.inference.fabrics.on_fabric import FabricQuestion
from topoopt.inference.fabrics.prepared import ServingStack, prepared, table_without_network
from topoopt.inference.fabrics.splits import SplitRates, split_rates, splits
from topoopt.inference.precision import cache_element_bytes
from topoopt.workloads.transformer import TransformerModel

MOST_KEPT = 400
"""Deployments that are kept by what they could do without a network."""


def compare_serving(
    model: TransformerModel,
    question: FabricQuestion,
    settings: EngineSettings,
    fabrics: Iterable[str],
    priced: Priced,
    stack: ServingStack,
    deployments: Sequence[Contender] | int,
    on_progress: Callable[[str, int, int], None],
) -> ServingComparison:
    """Return a model on every fabric, each with the deployment that suits it best.

    Parameters
    ----------
    deployments
        Those that are tried; or, where they are searched, the requests that a copy of attention answers at once.

    Raises
    ------
    Infeasible
        If the model does not fit, or no split answers in time: with the best that there is.
    """
    cluster = question.cluster
    cache_element_bytes(settings.kv_precision)  # an unknown format or engine is no split that does not fit
    table_without_network(
        model, cluster.accelerator, Parallelism(), settings, stack.engine, cluster.accelerators_per_server
    )
    if isinstance(deployments, int):
        on_progress("splits", 0, 0)
        candidates, looked_at = _searched(model, question, settings, stack, deployments)
    else:
        candidates, looked_at = list(deployments), len(deployments)
        for one in candidates:
            prepared(model, one.deployment, cluster, question.load, stack)  # says what is wrong with it
    rows, skipped = compared(model, question, candidates, tuple(fabrics), priced, stack, on_progress)
    return ServingComparison(rows, skipped, looked_at)


def _searched(
    model: TransformerModel,
    question: FabricQuestion,
    settings: EngineSettings,
    stack: ServingStack,
    batch: int,
) -> tuple[list[Contender], int]:
    cluster = question.cluster
    objectives_s = question.ttft_s, question.tpot_s
    total = cluster.total_accelerators
    rates: list[SplitRates] = []
    for split in splits(model, total):
        one = split_rates(model, split, settings, cluster, question.load, objectives_s, stack.engine, batch)
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
