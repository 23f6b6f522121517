"""The arguments that say which job is meant; every verb that takes a model takes them."""

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from topoopt.cli.training_arguments import TrainingArguments, training_words
from topoopt.errors import InvalidInput
from topoopt.units import parse_bandwidth, parse_bytes, parse_time

if TYPE_CHECKING:
    from topoopt.job import JobRequest

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
    change: Annotated[
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


_SETTINGS = {
    "compute": "compute",
    "precision": "precision",
    "optimizer": "optimizer",
    "memory_check": "memory_check",
    "embedding_factor": "embedding_bytes_factor",
}
_PLAIN_CLUSTER = ("servers", "degree", "accelerators_per_server", "accelerator", "links")


def read_request(arguments: JobArguments, training: TrainingArguments = TrainingArguments()) -> "JobRequest":
    """Return what is asked for: the model or file, then the cluster file, then the flags, the last word wins."""
    from topoopt.job import JobRequest, read_cluster_part, request_of

    for name in ("variant", "cluster", "profile_file"):
        if getattr(arguments, name) == "":
            raise InvalidInput(f"--{name.replace('_', '-')}: expected a name, got nothing")
    request = request_of(arguments.source)
    if arguments.cluster is not None:
        part = JobRequest(cluster=read_cluster_part(arguments.cluster), files=(arguments.cluster,))
        request = request.overlaid(part)
    return request.overlaid(
        JobRequest(
            variant=arguments.variant or "",
            profile=arguments.profile_file or "",
            training=training_words(training),
            hyperparameters=_changes(arguments.change or []),
            batch_per_accelerator=_batch(arguments.batch_per_accelerator),
            cluster=_cluster(arguments),
            settings=_settings(arguments),
        )
    )


def given_flags(arguments: Any) -> list[str]:
    """Return the flags that were given, for verbs that cannot use them."""
    known = {"change": "set"}  # the one flag that is not called like its field
    return [
        "--" + known.get(item.name, item.name).replace("_", "-")
        for item in fields(arguments)
        if item.name != "source" and getattr(arguments, item.name) not in (None, [])
    ]


def _said(arguments: JobArguments, names: dict[str, str]) -> dict[str, Any]:
    return {
        target: getattr(arguments, name)
        for name, target in names.items()
        if getattr(arguments, name) is not None
    }


def _settings(arguments: JobArguments) -> dict[str, Any]:
    said = _said(arguments, _SETTINGS)
    if arguments.bucket is not None:
        said["bucket_bytes"] = round(parse_bytes(arguments.bucket, "--bucket"))
    return said


def _cluster(arguments: JobArguments) -> dict[str, Any]:
    said = _said(arguments, {name: name for name in _PLAIN_CLUSTER})
    if arguments.bandwidth is not None:
        said["link_bandwidth_bps"] = parse_bandwidth(arguments.bandwidth, "--bandwidth")
    if arguments.intra_server_bandwidth is not None:
        said["intra_server_bandwidth_bps"] = parse_bandwidth(
            arguments.intra_server_bandwidth, "--intra-server-bandwidth"
        )
    if arguments.latency is not None:
        said["link_latency_s"] = parse_time(arguments.latency, "--latency")
    return said


def _batch(batch: int | None) -> int:
    if batch is not None and batch < 1:
        raise InvalidInput(f"--batch-per-accelerator: expected an integer >= 1, got {batch}")
    return batch or 0


def _changes(pairs: list[str]) -> dict[str, str]:
    changes: dict[str, str] = {}
    for pair in pairs:
        key, sign, value = pair.partition("=")
        if not sign or not key.strip() or not value.strip():
            raise InvalidInput(f'--set: expected KEY=VALUE such as tables=32, got "{pair}"')
        name = key.strip().replace("-", "_")
        if name in changes:
            raise InvalidInput(f"--set: {name} is given twice, {changes[name]} and {value.strip()}")
        changes[name] = value.strip()
    return changes
