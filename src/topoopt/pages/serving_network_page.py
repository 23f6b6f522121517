"""The network's part of a service's page: fabrics side by side, network times, wiring and pairing, traffic."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from topoopt.base.units import format_bandwidth, format_bytes, format_time
from topoopt.inference import OnOneFabric, ServingAnswer, kv_matrix, pool_servers
from topoopt.pages.chart import BarChart, Series
from topoopt.pages.fabric_tables import skipped_notes
from topoopt.pages.page import Block, Notes, Section, Table
from topoopt.pages.tables import dollars, facts, listed, number, runs, table, text, usd
from topoopt.pages.work_page import heatmap, on_one_scale

WORDS = {"any": "anywhere", "network-aware": "where links are free", "neighbors": "to neighbors"}
"""Routes of keys and values between pools."""
SERVED_COLUMNS = (
    text("fabric", "fabric"),
    number("goodput/s", "goodput_per_s", ".3g"),
    number("met", "attainment", ".1%"),
    number("TTFT p50", "ttft_p50_s"),
    number("p90", "ttft_p90_s"),
    number("TPOT p50", "tpot_p50_s"),
    number("p90", "tpot_p90_s"),
)
"""Columns of serving figures per fabric."""
PARTS = ("mean", "p50", "p90", "p99")


def users_times(title: str, row: Mapping[str, Any], kinds: Mapping[str, str]) -> Table:
    """Return mean and percentiles of some times of a row, by label and field."""
    rows = [{"what": what, **{key: row[f"{name}_{key}_s"] for key in PARTS}} for what, name in kinds.items()]
    return table(title, rows, text("time", "what"), *(number(key, key, format_time) for key in PARTS))


def time_or_dash(seconds: float | None) -> str:
    """Return a time, a dash where it is not known."""
    return "–" if seconds is None else format_time(seconds)


def network_sections(answer: ServingAnswer) -> tuple[Section, ...]:
    """Return the sections about fabrics; none of a single server."""
    if not answer.fabrics:
        return ()
    rows = [{**answer.fabric_row(row), "words": row.evaluated.words} for row in answer.fabrics]
    asked = answer.question.demand.rate_per_s is not None
    at = "the rate asked for" if asked else "the goodput"
    return (
        Section(
            "fabrics",
            "Fabrics",
            "Each with the deployment, wiring and pairing that suit it best, simulated there request by request.",
            _fabrics(answer, rows, asked),
            "simulated",
        ),
        Section("network", "What the network takes", f"At {at}.", _network(rows)),
        *_traffic(answer),
    )


def mattering(answer: ServingAnswer) -> str:
    """Return whether the network matters, in a sentence."""
    if not answer.matters:
        if any(row.evaluated.binding.what == "network" for row in answer.fabrics):
            return (
                "At the rate asked for the network hardly matters: on no fabric are the first token or a token "
                "5% longer than on one that takes no time."
            )
        return (
            "The network hardly matters here: on no fabric are the first token or a token 5% longer than on one that "
            "takes no time."
        )
    names = [row.fabric for row in answer.fabrics if row.served.worth.matters]
    worst = max(answer.fabrics, key=lambda row: max(_longer(row)))
    first, each = _longer(worst)
    where = "every fabric" if len(names) == len(answer.fabrics) > 1 else listed(names)
    if math.isinf(max(first, each)):
        return f"The network matters on {where}: on {worst.fabric} requests pile up."
    what, share = ("the first token", first) if first > each else ("a token", each)
    return f"The network matters on {where}: on {worst.fabric} it makes {what} {share:.0%} longer."


def _longer(row: OnOneFabric) -> tuple[float, float]:
    return row.served.worth.ttft_share, row.served.worth.tpot_share


def _fabrics(answer: ServingAnswer, rows: list[dict[str, Any]], asked: bool) -> tuple[Block, ...]:
    cost = "usd_per_million_tokens" + ("" if asked else "_at_goodput")
    beside = table(
        "",
        rows,
        *SERVED_COLUMNS,
        number("network", "cost_usd", usd),
        number("$/1 M", cost, dollars),
        *((number("at goodput", "usd_per_million_tokens_at_goodput", dollars),) if asked else ()),
        text("binds", "binds"),
    )
    words = [row["words"] for row in rows]
    blocks: list[Block] = [beside]
    if asked:
        blocks.append(Notes(("Met, times and $/1 M are those at the rate asked for.",)))
    if len(set(words)) == 1:
        blocks.append(Notes((f"on every fabric: {words[0]}",)))
    else:
        blocks.append(table("Deployments", rows, text("fabric", "fabric"), text("deployment", "words")))
    blocks += skipped_notes(answer.skipped)
    known = [row for row in rows if row[cost] is not None]
    bars = Series("dollars", tuple(row["fabric"] for row in known), tuple(row[cost] for row in known))
    blocks.append(
        BarChart("usd_per_million_tokens", "A million tokens of answers", "fabric", "dollars", (bars,))
    )
    return tuple(blocks)


def _network(rows: list[dict[str, Any]]) -> tuple[Block, ...]:
    apart = any(row["pairing"] for row in rows)
    takes = table(
        "",
        rows,
        text("fabric", "fabric"),
        number("tax", "bandwidth_tax", ".2f"),
        number("busiest link", "busiest_link", ".1%"),
        *((number("KV in TTFT", "kv_share_of_ttft", ".1%"),) if apart else ()),
        number("network in TPOT", "network_share_of_tpot", ".1%"),
        number("hops in TPOT", "hops_share_of_tpot", ".1%"),
        *((number("KV needs", "kv_bandwidth_bps", _speed),) if apart else ()),
        number("tokens need", "token_bandwidth_bps", _speed),
    )
    wired = table(
        "Wiring and pairing, chosen together",
        rows,
        text("fabric", "fabric"),
        text("wiring", "wiring", lambda words: words or "–"),
        text("bytes go", "routes"),
        text("KV goes", "pairing", lambda name: WORDS[name] if name else "–"),
        number("choices", "decode_choices", lambda count: f"{count:.3g}" if count else "–"),
        number("hops of KV", "kv_hops", ".2f"),
        number("sent a request", "sent_bytes_per_request", format_bytes),
    )
    said = (
        "In closed form, at the mean lengths of prompts and answers. tax: bytes times hops over bytes. KV needs: "
        "bandwidth of a server below which keys and values take longer than reading the prompt. tokens need: below "
        "which a token takes 5% longer than without a network."
    )
    return takes, Notes((said,)), wired


def _traffic(answer: ServingAnswer) -> tuple[Section, ...]:
    row = answer.winner
    if row is None or row.served.deployment.prefill is None:
        return ()
    matrix = kv_matrix(row.served, row.rate_per_s)
    prefill, decode = pool_servers(row.served)
    blocks: list[Block] = [
        facts({"prefill": f"servers {runs(prefill)}", "decode": f"servers {runs(decode)}"})
    ]
    others = row.served.on.per_request.transfers * row.rate_per_s - matrix
    maps = (
        ("kv_traffic", f"Keys and values on {row.fabric}, bytes a second", matrix),
        ("fixed_traffic", "Experts and stages, bytes a second", np.where(others > 1, others, 0.0)),
    )
    blocks += on_one_scale(heatmap(*one) for one in maps if one[2].any())
    caption = "Who sends keys and values to whom is chosen; what experts and stages send is not."
    return (Section("traffic", f"Traffic on {row.fabric}", caption, tuple(blocks)),)


def _speed(value: float) -> str:
    return format_bandwidth(value) if value else "–"
