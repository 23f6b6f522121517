"""A deployment made ready to be asked on fabrics: placed, its step times without a network, what it holds and sends."""

from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from topoopt.base.errors import Infeasible
from topoopt.catalog import ClusterSpec, find_accelerator
from topoopt.inference.deployment import Deployment, EngineSettings, Parallelism, Pool
from topoopt.inference.kv_cache import cache_capacity, cache_copies, request_cache_bytes
from topoopt.inference.network.demand import USUAL, SentBy
from topoopt.inference.network.kv_transfer import TransferLaw, transfer_law
from topoopt.inference.network.latency import PoolLaws
from topoopt.inference.network.load import RequestLoad
from topoopt.inference.network.placement import place
from topoopt.inference.network.reach import Served
from topoopt.inference.step.levels import ServedStack
from topoopt.inference.step.shipped import shipped_constants
from topoopt.inference.step.table import step_table
from topoopt.inference.step_table import StepTable
from topoopt.workloads.transformer import TransformerModel


@dataclass(frozen=True, eq=False, slots=True)
class ServingStack:
    """Whose software serves.

    Attributes
    ----------
    engine : str
        Whose constants are taken; the mean of all where there is none.
    sent : SentBy
    transfer : TransferLaw
        Of keys and values from pool to pool.
    by_layer : bool
        Whether keys and values move while later layers are still computed, and not after the prompt.
    """

    engine: str = ""
    sent: SentBy = USUAL
    transfer: TransferLaw = field(default_factory=transfer_law)
    by_layer: bool = False


@lru_cache(maxsize=4096)
def table_without_network(
    model: TransformerModel,
    accelerator: str,
    parallelism: Parallelism,
    settings: EngineSettings,
    engine: str,
    accelerators_per_server: int,
) -> StepTable:
    """Return the step times of a replica on a network that takes no time for bytes.

    What a dispatch or a combine over servers takes before its first byte is part of them.
    """
    stack = ServedStack(model, find_accelerator(accelerator), settings, engine, split=parallelism)
    law = shipped_constants(stack)
    return step_table(model, accelerator, parallelism, settings, engine, law, accelerators_per_server)


def kv_wire_bytes(model: TransformerModel, deployment: Deployment, load: RequestLoad) -> float:
    """Return the bytes of keys and values of a prompt on their way to decode, once for each rank with a copy."""
    copies = cache_copies(model, deployment.decode.parallelism.tensor)
    tokens, precision = round(load.prompt_tokens), deployment.settings.kv_precision
    return copies * request_cache_bytes(model, tokens, precision, 1)


def places_of(
    model: TransformerModel, accelerator: str, pool: Pool, settings: EngineSettings, load: RequestLoad
) -> int:
    """Return how many requests a replica answers at once, at most: its batch, or what its memory holds of them.

    Raises
    ------
    Infeasible
        If not even one fits.
    InvalidInput
        If the weights do not.
    """
    length = load.prompt_tokens + load.answer_tokens / 2
    part = find_accelerator(accelerator)
    held = cache_capacity(model, part, pool.parallelism, settings, round(length)).requests(length)
    if held < pool.parallelism.attention_data:
        raise Infeasible(
            f"{model.name}: memory of a replica holds {held} requests of {length:g} tokens, fewer than its "
            f"{pool.parallelism.attention_data} copies of attention; take more accelerators a replica"
        )
    return min(held, pool.max_batch)


def prepared(
    model: TransformerModel,
    deployment: Deployment,
    cluster: ClusterSpec,
    load: RequestLoad,
    stack: ServingStack,
) -> tuple[Served, PoolLaws]:
    """Return a deployment as it is asked on every fabric.

    Raises
    ------
    Infeasible
        If it does not fit on the servers, or requests not into memory.
    InvalidInput
        If the model cannot be split so.
    """
    settings, accelerator, per_server = (
        deployment.settings,
        cluster.accelerator,
        cluster.accelerators_per_server,
    )
    placement = place(deployment, per_server, cluster.servers)
    readers = deployment.prefill or deployment.decode
    prefill, decode = (
        table_without_network(model, accelerator, pool.parallelism, settings, stack.engine, per_server)
        for pool in (readers, deployment.decode)
    )
    split = deployment.decode.parallelism
    law = shipped_constants(
        ServedStack(model, find_accelerator(accelerator), settings, stack.engine, split=split)
    )
    kv_bytes = kv_wire_bytes(model, deployment, load) if deployment.prefill else 0.0
    places = places_of(model, accelerator, deployment.decode, settings, load)
    return (
        Served(model, deployment, placement, kv_bytes, float(np.max(law.network)), stack.sent),
        PoolLaws(prefill, decode, places, stack.transfer, stack.by_layer),
    )
