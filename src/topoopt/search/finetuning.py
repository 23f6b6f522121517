"""Fine-tuning side by side: methods, their splits and times, and every fabric."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from topoopt.base.answers import fields_of, rows_to_frame, shows_itself
from topoopt.base.units import interval_s
from topoopt.catalog import BYTES_PER_ELEMENT
from topoopt.jobs import transformer_of
from topoopt.plans import ComparedFabric, Plan, compared_fabrics
from topoopt.pricing import Ownership
from topoopt.transformers import (
    Configuration,
    ConfigurationSearch,
    OwnedCluster,
    calibration_quality,
    trained_parameters,
)
from topoopt.workloads.transformer import TransformerModel

USUAL_BATCH = 128
"""Sequences of a step: pre-training's millions of tokens would leave a data set of a few million no steps."""
USUAL_SEQUENCE = 4096
KINDS = ("lora", "qlora", "full")
"""Adapters beside frozen weights in 16 bits (Hu 2021), or in 4 (Dettmers 2023); or all weights."""
NAMES = {"lora": "LoRA", "qlora": "QLoRA", "full": "full"}
GRADIENTS = "bf16"
"""Precision of sums and communication: with 16-bit weights and Adam, 16 bytes per trained parameter, as in PEFT
and ZeRO (Rajbhandari 2020, section 3.1)."""
HARDLY = 0.02
"""A network whose doubling saves less than this share of a step hardly matters."""
DEGREES = ("tp", "pp", "dp", "cp", "ep", "micro_batch", "recompute", "zero")


