"""A served model on several fabrics as a page: which wins by money, what users meet, what the network takes."""

import math
from collections.abc import Sequence

from topoopt.report.chart import BarChart, Series
from topoopt.report.page import Block, Notes, Page, Section, Table, Tile
from topoopt.report.plan_traffic import heatmap
from topoopt.report.rows import Entries, facts, number, table, text
from topoopt.report.words import dollars, listed, runs, usd
from topoopt.serving import (
    SERVING_FABRICS,
    ServedFabric,
    ServingComparison,
    deployment_words,
    kv_matrix,
    pool_servers,
    wiring_words,
)
from topoopt.units import format_bandwidth, format_bytes, format_time

BINDS = {
    "prefill": "time of prefill",
    "decode": "places in decode",
    "network": "the busiest link",
    "ttft": "first token",
    "tpot": "each token",
    "nothing": "nothing",
}
"""What keeps the rate from growing, in words."""


def serving_fabrics_page(answer: ServingComparison) -> Page:
    """Return who wins, the fabrics side by side, what the network takes, and the winner's traffic."""
    asked, cluster = answer.question, answer.question.cluster
    winner, per_server = answer.winner, cluster.accelerators_per_server
    return Page(
        "serving-fabrics",
        f"{answer.model.name} served on {cluster.servers} servers of {per_server} x {cluster.accelerator}",
        headline(answer),
        _tiles(winner),
        _warnings(answer),
        (
            Section("asked", "What was asked", "", (facts(_asked(answer)),)),
            Section("fabrics", "Fabrics", "What users meet on each, and what it costs.", _fabrics(answer)),
            Section("network", "What the network takes", "", _network(answer)),
            Section("simulated", "Simulated", "The same, request by request.", _simulated(answer)),
            *_traffic(answer),
        ),
        {
            "usd_per_million_output_tokens": winner.usd_per_million_tokens if winner else None,
            "largest_rate_per_s": winner.on.largest_rate_per_s if winner else None,
        },
        remark=f"{asked.load.prompt_tokens:,.0f} + {asked.load.answer_tokens:,.0f} tokens a request",
        answer_first=True,
    )


def headline(answer: ServingComparison) -> str:
    """Return which fabric wins by money in time, and whether the network matters."""
    asked, winner = answer.question, answer.winner
    limits = f"{format_time(asked.ttft_s)} to the first token and {format_time(asked.tpot_s)} a token"
    if winner is None:
        best = max(answer.fabrics, key=lambda row: row.on.largest_rate_per_s)
        most = f"{best.on.largest_rate_per_s:.4g} requests/s, on {best.name}"
        return (
            f"No fabric answers {asked.load.requests_per_s:.4g} requests/s within {limits}; at most {most}."
        )
    each = winner.usd_per_million_tokens
    price = f" for {dollars(each)} a million tokens of answers" if each is not None else ""
    rate = f"{winner.on.load.requests_per_s:.4g} requests/s"
    said = f"{winner.name} answers {rate} within {limits}{price}, {_beside(answer, winner)}."
    return f"{said} {_mattering(answer)}"


def _beside(answer: ServingComparison, winner: ServedFabric) -> str:
    others = [row for row in answer.in_time if row is not winner and row.usd_per_million_tokens]
    if not others or winner.usd_per_million_tokens is None:
        return "the only one in time" if len(answer.in_time) == 1 else "the first in time"
    last = others[-1]
    assert last.usd_per_million_tokens is not None
    more = last.usd_per_million_tokens / winner.usd_per_million_tokens - 1
    less = "no less than" if more < 5e-4 else f"{more:.1%} less than"
    return f"{less} {last.name}, the dearest" if len(others) > 1 else f"{less} {last.name}"


def _mattering(answer: ServingComparison) -> str:
    if not answer.matters:
        return (
            "The network hardly matters here: on no fabric are the first token or a token 5 % longer than on one that "
            "takes no time."
        )
    names = [row.name for row in answer.fabrics if row.worth.matters]
    worst = max(answer.fabrics, key=lambda row: max(row.worth.ttft_share, row.worth.tpot_share))
    what, share = max(
        (("the first token", worst.worth.ttft_share), ("a token", worst.worth.tpot_share)),
        key=lambda one: one[1],
    )
    where = "every fabric" if len(names) == len(answer.fabrics) > 1 else listed(names)
    if math.isinf(share):
        return f"The network matters on {where}: on {worst.name} requests pile up."
    return f"The network matters on {where}: on {worst.name} it makes {what} {share:.0%} longer."


def _tiles(winner: ServedFabric | None) -> tuple[Tile, ...]:
    if winner is None:
        return ()
    one = winner.on.expected
    return (
        Tile("Cheapest in time", winner.name, SERVING_FABRICS[winner.name]),
        Tile("$ / 1 M tokens", dollars(winner.usd_per_million_tokens), "of answers"),
        Tile("First token", format_time(one.ttft_s), f"{format_time(one.ttft_late_s)} for nine of ten"),
        Tile("Each token", format_time(one.tpot_s)),
    )


def _warnings(answer: ServingComparison) -> tuple[str, ...]:
    off = [
        row.confirmed.attainment
        for row in answer.in_time
        if row.confirmed and row.confirmed.attainment < 0.85
    ]
    if not off:
        return ()
    return (
        f"simulated, only {min(off):.0%} of the requests are in time on some fabric: closed forms say 90 %",
    )


