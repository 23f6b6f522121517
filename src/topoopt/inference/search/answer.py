"""ServingAnswer: deployments and fabrics with goodput, latencies and price, and the gain from more of one resource."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, TypeVar

import numpy as np

from topoopt.base.answers import Frame, Provenance, fields_of, frame, shows_itself
from topoopt.base.arrays import Floats
from topoopt.base.units import finite_or_none
from topoopt.catalog import find_accelerator
from topoopt.inference.fabric_comparison import ServedFabric, usd_per_million
from topoopt.inference.memory import accelerator_weight_bytes, cache_bytes
from topoopt.inference.network.placement import on_servers
from topoopt.inference.network.reach import StepReach
from topoopt.inference.search.candidates import Candidate, ParetoPoint
from topoopt.inference.search.closed_form import Machine, Split
from topoopt.inference.search.deployment_file import deployment_json, words_of
from topoopt.inference.search.fabric_choice import OnOneFabric
from topoopt.inference.search.goodput import Evaluated
from topoopt.inference.search.question import USUAL_ROUTER, NetworkQuestion, Question
from topoopt.inference.simulator import Fleet, ServingRun
from topoopt.inference.simulator.run import spread_of
from topoopt.inference.step.constants import Constants, ServedStack, error_band, shipped_constants
from topoopt.inference.step.law import table_of
from topoopt.inference.step.replica import Replica, replica

Part = TypeVar("Part", Constants, Replica)


@dataclass(frozen=True, slots=True)
class Relief:
    """Effect of doubling one resource.

    Attributes
    ----------
    what : str
        The resource, as named in :class:`Binding`.
    words : str
        Description of the remedy.
    doubled, halved : sequence of str
        Constants of the law of a step, and columns of a replica.
    room : int
        Factor of the pages for caches.
    sent : int
        Factor of the bytes/s of transferred caches.
    """

    what: str
    words: str
    doubled: Sequence[str] = ()
    halved: Sequence[str] = ()
    room: int = 1
    sent: int = 1

    def of(self, part: Part) -> Part:
        """Return constants or a replica with the named values doubled, and halved."""
        factors = {**dict.fromkeys(self.doubled, 2.0), **dict.fromkeys(self.halved, 0.5)}
        own = {name: factors[name] * getattr(part, name) for name in factors if hasattr(part, name)}
        return replace(part, **own)


SUMMED = ("cost_usd", "power_w", "usd_per_hour")
"""Figures of a network that are added up over cells."""
MEMORY = ("dense_memory", "expert_memory", "cache_memory")
WIRES = tuple(one.name for one in fields(Replica) if one.name.endswith("s_per_byte"))
RELIEFS = (
    Relief("compute", "twice the arithmetic", ("dense_compute", "expert_compute", "pair_compute")),
    Relief("memory bandwidth", "twice the bandwidth", MEMORY, ("activation_passes",)),
    Relief("KV capacity", "twice the room for caches", room=2),
    Relief("network", "twice the bandwidth of all links", ("network_bytes_per_s",), WIRES, sent=2),
    Relief(
        "overhead",
        "half of what engine and messages take by themselves",
        (),
        (
            *("layer_s", "step_s", "request_s", "prompt_layer_s", "prompt_step_s"),
            *("reduce_latency_s", "direct_step_s", "handoff_s", "exchange_s"),
        ),
    ),
)


def user_tokens_per_s(run: ServingRun) -> float:
    """Return the tokens a second that a user sees on average, after the first; NaN where there is none."""
    tpot_s = spread_of(run.tpot_s).mean
    return 1 / tpot_s if tpot_s > 0 else float("nan")


@shows_itself
@dataclass(frozen=True, eq=False)
class ServingAnswer:
    """Answer of ``topoopt serving``.

    Attributes
    ----------
    deployments : tuple of Evaluated
        The one of the highest goodput first; of several servers on a network that takes no time.
    front : tuple of ParetoPoint
        Pareto front in closed form, starting with the fastest per user.
    splits, screened : int
        Ways of splitting a replica that fit, and deployments of them that meet the objectives in closed form.
    fabrics : tuple of OnOneFabric
        For several servers, every network with the best deployment on it.
    skipped : tuple of (fabric, reason)
    """

    question: Question
    deployments: tuple[Evaluated, ...]
    front: tuple[ParetoPoint, ...]
    splits: int
    screened: int
    fabrics: tuple[OnOneFabric, ...] = ()
    skipped: tuple[tuple[str, str], ...] = ()

    @property
    def best(self) -> Evaluated:
        """The deployment of the highest goodput; of several servers that on the winning fabric."""
        winner = self.winner
        return self.deployments[0] if winner is None else winner.evaluated

    @property
    def winner(self) -> OnOneFabric | None:
        """The fabric that meets the objectives at the requested rate at the least cost per token.

        Without a requested rate, at the goodput; if none meets them, the one with the highest goodput. None of a
        single server.
        """
        if not self.fabrics:
            return None
        meeting = [row for row in self.fabrics if self._meets(row.evaluated)]
        if not meeting:
            return max(self.fabrics, key=lambda row: row.evaluated.goodput_per_s)
        return min(meeting, key=lambda row: (self._usd(row) or math.inf, -row.evaluated.goodput_per_s))

    @property
    def meets(self) -> bool:
        """Whether enough requests meet the objectives at the requested rate."""
        return self._meets(self.best)

    @property
    def matters(self) -> bool:
        """Whether a first token or a token is 5 % longer on any fabric than on a network that takes no time."""
        return any(row.served.worth.matters for row in self.fabrics)

    def row_of(self, fabric: str) -> OnOneFabric | None:
        """Return the row of a fabric, if it is there."""
        return next((row for row in self.fabrics if row.fabric == fabric), None)

    def _meets(self, one: Evaluated) -> bool:
        return one.run.attainment(self.question.objectives) >= self.question.objectives.share

    def _usd(self, row: OnOneFabric) -> float | None:
        return usd_per_million(row.served.usd_per_hour, row.evaluated.run.output_tokens_per_s)

    @property
    def accelerator(self) -> str:
        """The accelerator, as the catalogue calls it."""
        return find_accelerator(self.question.machine.system.accelerator).name

    @property
    def usd_per_hour(self) -> float | None:
        """Cost of servers and, with several, of the winning networks; None where a part has no price."""
        winner, owned = self.winner, self.question.owned
        usd = winner.served.usd_per_hour if winner else owned.usd_per_hour if owned else None
        return None if usd is None else usd * self.question.cells

    @property
    def goodput_per_s(self) -> float:
        """Goodput of the best deployment, all cells together."""
        return self.best.goodput_per_s * self.question.cells

    def usd_per_million(self, tokens_per_s: float) -> float | None:
        """Return the cost per million output tokens at a token rate, including all hardware."""
        return usd_per_million(self.usd_per_hour, tokens_per_s)

    def row(self, one: Evaluated, usd_per_hour: float | None = None) -> dict[str, Any]:
        """Return a deployment as plain values, a name for each.

        Parameters
        ----------
        usd_per_hour
            Hourly cost of its servers; by default known for a single server, and otherwise that of its fabric.
        """
        if not self.fabrics:
            usd_per_hour = self.usd_per_hour
        question, run, cells = self.question, one.run, self.question.cells
        deployment, answer = one.candidate.deployment, question.demand.answer
        goodput, gains = one.goodput_per_s * cells, one.binding.gains
        accelerators, tokens_per_s = deployment.accelerators * cells, run.output_tokens_per_s * cells
        return {
            "deployment": deployment_json(deployment, cells),
            "accelerators": accelerators,
            "replica_cache_tokens": one.candidate.decode.cache_tokens,
            "goodput_per_s": goodput,
            "goodput_per_accelerator_per_s": goodput / accelerators,
            "stable_per_s": one.stable_per_s * cells,
            "attainment": run.attainment(question.objectives),
            **_named("ttft", run.ttft_s),
            **_named("tpot", run.tpot_s),
            **_named("queue", run.queue_s),
            **self._stack_figures(one),
            "prefill_mean_s": float(run.prefill_s.mean()),
            "transfer_mean_s": float(run.transfer_s.mean()),
            "output_tokens_per_s": tokens_per_s,
            "accelerator_tokens_per_s": tokens_per_s / accelerators,
            "user_tokens_per_s": finite_or_none(user_tokens_per_s(run)),
            "accelerator_tokens_per_s_at_goodput": goodput * answer / accelerators,
            "user_tokens_per_s_at_goodput": finite_or_none(user_tokens_per_s(one.at_goodput)),
            "usd_per_million_tokens": usd_per_million(usd_per_hour, tokens_per_s),
            "usd_per_million_tokens_at_goodput": usd_per_million(usd_per_hour, goodput * answer),
            "preempted": int(run.preempted.sum()),
            "prefix_hit_share": run.hit_share,
            "peak_cache_share": float(run.peak_share.max()),
            "binds": one.binding.what,
            "binds_because": one.binding.words,
            **{f"gain_{relief.what.replace(' ', '_').lower()}": gains.get(relief.what) for relief in RELIEFS},
        }

    def _stack_figures(self, one: Evaluated) -> dict[str, Any]:
        """Return the 80 % intervals of measured runs, and the memory of a decode accelerator by use."""
        machine, split = self.question.machine, one.candidate.decode.parallelism
        model, part, settings = machine.model, find_accelerator(machine.system.accelerator), machine.settings
        weights, caches = (
            accelerator_weight_bytes(model, split, settings),
            cache_bytes(model, part, split, settings),
        )
        found: dict[str, Any] = {
            "memory_weights_bytes": weights,
            "memory_reserve_bytes": part.usable_memory_bytes - weights - caches,
            "memory_kv_bytes": caches,
        }
        for name, unit, quantity, value in (
            ("ttft_p50", "s", "ttft", spread_of(one.run.ttft_s).p50),
            ("tpot_p50", "s", "tpot", spread_of(one.run.tpot_s).p50),
            ("stable", "per_s", "throughput", one.stable_per_s * self.question.cells),
        ):
            left_out, *ends = error_band(ServedStack(model, part, settings, split=split), quantity)
            found["interval_left_out"] = left_out
            for end, factor in zip(("low", "high"), ends, strict=True):
                found[f"{name}_{end}_{unit}"] = finite_or_none(value * factor)
        return found

    def fabric_row(self, row: OnOneFabric) -> dict[str, Any]:
        """Return a fabric as plain values: the deployment on it, simulated, and the network's share."""
        usd, cells = row.served.usd_per_hour, self.question.cells
        found = {
            **row.served.network_json(),
            **self.row(row.evaluated, None if usd is None else usd * cells),
            **fabric_row(row.served, row.rate_per_s),
        }
        if cells > 1:  # what is bought for each of them
            found |= {name: found[name] * cells for name in SUMMED if found[name] is not None}
            parts = found["cost_parts_usd"].items()
            found["cost_parts_usd"] = {part: tuple(cells * usd for usd in each) for part, each in parts}
        return found

    def to_frame(self) -> Frame:
        """Return a row for each fabric, or of a single server for each deployment, as a pandas table."""
        rows = map(self.fabric_row, self.fabrics) if self.fabrics else map(self.row, self.deployments)
        return frame({**row, "deployment": words_of(row["deployment"])} for row in rows)

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-compatible mapping; ``deployment`` is accepted by ``deployment=FILE``."""
        question = self.question
        objectives, demand, network = question.objectives, question.demand, question.network
        winner = self.winner
        return {
            "model": question.machine.model.name,
            "accelerator": self.accelerator,
            "accelerators": question.accelerators,
            **({"cells": question.cells} if question.cells > 1 else {}),
            "engine": question.machine.settings.engine,
            "requests": len(demand.requests),
            "requests_words": demand.words,
            **({"trace": demand.trace.to_json()} if demand.trace else {}),
            "rate_per_s": demand.rate_per_s and demand.rate_per_s * question.cells,
            "input_tokens_mean": demand.prompt,
            "output_tokens_mean": demand.answer,
            "objectives": asdict(objectives),
            "router": question.router or USUAL_ROUTER,
            "settings": asdict(question.machine.settings),
            **{name: getattr(self, name) for name in ("meets", "splits", "screened", "usd_per_hour")},
            "deployment": deployment_json(self.best.candidate.deployment, question.cells),
            "best": self.row(self.best, self.usd_per_hour),
            **(network_json(network) if network else {}),
            "winner": winner.fabric if winner else None,
            "network_matters": self.matters if self.fabrics else None,
            "fabrics": [self.fabric_row(row) for row in self.fabrics],
            "skipped_fabrics": [{"fabric": name, "reason": why} for name, why in self.skipped],
            "deployments": [self.row(one) for one in self.deployments],
            "pareto": [asdict(point) for point in self.front],
            "provenance": asdict(Provenance(seed=question.seed)),
        }


def network_json(network: NetworkQuestion) -> dict[str, Any]:
    """Return the network options as plain values."""
    names = ("servers", "accelerators_per_server", "degree", "link_bandwidth_bps", "link_latency_s")
    head = {name: getattr(network.cluster, name) for name in names}
    return {**head, "prices": network.priced.pricing.name, "assumed": network.assumed}


def _named(name: str, values: np.ndarray[Any, Any]) -> dict[str, float | None]:
    return {f"{name}_{key}": value for key, value in spread_of(values).to_json().items()}


def fabric_row(row: ServedFabric, rate_per_s: float) -> dict[str, Any]:
    """Return the figures of a fabric, in closed form at the mean lengths; the busiest link at a rate."""
    on, one, worth = row.on, row.on.expected, row.worth
    apart = row.deployment.prefill is not None
    return {
        "wiring": wiring_words(row),
        "routes": on.way,
        "pairing": on.pairing.name if apart else None,
        "decode_choices": on.pairing.choices if apart else None,
        "kv_share_of_ttft": finite_or_none(one.kv_share) if apart else None,
        "network_share_of_tpot": token_share(row),
        "hops_share_of_tpot": finite_or_none(one.hop_share),
        "busiest_link": rate_per_s * on.reach.busiest_s,
        "bandwidth_tax": on.reach.tax,
        "kv_hops": on.reach.kv_hops,
        "sent_bytes_per_request": on.reach.sent_bytes,
        "ttft_over_free_network": finite_or_none(worth.ttft_share),
        "tpot_over_free_network": finite_or_none(worth.tpot_share),
        "kv_bandwidth_bps": worth.kv_bps,
        "token_bandwidth_bps": worth.token_bps,
        "usd_per_hour": row.usd_per_hour,
        "deployments_tried": row.tried,
        "closed_form": {
            "requests_per_s": on.load.requests_per_s,
            **fields_of(on, "largest_rate_per_s", "binds"),
            "ttft_s": finite_or_none(one.ttft_s),
            "ttft_p90_s": finite_or_none(one.ttft_late_s),
            "tpot_s": finite_or_none(one.tpot_s),
            "prompt_wait_s": finite_or_none(one.prompt_wait_s),
            **fields_of(one, "prompt_s", "kv_s"),
            "place_wait_s": finite_or_none(one.place_wait_s),
            **fields_of(one, "batch", "prefill_busy", "decode_busy"),
        },
    }


def token_share(row: ServedFabric) -> float | None:
    """Return the network's share of the time of a token; None where requests pile up."""
    one = row.on.expected
    return one.token_network_s / one.tpot_s if np.isfinite(one.tpot_s) else None


