"""The noun FineTuning: the way that was asked for, the others beside it, and what a data set takes by each."""

from dataclasses import dataclass
from typing import Any

from topoopt.base.door import shows_itself
from topoopt.base.frame import Frame, frame
from topoopt.search.finetuning.way import TunedWay
from topoopt.transformers import OwnedCluster


@shows_itself
@dataclass(frozen=True, eq=False)
class FineTuning:
    """Ways of fine-tuning a model, the one that was asked for first.

    Attributes
    ----------
    model, accelerator : str
    accelerators, servers : int
    sequences, sequence : int
        Of a step, and tokens of each.
    tokens : float
        Of the data set, all epochs.
    rank : int
        Of adapters.
    adapters : str
        Which matrices have one.
    cluster : OwnedCluster or None
        What one server costs; of several the plans know it.
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

    @property
    def asked(self) -> TunedWay:
        """The way that was asked for."""
        return self.ways[0]

    @property
    def steps(self) -> float:
        """Of the whole data set."""
        return self.tokens / (self.sequences * self.sequence)

    @property
    def full_over_adapters(self) -> float | None:
        """How often full fine-tuning sends the gradients of adapters; None where one of the two is not there."""
        trained = {way.kind: way.trained for way in self.ways}
        adapters = trained.get("lora") or trained.get("qlora")
        return trained["full"] / adapters if adapters and "full" in trained else None

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each way on each network; of one server for each way."""
        rows = []
        for way in self.ways:
            head = {"kind": way.kind, "trained_parameters": way.trained, "failure": way.failure}
            shared = {**head, "split": way.name, "memory_bytes": way.memory_total_bytes}
            names = ("fabric", "step_s", "exposed_s", "bandwidth_tax", "network_usd", "hours", "usd")
            if way.fabrics:
                rows += [{**shared, **{name: getattr(one, name) for name in names}} for one in way.fabrics]
            else:
                alone = {"fabric": "", "step_s": way.step_s, "exposed_s": 0.0, "bandwidth_tax": None}
                rows.append({**shared, **alone, "network_usd": 0.0, "hours": way.hours, "usd": way.usd})
        return rows

    def to_frame(self) -> Frame:
        """Return the rows as a pandas table.

        Raises
        ------
        InvalidInput
            If pandas is not installed.
        """
        return frame(self.rows())

    def to_json(self) -> dict[str, Any]:
        """Return the answer as plain values."""
        names = ("model", "accelerator", "accelerators", "servers", "sequences", "sequence", "tokens", "rank")
        return {
            **{name: getattr(self, name) for name in names},
            "adapters": self.adapters,
            "steps": self.steps,
            "full_over_adapter_gradients": self.full_over_adapters,
            "ways": [way.to_json() for way in self.ways],
        }
