"""The arguments that say which job is meant; every verb that takes a model takes them."""

from dataclasses import dataclass
from typing import Annotated

from typer import Argument, Option

CLUSTER, COSTS = "Cluster", "How costs are counted"


@dataclass(frozen=True, slots=True)
class JobArguments:
    """What the flags say; ``None`` where a flag was not given, so that a file or a default holds."""

    source: Annotated[
        str,
        Argument(
            metavar="MODEL|FILE",
            show_default=False,
            help="A model (topoopt models), the config.json of a transformer, a job.yaml, operators (.yaml, .csv), "
            "a traffic matrix (.csv, .npy) or a profile (topoopt profile, measure_*.json). compare and traffic take a "
            "plan, too.",
        ),
    ]
    variant: Annotated[str | None, Option(help="Published variant of the model, such as 16 or dlrm-16.")] = (
        None
    )
    set: Annotated[
        list[str] | None,
        Option("--set", metavar="KEY=VALUE", help="Change a hyper-parameter; may be given several times."),
    ] = None
    batch_per_accelerator: Annotated[
        int | None, Option(metavar="N", help="Samples per accelerator; the model's own if not given.")
    ] = None
    cluster: Annotated[
        str | None, Option(metavar="FILE", rich_help_panel=CLUSTER, help="Read the cluster from a YAML file.")
    ] = None
    servers: Annotated[
        int | None,
        Option(metavar="N", rich_help_panel=CLUSTER, help="Servers; 128, or those of the variant."),
    ] = None
    degree: Annotated[
        int | None, Option(metavar="N", rich_help_panel=CLUSTER, help="Training ports of a server; 4.")
    ] = None
    bandwidth: Annotated[
        str | None, Option(metavar="RATE", rich_help_panel=CLUSTER, help="Of one port; 100Gbps.")
    ] = None
    accelerators_per_server: Annotated[
        int | None, Option(metavar="N", rich_help_panel=CLUSTER, help="Accelerators of a server; 4.")
    ] = None
    accelerator: Annotated[
        str | None, Option(metavar="NAME", rich_help_panel=CLUSTER, help="See topoopt hardware; a100.")
    ] = None
    intra_server_bandwidth: Annotated[
        str | None,
        Option(metavar="RATE", rich_help_panel=CLUSTER, help="Of each accelerator in its server; 200Gbps."),
    ] = None
    latency: Annotated[
        str | None, Option(metavar="TIME", rich_help_panel=CLUSTER, help="Of one hop; 1us.")
    ] = None
    links: Annotated[
        str | None,
        Option(
            metavar="duplex|directed",
            rich_help_panel=CLUSTER,
            help="A port is a fiber pair to one neighbor, or sends to one and hears another; duplex.",
        ),
    ] = None
    compute: Annotated[
        str | None,
        Option(
            metavar="profile|roofline",
            rich_help_panel=COSTS,
            help="Operator times: measured on A100 (and the roofline where not), or the roofline; profile.",
        ),
    ] = None
    profile_file: Annotated[
        str | None,
        Option(
            metavar="FILE",
            rich_help_panel=COSTS,
            help="Operator times of your own: from topoopt profile, or a FlexNet profile (measure_*.json).",
        ),
    ] = None
    precision: Annotated[
        str | None,
        Option(
            metavar="fp32|tf32|bf16|fp16|fp8|fp4",
            rich_help_panel=COSTS,
            help="Of the arithmetic, not of what is kept and sent: that has 4 bytes a number; fp32.",
        ),
    ] = None
    optimizer: Annotated[
        str | None,
        Option(metavar="sgd|momentum|adam", rich_help_panel=COSTS, help="State kept per parameter; sgd."),
    ] = None
    memory_check: Annotated[
        str | None,
        Option(
            metavar="enforce|warn|off",
            rich_help_panel=COSTS,
            help="A strategy that does not fit in memory is refused, mentioned or not looked at; warn.",
        ),
    ] = None
    embedding_factor: Annotated[
        int | None,
        Option(
            metavar="1|2",
            rich_help_panel=COSTS,
            help="Copies of embedding activations on the wire; 1. The authors' task graphs carry 2.",
        ),
    ] = None
    bucket: Annotated[
        str | None,
        Option(
            metavar="SIZE",
            rich_help_panel=COSTS,
            help="Join gradients into AllReduces of so much, such as 25MB; one for each tensor if not given.",
        ),
    ] = None
