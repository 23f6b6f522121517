"""``topoopt.serving_fabrics``: which split and which wiring answer users in time, for the least money."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Unpack

from topoopt.errors import Infeasible, InvalidInput, check_known
from topoopt.hardware import ClusterSpec, find_accelerator, largest_degree
from topoopt.job import traffic_job
from topoopt.limits import whole
from topoopt.plan import Plan
from topoopt.search import plan_on
from topoopt.serving import (
    PAIRINGS,
    SERVING_FABRICS,
    Contender,
    Deployment,
    EngineSettings,
    FabricQuestion,
    Priced,
    RequestLoad,
    SentBy,
    ServingComparison,
    ServingStack,
    at_rate,
    compare_serving,
    known_engine,
    parse_pool,
)
from topoopt.units import parse_bandwidth, parse_time
from topoopt.verbs.llm.words import Transformer, model_of
from topoopt.verbs.ownership_terms import ownership_terms
from topoopt.verbs.plan import Progress, silent
from topoopt.verbs.pricing import pricing
from topoopt.words import ServingFabricsWords, amount, checked_arguments, checked_words, refuse_empty

_PORTS = 8
FREE = "free"


@checked_arguments
def serving_fabrics(
    model: Transformer = None, *, on_progress: Progress = silent, **words: Unpack[ServingFabricsWords]
) -> ServingComparison:
    """Say which split and which wiring serve a model in time, for the least money, fabric by fabric.

    Every split of a pool that reads prompts and one that answers them, or of one that does both, is looked at without
    a network; the best ones are tried on every fabric. On topoopt wiring, routes and who sends keys and values to whom
    are chosen together.

    Parameters
    ----------
    model
        A transformer's name, the ``config.json`` of Hugging Face, or a model; none for shapes by hand.
    on_progress
        Called with the stage, what is done and what there is.
    **words
        The flags of ``topoopt serving-fabrics`` with underscores: ``servers``, ``isl``, ``slo_ttft``, ``fabrics`` …

    Returns
    -------
    ServingComparison

    Raises
    ------
    InvalidInput
        For an unknown word or name, or a value that is not allowed.
    Infeasible
        If the model does not fit, or no split answers in time.

    Examples
    --------
    >>> import topoopt
    >>> found = topoopt.serving_fabrics("llama3-70b", servers=4, fabrics=["topoopt", "ideal-switch"])
    >>> found.winner.name, found.matters
    ('topoopt', False)
    """
    refuse_empty(words)
    settings = checked_words(words, ServingFabricsWords)
    cluster = _cluster(settings)
    question = _question(settings, cluster)
    engine = EngineSettings(settings["weight_precision"], settings["kv_precision"])
    names = tuple(settings.get("fabrics", SERVING_FABRICS))
    if not names:
        raise InvalidInput("fabrics: expected at least one")
    for name in names:
        check_known("fabric", name, SERVING_FABRICS)
    priced = Priced(
        pricing(settings), ownership_terms(settings, cluster.accelerator, cluster.accelerators_per_server)
    )
    return compare_serving(
        model_of(model, settings),
        question,
        engine,
        dict.fromkeys(names),
        priced,
        ServingStack(
            known_engine(settings["engine"]), SentBy(dispatch=settings["dispatch"]), settings["by_layer"]
        ),
        _given(settings, engine) or whole("max_batch", settings["max_batch"], 1),
        on_progress,
    )


def _cluster(words: Mapping[str, Any]) -> ClusterSpec:
    part = find_accelerator(words["accelerator"])
    servers = whole("servers", words["servers"], 2)
    return ClusterSpec(
        servers,
        words.get("degree", min(_PORTS, largest_degree(servers))),
        amount(parse_bandwidth, words["bandwidth"], "bandwidth"),
        words["accelerators_per_server"],
        words["accelerator"],
        part.scale_up_bandwidth_bps or 200e9,
        amount(parse_time, words["latency"], "latency"),
    )


def _question(words: Mapping[str, Any], cluster: ClusterSpec) -> FabricQuestion:
    rate = words.get("rate")
    if rate is not None and not 0 < rate < float("inf"):
        raise InvalidInput(f"rate: expected requests a second above 0, got {rate:g}")
    pairing = words["pairing"]
    check_known("pairing", pairing, (FREE, *PAIRINGS))
    load = RequestLoad(rate or 0.0, whole("isl", words["isl"], 1), whole("osl", words["osl"], 1))
    ttft_s, tpot_s = (_objective_s(words, word) for word in ("slo_ttft", "slo_tpot"))
    names = tuple(PAIRINGS) if pairing == FREE else (pairing,)
    return FabricQuestion(cluster, load, ttft_s, tpot_s, names)


def _objective_s(words: Mapping[str, Any], word: str) -> float:
    value = amount(parse_time, words[word], word)
    if not value > 0:
        raise InvalidInput(f"{word}: expected a time above 0, got {words[word]}")
    return value


def _given(words: Mapping[str, Any], settings: EngineSettings) -> tuple[Contender, ...]:
    """Return the deployment that the words fix; none where it is searched."""
    batch = whole("max_batch", words["max_batch"], 1)
    if "decode" not in words:
        if "prefill" in words:
            raise InvalidInput("prefill: say also who answers, as decode")
        return ()
    decode = parse_pool(words["decode"], "decode", batch)
    if "prefill" not in words:
        return (Contender(float("inf"), Deployment("prefill-first", decode, settings=settings)),)
    prefill = parse_pool(words["prefill"], "prefill", batch)
    return (Contender(float("inf"), Deployment("disaggregated", decode, prefill, settings)),)


def serving_plan(answer: ServingComparison) -> Plan:
    """Return the wiring of a comparison's topoopt as a plan of what it sends in a second.

    Raises
    ------
    InvalidInput
        If topoopt is not among its fabrics.
    Infeasible
        If nothing is sent between servers.
    """
    row = answer.row()
    if row is None:
        raise InvalidInput("out: topoopt is not among the fabrics, and only its cables are a plan; add it")
    asked = answer.question.cluster
    load = row.on.load.requests_per_s or 1.0
    traffic = at_rate(row.on.per_request, load).as_traffic()
    if not len(traffic.transfers) and not traffic.allreduce:
        raise Infeasible(f"out: {answer.model.name} sends nothing between servers; there is nothing to wire")
    cluster = replace(asked, servers=traffic.servers)
    name = f"{answer.model.name} served"
    job = traffic_job(
        name, traffic, cluster, f"a second of serving {answer.model.name} at {load:.4g} requests/s"
    )
    return plan_on(job, row.on.fabric, answer.pricing)
