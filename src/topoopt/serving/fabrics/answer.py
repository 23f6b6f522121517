"""The noun ServingComparison: a served model on every fabric, what wins by money, whether the network matters."""

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from topoopt.arrays import Floats
from topoopt.cost import Pricing
from topoopt.door import shows_itself
from topoopt.frame import Frame, frame
from topoopt.serving.deployment import Deployment, EngineSettings, Parallelism, Pool
from topoopt.serving.fabrics.compared import ServedFabric
from topoopt.serving.fabrics.on_fabric import FabricQuestion
from topoopt.serving.network.built import OWN
from topoopt.serving.network.placement import on_servers
from topoopt.transformer import TransformerModel
from topoopt.units import finite_or_none


@shows_itself
@dataclass(frozen=True, eq=False)
class ServingComparison:
    """A served model on several fabrics.

    Attributes
    ----------
    model : TransformerModel
    question : FabricQuestion
    settings : EngineSettings
    fabrics : tuple of ServedFabric
    skipped : tuple of (fabric, reason)
    deployments : int
        That were looked at; 1 where it was given.
    pricing : Pricing
        How networks are priced.
    """

    model: TransformerModel
    question: FabricQuestion
    settings: EngineSettings
    fabrics: tuple[ServedFabric, ...]
    skipped: tuple[tuple[str, str], ...]
    deployments: int
    pricing: Pricing

    @property
    def in_time(self) -> tuple[ServedFabric, ...]:
        """Fabrics on which the objectives are met, the cheapest a token first; of unknown price last."""
        rows = [row for row in self.fabrics if row.on.in_time]
        return tuple(
            sorted(rows, key=lambda row: (row.usd_per_million_tokens or math.inf, -row.on.largest_rate_per_s))
        )

    @property
    def winner(self) -> ServedFabric | None:
        """The fabric that answers in time for the least money; None where none does."""
        return next(iter(self.in_time), None)

    @property
    def matters(self) -> bool:
        """Whether the first token or a token is 5 % longer on any fabric than on a network that takes no time."""
        return any(row.worth.matters for row in self.fabrics)

    def row(self, fabric: str = OWN) -> ServedFabric | None:
        """Return the row of a fabric."""
        return next((row for row in self.fabrics if row.name == fabric), None)

    def to_json(self) -> dict[str, Any]:
        """Return the answer as a mapping."""
        asked, cluster = self.question, self.question.cluster
        winner = self.winner
        return {
            "model": self.model.name,
            "servers": cluster.servers,
            "accelerators_per_server": cluster.accelerators_per_server,
            "accelerator": cluster.accelerator,
            "degree": cluster.degree,
            "link_bandwidth_bps": cluster.link_bandwidth_bps,
            "link_latency_s": cluster.link_latency_s,
            "input_tokens": asked.load.prompt_tokens,
            "output_tokens": asked.load.answer_tokens,
            "requests_per_s": asked.load.requests_per_s or None,
            "slo_ttft_s": finite_or_none(asked.ttft_s),
            "slo_tpot_s": finite_or_none(asked.tpot_s),
            "prices": self.pricing.name,
            "deployments": self.deployments,
            "winner": winner.name if winner else None,
            "network_matters": self.matters,
            "fabrics": [fabric_row(row) for row in self.fabrics],
            "skipped_fabrics": [{"fabric": name, "reason": why} for name, why in self.skipped],
        }

    def to_frame(self) -> Frame:
        """Return a row for each fabric, as pandas has it."""
        return frame(
            {**fabric_row(row), "deployment": deployment_words(row.deployment)} for row in self.fabrics
        )