def kv_matrix(row: ServedFabric, rate_per_s: float) -> Floats:
    """Return the bytes a second of keys and values between servers at a rate."""
    return np.asarray(row.on.per_request.kinds["kv"] * rate_per_s)


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
    """Return a short description of the wiring; empty for fabrics without a choice."""
    wiring = row.on.fabric.wiring
    if wiring is None:
        return ""
    across = wiring.recipe.get("across")
    ports = f", {across} of {wiring.degree} ports across" if across else ""
    return f"{wiring.family}{ports}"


def relieved(question: Question, one: Candidate, relief: Relief) -> Fleet:
    """Return a deployment with twice as much of a resource."""
    decode = _split(question.machine, one.decode, relief)
    prefill = decode if one.prefill is one.decode else _split(question.machine, one.prefill, relief)
    way = replace(question.way, bytes_per_s=relief.sent * question.way.bytes_per_s)
    return replace(question, way=way).fleet(replace(one, decode=decode, prefill=prefill))


def faster_network(row: ServedFabric) -> ServedFabric:
    """Return a fabric whose links have twice the bandwidth, and are as far apart as they were."""
    way = row.on.reach
    reach = replace(
        way,
        prefill=_faster(way.prefill),
        decode=_faster(way.decode),
        kv_s=way.kv_s / 2,
        kv_link_s=way.kv_link_s / 2,
        busy=way.busy / 2,
        kv_busy=way.kv_busy / 2,
    )
    return replace(row, on=replace(row.on, reach=reach))


def _faster(step: StepReach) -> StepReach:
    return replace(
        step, link_s_per_token=step.link_s_per_token / 2, inside_s_per_token=step.inside_s_per_token / 2
    )


def _split(machine: Machine, split: Split, relief: Relief) -> Split:
    if not relief.doubled and not relief.halved:
        return replace(split, cache_tokens=relief.room * split.cache_tokens)
    accelerator, degrees = find_accelerator(machine.system.accelerator), split.parallelism
    law = shipped_constants(ServedStack(machine.model, accelerator, machine.settings, split=degrees))
    one = replica(machine.model, accelerator, degrees, machine.settings, machine.system)
    return replace(split, table=table_of(relief.of(one), relief.of(law), degrees))
