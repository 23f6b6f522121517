"""What a plan of a served model says first: what its users meet on its network, and on others."""

from topoopt.base.units import format_time
from topoopt.pages.page import Section, Table, Tile
from topoopt.pages.rows import facts, number, table, text
from topoopt.pages.words import dollars, usd
from topoopt.plans import Plan, ServedFigures, ServedOnFabric


def served_headline(served: ServedFigures) -> str:
    """Return what users meet on the plan's network, and whether that matters."""
    own = served.fabrics[0]
    goals = f"{format_time(served.slo_ttft_s)} to the first token and {format_time(served.slo_tpot_s)} for each other"
    price = own.usd_per_million_tokens
    cost = "" if price is None else f", for {dollars(price)} a million tokens of answers"
    least = (
        "it meets them for the least money"
        if served.winner == own.fabric
        else f"{served.winner} does it for less"
    )
    others = f"; of {len(served.fabrics)} fabrics {least}" if len(served.fabrics) > 1 else ""
    matters = "" if served.network_matters or own.binds == "network" else " The network hardly matters here."
    return (
        f"{own.deployment}: of {served.requests_per_s:.3g} requests a second {own.attainment:.1%} are answered within "
        f"{goals}{cost}; {own.goodput_per_s:.3g} at most{others}. Then {own.binds} binds: {own.binds_because}.{matters}"
    )


def served_tiles(served: ServedFigures) -> tuple[Tile, ...]:
    """Return goodput and the times of users."""
    own = served.fabrics[0]
    return (
        Tile("Goodput", f"{own.goodput_per_s:.3g}/s", f"{served.slo_share:.0%} within both objectives"),
        Tile("First token", _time(own.ttft_p50_s), f"p90 {_time(own.ttft_p90_s)}"),
        Tile("Each other token", _time(own.tpot_p50_s), f"p90 {_time(own.tpot_p90_s)}"),
        Tile("A million tokens", dollars(own.usd_per_million_tokens), "of answers"),
        Tile("Price of the network", usd(own.network_usd), own.wiring),
    )


def served_sections(plan: Plan) -> tuple[Section, ...]:
    """Return the fabrics beside each other, and the times of users on the plan's."""
    served = plan.served
    assert served is not None
    own = served.fabrics[0]
    asked = facts(
        {
            "serves": served.model,
            "requests": f"{served.requests_per_s:.4g} a second",
            "objectives": f"first token {format_time(served.slo_ttft_s)}, each other {format_time(served.slo_tpot_s)}, "
            f"for {served.slo_share:.0%} of the requests",
            "deployment": own.deployment,
        }
    )
    return (
        Section(
            "served",
            "What users meet",
            "Each fabric with the deployment, wiring and pairing that suit it best, simulated request by request.",
            (asked, _fabrics(served), _times(own)),
            "simulated",
        ),
    )


def _fabrics(served: ServedFigures) -> Table:
    return table(
        "",
        served.fabrics,
        text("fabric", "fabric"),
        number("goodput/s", "goodput_per_s", ".3g"),
        number("met", "attainment", ".1%"),
        number("TTFT p50", "ttft_p50_s", _time),
        number("p90", "ttft_p90_s", _time),
        number("TPOT p50", "tpot_p50_s", _time),
        number("p90", "tpot_p90_s", _time),
        number("tax", "bandwidth_tax", ".2f"),
        number("network", "network_usd", usd),
        number("$/1 M", "usd_per_million_tokens", dollars),
        text("binds", "binds"),
    )


def _times(own: ServedOnFabric) -> Table:
    parts = ("mean", "p50", "p90", "p99")
    rows = [
        {"what": what, **{part: getattr(own, f"{name}_{part}_s") for part in parts}}
        for what, name in (("first token", "ttft"), ("each other token", "tpot"))
    ]
    return table(
        "On the plan's network", rows, text("time", "what"), *(number(part, part, _time) for part in parts)
    )


def _time(seconds: float | None) -> str:
    return "–" if seconds is None else format_time(seconds)