def fabric_row(row: ServedFabric) -> dict[str, Any]:
    """Return the figures of a fabric."""
    on, one, worth = row.on, row.on.expected, row.worth
    return {
        "fabric": row.name,
        "wiring": wiring_words(row),
        "routes": on.way,
        "pairing": on.pairing.name if row.deployment.prefill else None,
        "decode_choices": on.pairing.choices,
        "deployment": deployment_json(row.deployment),
        "requests_per_s": on.load.requests_per_s,
        "largest_rate_per_s": on.largest_rate_per_s,
        "in_time": on.in_time,
        "binds": on.binds,
        "ttft_s": finite_or_none(one.ttft_s),
        "tpot_s": finite_or_none(one.tpot_s),
        "ttft_p90_s": finite_or_none(one.ttft_late_s),
        "prompt_wait_s": finite_or_none(one.prompt_wait_s),
        "prompt_s": one.prompt_s,
        "kv_s": one.kv_s,
        "place_wait_s": finite_or_none(one.place_wait_s),
        "kv_share_of_ttft": finite_or_none(one.kv_share),
        "network_share_of_tpot": one.token_network_s / one.tpot_s if math.isfinite(one.tpot_s) else None,
        "hops_share_of_tpot": finite_or_none(one.hop_share),
        "batch": one.batch,
        "prefill_busy": one.prefill_busy,
        "decode_busy": one.decode_busy,
        "busiest_link": one.network_busy,
        "bandwidth_tax": on.reach.tax,
        "kv_hops": on.reach.kv_hops,
        "sent_bytes_per_request": on.reach.sent_bytes,
        "ttft_over_free_network": finite_or_none(worth.ttft_share),
        "tpot_over_free_network": finite_or_none(worth.tpot_share),
        "kv_bandwidth_bps": worth.kv_bps,
        "token_bandwidth_bps": worth.token_bps,
        "network_usd": row.network_usd,
        "usd_per_hour": row.usd_per_hour,
        "usd_per_million_output_tokens": row.usd_per_million_tokens,
        "deployments_tried": row.tried,
        "simulated": asdict(row.confirmed) if row.confirmed else None,
    }


def kv_matrix(row: ServedFabric) -> Floats:
    """Return the bytes a second of keys and values between servers at the rate of its figures."""
    kv = row.on.per_request.kinds["kv"] * row.on.load.requests_per_s
    return np.asarray(kv)


def pool_servers(row: ServedFabric) -> tuple[list[int], list[int]]:
    """Return the servers of the prefill pool and those of the decode pool."""
    placement = row.served.placement
    found = []
    for ranks in (placement.prefill, placement.decode):
        there = (
            on_servers(ranks, placement.servers).sum(axis=0) if len(ranks) else np.zeros(placement.servers)
        )
        found.append(np.flatnonzero(there).tolist())
    return found[0], found[1]


def wiring_words(row: ServedFabric) -> str:
    """Return how servers are joined, in short: empty of fabrics that have no choice."""
    wiring = row.on.fabric.wiring
    if wiring is None:
        return ""
    across = wiring.recipe.get("across")
    ports = f", {across} of {wiring.degree} ports across" if across else ""
    return f"{wiring.family}{ports}"


def split_words(one: Parallelism) -> str:
    """Return a split in short.

    Examples
    --------
    >>> split_words(Parallelism(tensor=8)), split_words(Parallelism(1, 1, 16, 16)), split_words(Parallelism())
    ('tp8', 'ep16 dp16', '1 accelerator')
    """
    degrees = {"tp": one.tensor, "pp": one.pipeline, "ep": one.expert, "dp": one.attention_data}
    return " ".join(f"{name}{degree}" for name, degree in degrees.items() if degree > 1) or "1 accelerator"


def deployment_words(one: Deployment) -> str:
    """Return a deployment in short, such as ``4 x tp8 : 4 x tp8``, prefill before decode."""
    decode = f"{one.decode.replicas} x {split_words(one.decode.parallelism)}"
    if one.prefill is None:
        return f"{decode}, {one.mode}"
    return f"{one.prefill.replicas} x {split_words(one.prefill.parallelism)} : {decode}"


def deployment_json(one: Deployment) -> dict[str, Any]:
    """Return a deployment as a mapping."""
    return {
        "mode": one.mode,
        "prefill": _pool_json(one.prefill) if one.prefill else None,
        "decode": _pool_json(one.decode),
        "accelerators": one.accelerators,
    }


def _pool_json(pool: Pool) -> dict[str, int]:
    split = pool.parallelism
    return {
        "replicas": pool.replicas,
        "tp": split.tensor,
        "pp": split.pipeline,
        "ep": split.expert,
        "attention_dp": split.attention_data,
        "max_batch": pool.max_batch,
    }
