"""The keys of a plan file that say how a transformer is trained: its shapes, and every layout that was tried.

Shapes, chunks, exchanges and synchronizations are written by the fields of their nouns.
"""

from typing import Annotated

from pydantic import Field

from topoopt.schema.files import Amount, Count, Number, Strict
from topoopt.workloads.pipelined_step import Chunk, Exchange, Synchronization
from topoopt.workloads.transformer import TransformerModel


class StepPart(Strict):
    """The fields of PipelinedStep."""

    servers: Number
    micro_batches: Number
    chunks: tuple[Chunk, ...]
    part_servers: list[list[list[Count]]] = Field(description="servers by stage, replica and part")
    exchanges: tuple[Exchange, ...] = ()
    synchronizations: tuple[Synchronization, ...] = ()
    gradient_buckets: Count = 0
    optimizer_s: Amount = 0.0
    schedule: str = "1f1b"


class LayoutPart(Strict):
    """The fields of Layout, and how long it takes on a network wired for it."""

    name: str
    configuration: dict[str, bool | int | str]
    order: str = Field(description="which ranks are neighbors, the fastest changing first")
    estimated_time_s: Amount = Field(description="closed form, before anything is wired")
    iteration_time_s: Amount | None = Field(description="wired and simulated; null where that was not done")
    memory_bytes: dict[str, Amount] = Field(description="of the fullest accelerator, by cause")
    step: StepPart


class PublishedPart(Strict):
    """The fields of PublishedLayout, its name, and by what share it is slower than the fastest in closed form."""

    name: str
    source: str
    model: str
    accelerator: str
    accelerators: Count
    precision: str
    configuration: dict[str, bool | int | float | str]
    estimated_s: Amount
    best_s: Amount
    over_best: float
    memory_bytes: Amount
    fits: bool
    rank: Count
    compared: Count
    faster_with: dict[str, float] = Field(
        default={}, description="what the fastest does otherwise, and the share of the time that each saves"
    )


class TrainingPart(Strict):
    """A transformer, the layout that was chosen, and what it reaches."""

    model: TransformerModel
    parameters: Count
    global_batch: Number
    sequence: Number
    model_flops: Amount = Field(description="of one iteration, without recomputation")
    calibration: str
    considered: Count = Field(description="configurations that were ranked")
    capacity_bytes: Amount = Field(description="memory of an accelerator")
    chosen: Count = Field(description="index into layouts")
    tokens_per_s: Amount
    mfu: Annotated[float, Field(ge=0)] = Field(description="model FLOPs utilization, 0..1")
    layouts: list[LayoutPart] = Field(min_length=1)
    published: list[PublishedPart] = Field(default=[], description="ways of training known from publications")
