"""Published findings on networks for serving, compared with this program: orderings, gains, a known deployment."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from topoopt.base.answers import silent
from topoopt.base.arrays import Floats
from topoopt.catalog import ClusterSpec
from topoopt.inference.deployment import (
    Deployment,
    DeploymentFigure,
    EngineSettings,
    Parallelism,
    Pool,
    deployment_figures,
    deployment_preset,
)
from topoopt.inference.fabric_comparison import Priced, ServedFabric, ServingComparison, compare_serving
from topoopt.inference.fabric_deployments import Contender
from topoopt.inference.fabric_evaluation import FabricQuestion, ServingStack
from topoopt.inference.requests import Arrivals, Lengths, RequestLoad, draw_requests
from topoopt.inference.search.deployment_file import parse_pool
from topoopt.inference.search.fabric_choice import INSIDE_BYTES_PER_S, on_fabric
from topoopt.inference.simulator import Fleet, Replicas, simulate_serving, uniform_transfer
from topoopt.pricing import OwnershipTerms, pricing_of, server_price, usual_running
from topoopt.workloads.transformer import find_transformer

_BATCH = 256


@dataclass(frozen=True, slots=True)
class PublishedOrdering:
    """A published figure beside ours.

    Attributes
    ----------
    what, unit : str
    ours, low, high : float
        Our value, and the published range.
    origin : str
    explanation : str
        Reason for a difference, if any.
    """

    what: str
    unit: str
    ours: float
    low: float
    high: float
    origin: str
    explanation: str


@dataclass(frozen=True, slots=True)
class Asked:
    """A deployment of a model, or a batch of each accelerator for deployments that are searched, and whose step times.

    Attributes
    ----------
    given : Deployment or None
    pairing : tuple of str
        Names of pairings that the router supports.
    """

    given: Deployment | None = None
    pairing: tuple[str, ...] = ("any", "network-aware", "neighbors")


PRESET = "deepseek-v3-2025"
HITS = 0.563
"""Share of the prompts' tokens that came from caches, published with the figures."""
SERVER, PORT_BPS = 8, 400e9
"""Accelerators of a server, each with a port."""
ANSWER_SHARE = 168 / 608
"""Ratio of output to input tokens, published with the figures."""
_SWITCHLESS = 20.6, 56.2
"""Percent of cost-effectiveness that arXiv 2605.00254 gives."""
_REQUESTS = 3000
"""Requests simulated for a router."""


def published_orderings() -> tuple[PublishedOrdering, ...]:
    """Return published findings on networks for serving, with our own figures."""
    # how many more tokens a dollar of network brings without switches, for a mixture of experts
    cluster = ClusterSpec(8, 8, 400e9, 8, "h100")
    names = ("ideal-switch", "full-mesh", "topoopt")
    answer = asked("deepseek-v3", cluster, RequestLoad(0, 4096, 512), (2.0, 0.05), names, Asked())
    rows = {row.fabric: row for row in answer.fabrics}
    dollars = {name: row.usd_per_million_tokens or float("nan") for name, row in rows.items()}
    found = []
    for name in names[1:]:
        price = switch_prices_usd(rows[names[0]], rows[name], cluster.total_accelerators)
        found.append(
            PublishedOrdering(
                f"tokens a dollar, {name} over a switch, DeepSeek-V3 on 64 H100",
                "%",
                100 * (dollars[names[0]] / dollars[name] - 1),
                *_SWITCHLESS,
                "arXiv 2605.00254",
                "there the switches are those of scale-up domains; here accelerators of a server stay joined, the "
                f"switches are Ethernet's, and servers are paid for, too: the switched network costs "
                f"{price['has_usd']:,.0f} dollars an accelerator, and would have to cost {price['needs_usd']:,.0f} for "
                f"{_SWITCHLESS[0]} %",
            )
        )
    return (*found, *_aware_routers(), *deployment_rows())


def switch_prices_usd(switch: ServedFabric, row: ServedFabric, accelerators: int) -> dict[str, float]:
    """Return the cost of a switched network, and the cost at which another one's published gain is reached.

    Both in dollars per accelerator. The hourly cost of a dollar of network is derived from the two rows.
    """
    hours = [one.usd_per_hour or 0.0 for one in (switch, row)]
    networks = [one.cost_usd or 0.0 for one in (switch, row)]
    each = (hours[0] - hours[1]) / (networks[0] - networks[1])
    rate = row.on.largest_rate_per_s / switch.on.largest_rate_per_s
    needed = networks[0] + ((1 + _SWITCHLESS[0] / 100) * hours[1] / rate - hours[0]) / each
    return {"has_usd": networks[0] / accelerators, "needs_usd": needed / accelerators}