def _asked(answer: ServingComparison) -> Entries:
    asked, cluster, settings = answer.question, answer.question.cluster, answer.settings
    rate = asked.load.requests_per_s
    return {
        "rate": f"{rate:g} requests/s" if rate else "the largest in time on each fabric",
        "in time": f"first token of nine of ten within {format_time(asked.ttft_s)}, each further token within "
        f"{format_time(asked.tpot_s)}",
        "network": f"{cluster.degree} x {format_bandwidth(cluster.link_bandwidth_bps)} a server",
        "formats": f"weights {settings.weight_precision}, keys and values {settings.kv_precision}",
        "searched": f"{answer.deployments:,} deployments" if answer.deployments > 1 else "",
        "prices": f"list {answer.pricing.name}",
    }


def _fabrics(answer: ServingComparison) -> tuple[Block, ...]:
    beside = table(
        "",
        answer.fabrics,
        text("fabric", "name"),
        number("requests/s", "on.largest_rate_per_s", ",.2f"),
        text("binds", lambda row: BINDS[row.on.binds]),
        number("first token", "on.expected.ttft_s", _seconds),
        number("a token", "on.expected.tpot_s", _seconds),
        number("network", "network_usd", usd),
        number("an hour", "usd_per_hour", dollars),
        number("$/1 M tokens", "usd_per_million_tokens", dollars),
    )
    notes = [f"{name} is left out: {reason}" for name, reason in answer.skipped]
    said = (Notes(tuple(notes)),) if notes else ()
    return beside, _deployments(answer), *said, _chart(answer.fabrics)


def _deployments(answer: ServingComparison) -> Table | Notes:
    """Return how the model is split, in a line where it is so on every fabric."""
    words = [deployment_words(row.deployment) for row in answer.fabrics]
    if len(set(words)) == 1:
        return Notes((f"prefill : decode on every fabric: {words[0]}",))
    return table("Prefill : decode", answer.fabrics, text("fabric", "name"), text("replicas", _replicas))


def _replicas(row: ServedFabric) -> str:
    return deployment_words(row.deployment)


def _network(answer: ServingComparison) -> tuple[Block, ...]:
    apart = any(row.deployment.prefill for row in answer.fabrics)
    takes = table(
        "",
        answer.fabrics,
        text("fabric", "name"),
        number("tax", "on.reach.tax", ".2f"),
        number("busiest link", "on.expected.network_busy", ".1%"),
        *((number("KV in TTFT", "on.expected.kv_share", _share),) if apart else ()),
        number("network in TPOT", _of_token, _share),
        number("hops in TPOT", "on.expected.hop_share", _share),
        *((number("KV needs", "worth.kv_bps", _speed),) if apart else ()),
        number("tokens need", "worth.token_bps", _speed),
    )
    wired = table(
        "Wiring and pairing, chosen together",
        answer.fabrics,
        text("fabric", "name"),
        text("wiring", wiring_words, lambda words: words or "–"),
        text("bytes go", "on.way"),
        text("KV goes", lambda row: row.on.pairing.name if row.deployment.prefill else "–"),
        number("choices", "on.pairing.choices", ".3g"),
        number("hops of KV", "on.reach.kv_hops", ".2f"),
        number("sent a request", "on.reach.sent_bytes", format_bytes),
    )
    said = (
        "tax: bytes times hops over bytes. KV needs: bandwidth of a server below which keys and values take longer "
        "than reading the prompt. tokens need: below which a token takes 5 % longer than without a network."
    )
    return takes, Notes((said,)), wired


def _simulated(answer: ServingComparison) -> tuple[Block, ...]:
    rows = [row for row in answer.fabrics if row.confirmed is not None]
    if not rows:
        return (Notes(("nothing to simulate: no request is answered in time",)),)
    return (
        table(
            "",
            rows,
            text("fabric", "name"),
            number("requests/s", "on.load.requests_per_s", ",.2f"),
            number("first token", "confirmed.ttft_s", _seconds),
            number("nine of ten", "confirmed.ttft_p90_s", _seconds),
            number("a token", "confirmed.tpot_s", _seconds),
            number("nine of ten below", "confirmed.tpot_p90_s", _seconds),
            number("in time", "confirmed.attainment", ".1%"),
        ),
    )


def _traffic(answer: ServingComparison) -> tuple[Section, ...]:
    row = answer.winner
    if row is None or row.deployment.prefill is None:
        return ()
    matrix = kv_matrix(row)
    prefill, decode = pool_servers(row)
    blocks: list[Block] = [
        facts({"prefill": f"servers {runs(prefill)}", "decode": f"servers {runs(decode)}"})
    ]
    if matrix.any():
        blocks.append(heatmap("kv_traffic", f"Keys and values on {row.name}, bytes a second", matrix))
    others = row.on.per_request.transfers * row.on.load.requests_per_s - matrix
    if others.max(initial=0.0) > 1:
        blocks.append(heatmap("fixed_traffic", "Experts and stages, bytes a second", others))
    caption = "Who sends keys and values to whom is chosen; what experts and stages send is not."
    return (Section("traffic", f"Traffic on {row.name}", caption, tuple(blocks)),)


def _chart(rows: Sequence[ServedFabric]) -> BarChart:
    known = [row for row in rows if row.usd_per_million_tokens is not None]
    bars = Series(
        "dollars", tuple(row.name for row in known), tuple(row.usd_per_million_tokens or 0.0 for row in known)
    )
    return BarChart("usd_per_million_tokens", "A million tokens of answers", "fabric", "dollars", (bars,))


def _of_token(row: ServedFabric) -> float:
    return row.on.expected.token_network_s / row.on.expected.tpot_s


def _seconds(value: float) -> str:
    return "piles up" if math.isinf(value) else format_time(value)


def _share(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:.1%}"


def _speed(value: float) -> str:
    return format_bandwidth(value) if value else "–"
