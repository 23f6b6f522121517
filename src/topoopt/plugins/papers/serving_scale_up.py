"""A mixture of experts on scale-up networks: a switch, a full mesh and meshes of fewer links, at the same bandwidth."""

from collections.abc import Iterator

from topoopt.catalog import ClusterSpec
from topoopt.inference import (
    Contender,
    Deployment,
    EngineSettings,
    FabricQuestion,
    Parallelism,
    Pool,
    Priced,
    RequestLoad,
    ServedFabric,
    ServingStack,
    compare_serving,
    switch_prices_usd,
)
from topoopt.plugins.papers.description import description
from topoopt.plugins.papers.figure import Comparison, Row
from topoopt.pricing import OwnershipTerms, pricing_of, server_price, usual_running
from topoopt.workloads.transformer import find_transformer

TEXT = description("serving")
SWITCH = "ideal-switch"
SWITCHLESS = ("full-mesh", "torus", "expander")
ACCELERATORS, PORTS, PORT_BPS = 64, 9, 400e9
"""Nine ports of 400 Gb/s: the 450 GB/s of an H100's scale-up links, each accelerator a server of its own."""
LOAD = RequestLoad(0.0, 2048, 512)
OBJECTIVES_S = 2.0, 0.05


def scale_up_rows() -> Iterator[tuple[Row, Comparison]]:
    """Yield requests a second, and tokens for each dollar of servers and network, over those of the switch."""
    cluster = ClusterSpec(ACCELERATORS, PORTS, PORT_BPS, 1, "h100")
    split = Parallelism(1, 1, ACCELERATORS, ACCELERATORS)
    engine = EngineSettings("fp8")
    given = Deployment("prefill-first", Pool(split, 1, 256 * ACCELERATORS), settings=engine)
    answer = compare_serving(
        find_transformer("deepseek-v3"),
        FabricQuestion(cluster, LOAD, *OBJECTIVES_S),
        engine,
        (SWITCH, *SWITCHLESS),
        Priced(pricing_of(), OwnershipTerms(usual_running({}), server_price("h100", 1))),
        ServingStack(),
        (Contender(float("inf"), given),),
        lambda stage, done, total: None,
    )
    rows = {row.name: row for row in answer.fabrics}
    switch = rows[SWITCH]
    for name in SWITCHLESS:
        row = rows[name]
        rate = row.on.largest_rate_per_s / switch.on.largest_rate_per_s
        price = switch_prices_usd(switch, row, ACCELERATORS)
        for kind, ours in (
            ("rate", 100 * (rate - 1)),
            ("dollar", 100 * (_hour_usd(switch) / _hour_usd(row) * rate - 1)),
        ):
            yield (
                {
                    "part": "scale-up",
                    "case": name,
                    "quantity": f"% more {kind} than a switch",
                    "ours": ours,
                    "published": None,
                },
                TEXT.comparison(
                    kind,
                    ours,
                    fabric=name,
                    has=price["has_usd"],
                    needs=price["needs_usd"],
                    own=(row.network_usd or float("nan")) / ACCELERATORS,
                ),
            )


def _hour_usd(row: ServedFabric) -> float:
    return row.usd_per_hour if row.usd_per_hour is not None else float("nan")