def _aware_routers() -> list[PublishedOrdering]:
    """Return the reduction of the time to first token by a network-aware router: on 64 accelerators, and on two
    servers."""
    tp8, formats = Parallelism(tensor=8), EngineSettings("fp8")
    found = []
    for servers, low, high in ((8, -21.0, 0.0), (2, 0.0, 0.0)):
        half = servers // 2
        given = Deployment("disaggregated", Pool(tp8, half), Pool(tp8, half), formats)
        cluster = ClusterSpec(servers, 2, 100e9, 8, "h100")
        load = RequestLoad(1.75 * half / 2, 16384, 512)
        any_way, aware = (
            asked("llama3-70b", cluster, load, (60.0, 1.0), ("torus",), Asked(given, (name,))).fabrics[0]
            for name in ("any", "network-aware")
        )
        found += [
            PublishedOrdering(
                f"mean first token, choosing decode by the network, {servers} servers, {fidelity}",
                "%",
                ours,
                low,
                high,
                "arXiv 2606.03910 (64 GPUs, at best); llm-d-router #2315 (two nodes)",
                words,
            )
            for fidelity, ours, words in _fidelities(any_way, aware)
        ]
    return found


def _fidelities(any_way: ServedFabric, aware: ServedFabric) -> Iterator[tuple[str, float, str]]:
    """Yield the gain in closed form, and for the same load in the simulator, with its changed parts."""
    first, second = any_way.on.expected, aware.on.expected
    yield (
        "closed form",
        100 * (second.ttft_s / first.ttft_s - 1),
        f"rings of 2 x 100 Gb/s, prompts read {100 * first.prefill_busy:.0f} % of the time; without the choice a "
        f"cache crosses {any_way.on.reach.kv_hops:.2f} links and adds {first.kv_s:.2f} s of {first.ttft_s:.2f} s "
        f"to the first token, with it {aware.on.reach.kv_hops:.2f} links and "
        f"{second.kv_s:.2f} s of {second.ttft_s:.2f} s",
    )
    played = _played_ttft_s(any_way), _played_ttft_s(aware)
    yield (
        "simulated",
        100 * (played[1] / played[0] - 1),
        f"the same load request by request, by a router that knows the tokens of replicas: {played[0]:.2f} s and "
        f"{played[1]:.2f} s, where the closed form has {first.ttft_s:.2f} s and {second.ttft_s:.2f} s and caches meet "
        f"on links at random, which need {100 * first.network_busy:.0f} % of the busiest's time; a round robin gains "
        "nothing, for of as many readers as answering replicas its turns make the same pairs each time",
    )


