"""The arguments of ``topoopt cost``: which network, what is bought, what is counted, how it is run."""

from dataclasses import dataclass
from typing import Annotated

from typer import Argument, Option

NETWORK, BOUGHT, COUNTED, OPTICS = "Network", "What is bought", "What is counted", "Optical technologies"


@dataclass(frozen=True, slots=True)
class NetworkArguments:
    """Whose network it is; ``None`` where a flag was not given."""

    source: Annotated[
        str | None,
        Argument(
            metavar="PLAN",
            show_default=False,
            help="A plan, whose servers, ports, wiring and traffic are taken; without one, the flags say it.",
        ),
    ] = None
    servers: Annotated[int | None, Option(metavar="N", rich_help_panel=NETWORK, help="Servers; 128.")] = None
    degree: Annotated[
        int | None, Option(metavar="N", rich_help_panel=NETWORK, help="Training ports of a server; 4.")
    ] = None
    bandwidth: Annotated[
        str | None, Option(metavar="RATE", rich_help_panel=NETWORK, help="Of one port; 100Gbps.")
    ] = None
    links: Annotated[
        str | None,
        Option(
            metavar="duplex|directed",
            rich_help_panel=NETWORK,
            help="A port is a fiber pair to one neighbor, or sends to one and hears another; duplex.",
        ),
    ] = None


@dataclass(frozen=True, slots=True)
class PurchaseArguments:
    """Fabrics and where their prices and watts come from."""

    fabrics: Annotated[
        str | None,
        Option(
            metavar="LIST",
            rich_help_panel=BOUGHT,
            help="Fabrics, with commas: topoopt, topoopt-ocs, topoopt-hybrid, ideal-switch, fat-tree, "
            "oversub-fat-tree, rail, expander, torus, full-mesh, sip-ml, ocs-reconfig, mixnet. All if not given.",
        ),
    ] = None
    prices: Annotated[
        str | None,
        Option(
            metavar="2022|2025|FILE",
            rich_help_panel=BOUGHT,
            help="Price list: 2022 (to 200 Gb/s), 2025 (to 800 Gb/s) or a file of your own; the first that has such "
            "ports if not given.",
        ),
    ] = None
    power: Annotated[
        str,
        Option(
            metavar="typical|FILE",
            rich_help_panel=BOUGHT,
            help="Watts of parts: makers' typical figures, or a file of your own.",
        ),
    ] = "typical"
    oversubscription: Annotated[
        float,
        Option(metavar="RATIO", rich_help_panel=BOUGHT, help="Of the oversub-fat-tree, at its first switch."),
    ] = 2.0
    ocs_interfaces: Annotated[
        int | None,
        Option(
            metavar="N",
            rich_help_panel=BOUGHT,
            help="Ports of a server that topoopt-hybrid has behind optical circuit switches; half of them.",
        ),
    ] = None
    electrical_interfaces: Annotated[
        int | None,
        Option(
            metavar="N",
            rich_help_panel=BOUGHT,
            help="Ports of a server that mixnet has on its electrical fat-tree; a quarter of them.",
        ),
    ] = None
    shards: Annotated[
        int,
        Option(
            metavar="N",
            rich_help_panel=BOUGHT,
            help="Parts of the cluster with optical devices of their own; servers of two parts cannot be joined.",
        ),
    ] = 1
    technology: Annotated[
        str | None,
        Option(
            metavar="NAME",
            rich_help_panel=BOUGHT,
            help="Optical technology of the fabrics that have one (topoopt hardware optical-switches).",
        ),
    ] = None


@dataclass(frozen=True, slots=True)
class AccountingArguments:
    """The accounting: a named one, and each of its choices; ``None`` where the named one holds."""

    accounting: Annotated[
        str,
        Option(
            metavar="NAME",
            rich_help_panel=COUNTED,
            help="complete, no-look-ahead or fat-tree-fiber; the flags below change it.",
        ),
    ] = "complete"
    nics: Annotated[
        bool | None,
        Option("--nics/--no-nics", rich_help_panel=COUNTED, show_default=False, help="Network cards."),
    ] = None
    look_ahead: Annotated[
        bool | None,
        Option(
            "--look-ahead/--no-look-ahead",
            rich_help_panel=COUNTED,
            show_default=False,
            help="A second panel behind 1×2 switches, on which the next job is wired while this one runs.",
        ),
    ] = None
    look_ahead_fiber: Annotated[
        bool | None,
        Option(
            "--look-ahead-fiber/--no-look-ahead-fiber",
            rich_help_panel=COUNTED,
            show_default=False,
            help="Fibers of its own for the second panel.",
        ),
    ] = None
    fiber_on: Annotated[
        str | None,
        Option(
            metavar="WHICH",
            rich_help_panel=COUNTED,
            help="Who pays for fiber: every-fabric, fat-trees or none.",
        ),
    ] = None
    fiber_length: Annotated[
        float | None, Option(metavar="METERS", rich_help_panel=COUNTED, help="Mean length of a fiber; 500.")
    ] = None
    tiers: Annotated[
        int | None,
        Option(metavar="1|2|3", rich_help_panel=COUNTED, help="Layers of switches of fat-trees; 3."),
    ] = None
    years: Annotated[
        float | None,
        Option(metavar="N", rich_help_panel=COUNTED, help="Add the electricity of so many years."),
    ] = None
    electricity_price: Annotated[
        float | None,
        Option(metavar="USD", rich_help_panel=COUNTED, help="Of a kilowatt-hour; needed with --years."),
    ] = None
    power_usage_effectiveness: Annotated[
        float,
        Option(
            "--pue",
            metavar="RATIO",
            rich_help_panel=COUNTED,
            help="Watts of the building for a watt of the parts.",
        ),
    ] = 1.0


@dataclass(frozen=True, slots=True)
class OpticsArguments:
    """How often the traffic changes, and what rewiring may take."""

    change_every: Annotated[
        str | None,
        Option(
            metavar="TIME",
            rich_help_panel=OPTICS,
            help="How long the traffic stays the same, such as 1s; as long as the job if not given.",
        ),
    ] = None
    overhead: Annotated[
        float, Option(metavar="FRACTION", rich_help_panel=OPTICS, help="Of the time, for rewiring at most.")
    ] = 0.1
