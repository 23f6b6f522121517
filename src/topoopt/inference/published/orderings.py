"""What others have published of networks for serving, asked of this program: orderings, gains, a known deployment."""

from collections.abc import Iterator
from dataclasses import replace

from topoopt.catalog import ClusterSpec
from topoopt.inference.arrivals import Arrivals, draw_requests
from topoopt.inference.deployment import Deployment, EngineSettings, Parallelism, Pool
from topoopt.inference.fabrics.compared import ServedFabric
from topoopt.inference.lengths import Lengths
from topoopt.inference.network.load import RequestLoad
from topoopt.inference.published.known_deployment import deployment_rows
from topoopt.inference.published.ordering import Asked, PublishedOrdering, asked
from topoopt.inference.search.fabric_fleet import INSIDE_BYTES_PER_S, on_fabric
from topoopt.inference.simulator import Fleet, Replicas, simulate_serving, uniform_transfer

_SWITCHLESS = 20.6, 56.2
"""Percent of cost-effectiveness that arXiv 2605.00254 gives."""

_REQUESTS = 3000
"""That are played for a router."""


def published_orderings() -> tuple[PublishedOrdering, ...]:
    """Return what is published of networks for serving, with our own figures beside it."""
    return (*_switchless(), *_aware_routers(), *deployment_rows())


def switch_prices_usd(switch: ServedFabric, row: ServedFabric, accelerators: int) -> dict[str, float]:
    """Return what a switched network costs, and what it would have to for the published gain of another.

    Both in dollars an accelerator. What a dollar of network costs in an hour is taken from the two rows themselves.
    """
    hours = [one.usd_per_hour or 0.0 for one in (switch, row)]
    networks = [one.network_usd or 0.0 for one in (switch, row)]
    each = (hours[0] - hours[1]) / (networks[0] - networks[1])
    rate = row.on.largest_rate_per_s / switch.on.largest_rate_per_s
    needed = networks[0] + ((1 + _SWITCHLESS[0] / 100) * hours[1] / rate - hours[0]) / each
    return {"has_usd": networks[0] / accelerators, "needs_usd": needed / accelerators}


def _switchless() -> list[PublishedOrdering]:
    """Return how many more tokens a dollar of network brings without switches, for a mixture of experts."""
    cluster = ClusterSpec(8, 8, 400e9, 8, "h100")
    names = ("ideal-switch", "full-mesh", "topoopt")
    answer = asked("deepseek-v3", cluster, RequestLoad(0, 4096, 512), (2.0, 0.05), names, Asked())
    rows = {row.name: row for row in answer.fabrics}
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
    return found


def _aware_routers() -> list[PublishedOrdering]:
    """Return what a router that knows the network takes off the first token: on 64 accelerators, and on two servers."""
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
    """Yield what is gained in closed form, and for the same load in the simulator, with the parts that change."""
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
        f"the same load request by request: {played[0]:.2f} s and {played[1]:.2f} s, where the closed form has "
        f"{first.ttft_s:.2f} s and {second.ttft_s:.2f} s; there caches meet on links at random, which need "
        f"{100 * first.network_busy:.0f} % of the busiest's time, here a reader sends one after each prompt and "
        "readers take turns, so that fewer meet and there is less to avoid",
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
    fleet = Fleet("disaggregated", decode, prefill, deployment.settings, "round-robin", at_once)
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
