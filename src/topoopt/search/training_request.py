"""Completed request for a transformer: the model, the hardware, and the fixed fields of the configuration."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from topoopt.base.errors import InvalidInput, check_known, unknown_name
from topoopt.catalog import DEFAULT_ACCELERATOR, ClusterSpec, find_accelerator, reference_interfaces
from topoopt.collectives import QUICKEST
from topoopt.jobs import AUTO_BUCKET, AUTO_MICROBATCHES, DEFAULT_CLUSTER, JobRequest
from topoopt.transformers import (
    ATTENTION_KERNELS,
    FRAMEWORKS,
    Limits,
    accelerators_of_a_server,
    fixed_fields,
    usual_batch,
    usual_framework,
    usual_precision,
)
from topoopt.workloads import MODELS
from topoopt.workloads.transformer import TRANSFORMERS, TransformerModel, find_transformer, read_config

CANDIDATES = 8
"""Default number of configurations that get a network of their own."""


@dataclass(frozen=True, slots=True)
class TrainingRequest:
    """A request for a transformer, completed.

    Attributes
    ----------
    fixed : mapping
        Fields of :class:`~topoopt.transformers.Configuration` that are not searched.
    calibration : str
        A name or file; empty for the accelerator's own.
    loads : str
        Loads of experts, as read by :func:`topoopt.transformers.find_loads`; empty for even ones.
    candidates : int
        Configurations that get a network; 0 for :data:`CANDIDATES`, or fewer where each is a large simulation.
    attention : str, optional
        ``fused`` or ``eager``; by default the calibration's.
    framework : str
        One of :data:`~topoopt.transformers.FRAMEWORKS`.
    no_overlap : str or sequence of str
        Communication without overlap, as read by :func:`~topoopt.transformers.without_overlap`.
    """

    model: TransformerModel
    cluster: ClusterSpec
    precision: str
    global_batch: int
    fixed: Mapping[str, int | float | str | bool]
    calibration: str
    candidates: int
    loads: str = ""
    attention: str | None = None
    framework: str = "megatron"
    limits: Limits = field(default_factory=Limits)
    no_overlap: str | Sequence[str] = ()


def is_transformer(request: JobRequest) -> bool:
    """Return whether a request is for a transformer; models in both zoos count as operator graphs.

    Raises
    ------
    InvalidInput
        If the model is in neither zoo; the nearest names of both are offered.
    """
    if request.config or isinstance(request.described, TransformerModel):
        return True
    if not request.model:
        return False
    operators = [*MODELS, *(variant.name for entry in MODELS.values() for variant in entry.variants)]
    if request.model in operators:
        return False
    try:
        find_transformer(request.model)
    except InvalidInput:
        message = str(unknown_name("model", request.model, [*operators, *TRANSFORMERS]))
        raise InvalidInput(f"{message.split(' Known: ', maxsplit=1)[0]} topoopt models lists all") from None
    return True


def training_request(request: JobRequest) -> TrainingRequest:
    """Return the completed request for a transformer.

    Accelerators of a server and the links among them are the catalogue's by default.

    Raises
    ------
    InvalidInput
        If a word is for graphs of operators, or numbers do not go together.
    """
    _refuse_operator_words(request)
    words = request.training
    for name, known in (("attention", ATTENTION_KERNELS), ("framework", FRAMEWORKS)):
        if name in words:
            check_known(name, str(words[name]), known)
    if isinstance(request.described, TransformerModel):
        model = request.described
    else:
        model = read_config(request.config) if request.config else find_transformer(request.model)
    sequence = int(words.get("seq", model.sequence))
    if model.positions and sequence > model.positions:
        raise InvalidInput(
            f"seq {sequence}: {model.name} has {model.positions} learned positions; at most {model.positions}"
        )
    cluster = transformer_cluster(request)
    precision = str(request.settings.get("precision", usual_precision(cluster.accelerator)))
    return TrainingRequest(
        replace(model, sequence=sequence),
        cluster,
        precision,
        int(words.get("global_batch", usual_batch(sequence, cluster.total_accelerators))),
        fixed_fields(words),
        str(words.get("calibration", "")),
        int(words.get("candidates", 0)),
        str(words.get("loads", "")),
        words.get("attention"),
        str(words.get("framework", usual_framework(cluster.accelerator))),
        Limits(**{word: bool(words.get(word)) for word in ("uneven_stages", "any_schedule")}),
        words.get("no_overlap", ()),
    )


def _refuse_operator_words(request: JobRequest) -> None:
    what = request.config or request.model or "what is described"
    words = {
        "variant": request.variant,
        "set": request.hyperparameters,
        "profile_file": request.profile,
        "batch_per_accelerator": request.batch_per_accelerator,
        **{
            _RENAMED.get(name, name): True
            for name, value in request.settings.items()
            if name != "precision" and value != _USUAL.get(name)
        },
    }
    for word, value in words.items():
        if value:
            remedy = "give global_batch" if word.startswith("batch") else "leave it out"
            raise InvalidInput(f"{word}: is for graphs of operators, and {what} is a transformer; {remedy}")


_RENAMED = {"embedding_bytes_factor": "embedding_factor", "bucket_bytes": "bucket"}
_USUAL = {"bucket_bytes": AUTO_BUCKET, "microbatches": AUTO_MICROBATCHES, "collective": QUICKEST}
"""Default preset of operators; a transformer has its own buckets and collectives."""


def transformer_cluster(request: JobRequest) -> ClusterSpec:
    """Return the cluster of a request, completed from the accelerator's reference system.

    Raises
    ------
    InvalidInput
        If accelerators are no whole servers, or a number is out of range.
    """
    fields = dict(request.cluster)
    part = find_accelerator(fields.setdefault("accelerator", DEFAULT_ACCELERATOR))
    accelerators = request.training.get("accelerators")
    if "accelerators_per_server" not in fields:
        fields["accelerators_per_server"] = accelerators_of_a_server(part, accelerators)
    per_server = fields["accelerators_per_server"]
    if "intra_server_bandwidth_bps" not in fields:
        if part.scale_up_bandwidth_bps is None:
            raise InvalidInput(
                f"intra_server_bandwidth: the catalogue gives none for {part.name}; write for example "
                "intra_server_bandwidth=400Gbps"
            )
        fields["intra_server_bandwidth_bps"] = part.scale_up_bandwidth_bps
    if accelerators is not None:
        servers, rest = divmod(accelerators, per_server)
        if servers == 1 and not rest:
            raise InvalidInput(
                f"accelerators {accelerators}: all are in one scale-up domain of {part.name}, with no network between "
                "servers to plan; use llm search, or give accelerators_per_server"
            )
        if rest or servers < 2:
            below = max(servers, 2) * per_server
            near = f"{below} or {below + per_server}" if below < accelerators else str(below)
            raise InvalidInput(
                f"accelerators {accelerators}: must be two or more servers of {per_server}, nearest: {near}; "
                "or give accelerators_per_server"
            )
        if fields.setdefault("servers", servers) != servers:
            raise InvalidInput(
                f"servers {fields['servers']}: {accelerators} accelerators are {servers} servers of {per_server}; "
                "give one of servers and accelerators"
            )
    if part.nic_bandwidth_bps is not None:
        usual = reference_interfaces(per_server, part.nic_bandwidth_bps)
        degree, bandwidth_bps = (fields["degree"], part.nic_bandwidth_bps) if "degree" in fields else usual
        fields = {"degree": degree, "link_bandwidth_bps": bandwidth_bps, **fields}
    return ClusterSpec(**{**DEFAULT_CLUSTER, **fields})