@dataclass(frozen=True, eq=False)
class TunedWay:
    """One method of fine-tuning.

    Attributes
    ----------
    kind : str
        One of :data:`KINDS`.
    trained : int
        Parameters that have gradients.
    failure : str
        Reason why it is not possible; the following fields are then unknown.
    split : mapping
        Degrees, micro-batch, recomputation, ZeRO.
    name : str
        Short form of the split.
    step_s, compute_s, exposed_s : float
        Times of a step on the first network: the whole step, with free communication between servers, and exposed
        communication.
    tokens_per_s : float
    memory_bytes : mapping
        Memory of the fullest accelerator, by cause; ``capacity_bytes`` is its capacity.
    network_bytes : float
        Bytes sent by all servers in a step; 0 for one server.
    ownership : Ownership or None
        Cost of ownership on the first network.
    fabrics : tuple of ComparedFabric
        The first is the one that was planned; none of one server.
    plan : Plan or None
        Plan, for ``topoopt report`` and other verbs; None for one server.
    """

    kind: str
    trained: int
    failure: str = ""
    split: Mapping[str, int | float | str] = field(default_factory=dict)
    name: str = ""
    step_s: float = 0.0
    compute_s: float = 0.0
    exposed_s: float = 0.0
    tokens_per_s: float = 0.0
    memory_bytes: Mapping[str, float] = field(default_factory=dict)
    capacity_bytes: float = 0.0
    network_bytes: float = 0.0
    ownership: Ownership | None = None
    fabrics: tuple[ComparedFabric, ...] = ()
    plan: Plan | None = None
    interval_share: float | None = None

    @property
    def gradient_bytes(self) -> float:
        """Size of all gradients, which replicas reduce in every step."""
        return BYTES_PER_ELEMENT[GRADIENTS] * self.trained

    @property
    def network_hardly_matters(self) -> bool:
        """Whether a network of twice the bandwidth would save next to nothing, if all that waits were halved."""
        return not self.failure and self.exposed_s / 2 < HARDLY * self.step_s

    @property
    def hours(self) -> float | None:
        """Training hours for the data set."""
        return None if self.ownership is None else self.ownership.run_hours

    @property
    def usd(self) -> float | None:
        """Cost of the data set: servers, network and electricity."""
        return None if self.ownership is None else self.ownership.usd_per_run

    @property
    def memory_total_bytes(self) -> float:
        """All causes together."""
        return sum(self.memory_bytes.values())

    @property
    def fabric_rows(self) -> list[dict[str, Any]]:
        """Each network with its step time, and the time and cost of the data set, as plain values."""
        return [
            {
                **row.network_json(),
                "step_s": row.outcome.iteration_time_s,
                "exposed_s": row.outcome.exposed_communication_s,
                "bandwidth_tax": row.outcome.bandwidth_tax,
                "hours": row.ownership and row.ownership.run_hours,
                "usd": row.ownership and row.ownership.usd_per_run,
            }
            for row in self.fabrics
        ]

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-compatible mapping."""
        head = {"kind": self.kind, "trained_parameters": self.trained, "gradient_bytes": self.gradient_bytes}
        if self.failure:
            return {**head, "failure": self.failure}
        names = ("step_s", "compute_s", "exposed_s", "tokens_per_s", "capacity_bytes", "network_bytes")
        return {
            **head,
            "failure": "",
            "split": dict(self.split),
            **{name: getattr(self, name) for name in names},
            **interval_s("step", self.step_s, self.interval_share),
            "memory_bytes": {**self.memory_bytes, "total": self.memory_total_bytes},
            **fields_of(self, "hours", "usd", "network_hardly_matters"),
            "fabrics": self.fabric_rows,
        }


def failed_way(kind: str, model: TransformerModel, words: Mapping[str, Any], failure: str) -> TunedWay:
    """Return a method that is not possible, with the reason."""
    return TunedWay(kind, _trained(model, words), failure)


def way_of_plan(kind: str, words: Mapping[str, Any], plan: Plan) -> TunedWay:
    """Return the method of a plan: its figures are those of ``topoopt plan`` with the same options."""
    training, outcome = transformer_of(plan.job), plan.outcome
    layout, rows = training.layout(plan.strategy), compared_fabrics(plan)
    traffic = plan.traffic()
    rings = sum(group.wire_bytes for group in traffic.allreduce)
    wire_bytes = float(rings + traffic.mp_bytes)
    return TunedWay(
        kind,
        _trained(training.model, words),
        split={name: layout.configuration[name] for name in DEGREES},
        name=layout.name,
        step_s=outcome.iteration_time_s,
        compute_s=outcome.compute_time_s,
        exposed_s=outcome.exposed_communication_s,
        tokens_per_s=training.tokens_per_s(outcome.iteration_time_s),
        memory_bytes=layout.memory_bytes,
        capacity_bytes=training.capacity_bytes,
        network_bytes=wire_bytes,
        ownership=rows[0].ownership,
        fabrics=rows,
        plan=plan,
        interval_share=training.interval_share,
    )


def way_of_search(kind: str, words: Mapping[str, Any], found: ConfigurationSearch) -> TunedWay:
    """Return the method on one server, with the fastest configuration in closed form: no network is needed."""
    row, one = found.row(0), found.table.row(0)
    memory_bytes = {name: size for name, size in row["memory_bytes"].items() if name != "total"}
    time_s = float(found.times.iteration_time_s[0])
    return TunedWay(
        kind,
        _trained(found.request.model, words),
        split={name: getattr(one, name) for name in DEGREES},
        name=" ".join(f"{name}{getattr(one, name)}" for name in ("tp", "pp", "dp")) + f" mb{one.micro_batch}",
        step_s=time_s,
        compute_s=time_s,
        tokens_per_s=row["tokens_per_s"],
        memory_bytes=memory_bytes,
        capacity_bytes=found.memory.capacity_bytes,
        ownership=found.ownership(0),
        interval_share=calibration_quality(found.calibration).interval_share,
    )


def _trained(model: TransformerModel, words: Mapping[str, Any]) -> int:
    rare = {name: words[name] for name in ("adapter_rank", "adapters") if name in words}
    one = Configuration(tp=1, pp=1, dp=1, global_batch=1, sequence=1, **rare)
    return trained_parameters(model, one, 0).total


def kind_words(kind: str, rank: int, adapters: str) -> dict[str, Any]:
    """Return the options by which a kind is planned like any other training.

    Examples
    --------
    >>> kind_words("qlora", 16, "every-matrix")
    {'gradients': 'bf16', 'adapter_rank': 16, 'adapters': 'every-matrix', 'weights': 'nf4'}
    """
    words: dict[str, Any] = {"gradients": GRADIENTS}
    if kind == "full":
        return words
    words |= {"adapter_rank": rank, "adapters": adapters}
    return {**words, "weights": "nf4"} if kind == "qlora" else words


def usual_scale(model: TransformerModel, accelerators: int) -> tuple[int, int]:
    """Return sequences of a step, the same for each accelerator, and tokens of a sequence.

    Examples
    --------
    >>> from topoopt.workloads.transformer import find_transformer
    >>> usual_scale(find_transformer("llama3-70b"), 24)
    (144, 4096)
    """
    batch = accelerators * -(-USUAL_BATCH // accelerators)
    return batch, min(model.sequence, USUAL_SEQUENCE)


@shows_itself
@dataclass(frozen=True, eq=False)
class FineTuning:
    """Methods of fine-tuning a model, the requested one first.

    Attributes
    ----------
    model, accelerator : str
    accelerators, servers : int
    sequences, sequence : int
        Sequences of a step, and tokens of each.
    tokens : float
        Tokens of the data set, all epochs.
    adapters : str
        Matrices that have an adapter.
    cluster : OwnedCluster or None
        Cost of one server; with several, the plans have it.
    assumed : str
        The network that was taken because none was given.
    """

    model: str
    accelerator: str
    accelerators: int
    servers: int
    sequences: int
    sequence: int
    tokens: float
    rank: int
    adapters: str
    ways: tuple[TunedWay, ...]
    cluster: OwnedCluster | None = None
    assumed: str = ""

    @property
    def asked(self) -> TunedWay:
        """The requested method."""
        return self.ways[0]

    @property
    def steps(self) -> float:
        """Steps for the whole data set."""
        return self.tokens / (self.sequences * self.sequence)

    @property
    def full_over_adapters(self) -> float | None:
        """Gradient bytes of full fine-tuning over those of adapters; None where one of the two is missing."""
        trained = {way.kind: way.trained for way in self.ways}
        adapters = trained.get("lora") or trained.get("qlora")
        return trained["full"] / adapters if adapters and "full" in trained else None

    def rows(self) -> list[dict[str, Any]]:
        """Return one row per method and network; for one server, one row per method."""
        rows = []
        for way in self.ways:
            head = {"kind": way.kind, "trained_parameters": way.trained, "failure": way.failure}
            shared = {**head, "split": way.name, "memory_bytes": way.memory_total_bytes}
            if way.fabrics:
                rows += [{**shared, **row} for row in way.fabric_rows]
            else:
                alone = {"fabric": "", "step_s": way.step_s, "exposed_s": 0.0, "bandwidth_tax": None}
                rows.append({**shared, **alone, "cost_usd": 0.0, "hours": way.hours, "usd": way.usd})
        return rows

    to_frame = rows_to_frame

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-compatible mapping."""
        names = ("model", "accelerator", "accelerators", "servers", "sequences", "sequence", "tokens", "rank")
        return {
            **{name: getattr(self, name) for name in names},
            **fields_of(self, "adapters", "steps"),
            "full_over_adapter_gradients": self.full_over_adapters,
            "assumed": self.assumed,
            "ways": [way.to_json() for way in self.ways],
        }