def _played_ttft_s(row: ServedFabric) -> float:
    """Return the mean time to the first token of the same load, request by request."""
    deployment, load, laws = row.deployment, row.on.load, row.laws
    assert deployment.prefill is not None
    pages = laws.places * round(load.prompt_tokens + load.answer_tokens) // deployment.settings.page_tokens
    decode = Replicas(deployment.decode, laws.decode, pages)
    budget = max(deployment.prefill.token_budget, round(load.prompt_tokens))
    prefill = Replicas(replace(deployment.prefill, token_budget=budget), laws.prefill, pages)
    count = deployment.prefill.replicas + deployment.decode.replicas
    at_once = uniform_transfer(count, 0.0, INSIDE_BYTES_PER_S, 0.0)  # until it is on the fabric
    fleet = Fleet("disaggregated", decode, prefill, deployment.settings, transfer=at_once)
    drawn = draw_requests(
        Arrivals(),
        _REQUESTS,
        load.requests_per_s,
        Lengths(load.prompt_tokens),
        Lengths(load.answer_tokens),
        0,
    )
    run = simulate_serving(on_fabric(fleet, row, load.requests_per_s, None), drawn)
    return float(run.ttft_s[_REQUESTS // 3 : -(_REQUESTS // 6)].mean())  # the first find an empty fleet


def deployment_rows() -> list[PublishedOrdering]:
    """Return the input and output rates of a server, for deployments with published figures."""
    model, words = deployment_preset(PRESET)
    figures = deployment_figures(PRESET)
    found = []
    for name in ("reads computed", "reads in its profile"):
        found.append(_reads(model, words, figures[name]))
        if name == "reads computed":
            found.append(_with_hits(found[-1], figures["reads with cache hits"]))
    return found + [_answers(model, words, figures[name]) for name in ("answers", "answers in its profile")]


def _asked(model: str, words: Mapping[str, Any], answers: int, load: RequestLoad) -> ServedFabric:
    """Return the deployment with this many decode accelerators, on rails."""
    settings = EngineSettings(
        words["weight_precision"], two_batch_overlap=words["two_batch_overlap"], engine=words["engine"]
    )
    reads = parse_pool(words["prefill"], "prefill")[1]
    given = Deployment(
        "disaggregated",
        Pool(Parallelism(1, 1, answers, answers), 1, words["max_batch"] * answers),
        Pool(reads),
        settings,
    )
    servers = (reads.accelerators + answers) // SERVER
    cluster = ClusterSpec(servers, SERVER, PORT_BPS, SERVER, words["accelerator"])
    return asked(model, cluster, load, (60.0, 1.0), words["fabrics"], Asked(given)).fabrics[0]


def _reads(model: str, words: Mapping[str, Any], figure: DeploymentFigure) -> PublishedOrdering:
    """Return the input tokens/s of a server in steps as large as those of the profile."""
    answers = parse_pool(words["decode"], "decode")[1].accelerators
    row = _asked(model, words, answers, _load(figure))
    each = max(words["token_budget"] // int(figure.prompt_tokens), 1)
    prompts = float(each * figure.ranks)
    tokens = prompts * figure.prompt_tokens
    table, network_s = row.laws.prefill, row.on.reach.prefill.step_s(tokens, np.zeros_like(row.on.reach.busy))
    step_s = table.prefill_s(tokens, prompts, network_s)
    assert table.halves is not None
    works = float(table.at(tokens, table.halves.prefill_works_s)) + table.prefill_s_per_pair * (
        tokens * figure.prompt_tokens / 2
    )
    sends = float(table.at(tokens, table.halves.prefill_sends_s)) + network_s
    return _row(
        f"tokens a second that a server of prefill {figure.name}, EP{figure.ranks}",
        tokens / step_s / figure.servers,
        figure,
        f"ours: {each} prompts of an accelerator in {1e3 * step_s:,.0f} ms, of which both halves of the batch compute "
        f"{1e3 * works:,.0f} ms and send for {1e3 * sends:,.0f} ms, one behind the other",
    )


def _with_hits(computed: PublishedOrdering, figure: DeploymentFigure) -> PublishedOrdering:
    """Return the arriving input tokens, where a share of them is cached."""
    return _row(
        f"tokens a second that a server of prefill {figure.name}, EP{figure.ranks}",
        computed.ours / (1 - HITS),
        figure,
        f"ours: computed tokens over 1 - {HITS:g}, the published share of hits",
    )


def _answers(model: str, words: Mapping[str, Any], figure: DeploymentFigure) -> PublishedOrdering:
    """Return the output tokens of a server: at the published batch, or at the largest with the published speed."""
    load = _load(figure)
    row = _asked(model, words, figure.ranks, load)
    cached = load.prompt_tokens + load.answer_tokens / 2
    most = int(figure.batch or row.laws.places // figure.ranks)
    batches = figure.ranks * np.arange(1.0, most + 1)
    network = [row.on.reach.decode.step_s(one, np.zeros_like(row.on.reach.busy)) for one in batches.tolist()]
    step_s: Floats = np.array(
        [
            row.laws.decode.decode_s(one, one * cached, sent_s)
            for one, sent_s in zip(batches.tolist(), network, strict=True)
        ]
    )
    most_s = np.inf if figure.batch else float(words["slo_tpot"].removesuffix("ms")) / 1e3
    in_time = np.flatnonzero(step_s <= most_s)
    at = int(in_time[-1]) if len(in_time) else 0
    table, one = row.laws.decode, float(batches[at])
    assert table.halves is not None
    works = float(table.at(one, table.halves.decode_works_s))
    sends = float(table.at(one, table.halves.decode_sends_s)) + network[at]
    return _row(
        f"tokens a second that a server of decode {figure.name}, EP{figure.ranks}",
        one / float(step_s[at]) / figure.servers,
        figure,
        f"ours: {one / figure.ranks:.0f} requests of an accelerator, a step of {1e3 * float(step_s[at]):.1f} ms: "
        f"caches {1e3 * table.decode_s_per_token * one * cached:.1f} ms, all else that is computed "
        f"{1e3 * works:.1f} ms, dispatch and combine {1e3 * sends:.1f} ms behind these",
    )


def _load(figure: DeploymentFigure) -> RequestLoad:
    """Return requests of the published lengths; a profile's caches have the prompt alone."""
    answer = 2.0 if figure.seen else figure.prompt_tokens * ANSWER_SHARE
    return RequestLoad(1.0, figure.prompt_tokens, answer)


def _row(what: str, ours: float, figure: DeploymentFigure, terms: str) -> PublishedOrdering:
    published = figure.tokens_per_s
    seen = (
        "this row is among those that constants are fitted to"
        if figure.seen
        else "published is what came in 24 hours, ours the most that it can; no constant has seen this row"
    )
    return PublishedOrdering(
        what,
        "tokens/s",
        ours,
        published,
        published,
        figure.source,
        f"{terms}; {100 * (ours / published - 1):+.0f} %; {seen}",
    )


def asked(
    model: str,
    cluster: ClusterSpec,
    load: RequestLoad,
    objectives_s: tuple[float, float],
    fabrics: tuple[str, ...],
    how: Asked,
) -> ServingComparison:
    """Return the comparison of fabrics for a load, in the formats of 8 bits."""
    terms = OwnershipTerms(
        usual_running({}), server_price(cluster.accelerator, cluster.accelerators_per_server)
    )
    return compare_serving(
        find_transformer(model),
        FabricQuestion(cluster, load, *objectives_s, how.pairing),
        how.given.settings if how.given else EngineSettings("fp8"),
        fabrics,
        Priced(pricing_of(), terms),
        ServingStack(),
        (Contender(float("inf"), how.given),) if how.given else _BATCH,
        silent,
    )
