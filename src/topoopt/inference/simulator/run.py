"""One run of the simulator: requests and a fleet in, event times of each request out."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topoopt.base.arrays import Floats, Ints, numbered
from topoopt.base.errors import Infeasible, InvalidInput
from topoopt.base.limits import refuse_too_large
from topoopt.inference.deployment import MODES
from topoopt.inference.requests import Objectives, Requests
from topoopt.inference.simulator.fleet import ROUTERS, Fleet
from topoopt.inference.simulator.kernel import layout, simulate
from topoopt.inference.simulator.kernel.layout import (
    ABSENT,
    Clock,
    Count,
    Grid,
    Number,
    Pool,
    Replica,
    Request,
    State,
    Time,
)


@dataclass(frozen=True, slots=True)
class Spread:
    """Mean and percentiles of a time; NaN where nothing has one."""

    mean: float
    p50: float
    p90: float
    p99: float

    def to_json(self) -> dict[str, float | None]:
        """Return them in seconds, by name."""
        names = ("mean_s", "p50_s", "p90_s", "p99_s")
        values = (self.mean, self.p50, self.p90, self.p99)
        return {name: None if np.isnan(value) else value for name, value in zip(names, values, strict=True)}


@dataclass(frozen=True, slots=True, eq=False)
class ServingRun:
    """Result of :func:`simulate_serving`; arrays have an entry per request, or per replica."""

    fleet: Fleet
    requests: Requests
    state: State

    @property
    def arrival_s(self) -> Floats:
        """Arrival times; with a closed loop, times at which the clients sent the requests."""
        return self.state.arrival_s

    @property
    def ttft_s(self) -> Floats:
        """Seconds from a request to its first token; with two pools, to the start of decoding."""
        return self.state.time[:, Time.FIRST] - self.arrival_s

    @property
    def tpot_s(self) -> Floats:
        """Mean seconds per output token after the first; NaN for a single one."""
        more = self.requests.output_tokens - 1
        seconds = self.state.time[:, Time.LAST] - self.state.time[:, Time.FIRST]
        return np.where(more > 0, seconds / np.maximum(more, 1), np.nan)

    @property
    def queue_s(self) -> Floats:
        """Seconds until the prompt was begun, and until an arrived cache got its place."""
        time = self.state.time
        arrived = time[:, Time.ARRIVED] >= 0
        return (
            time[:, Time.BEGIN]
            - self.arrival_s
            + np.where(arrived, time[:, Time.FIRST] - time[:, Time.ARRIVED], 0)
        )

    @property
    def prefill_s(self) -> Floats:
        """Seconds from the begin of a prompt to its end."""
        return self.state.time[:, Time.READ] - self.state.time[:, Time.BEGIN]

    @property
    def transfer_s(self) -> Floats:
        """Seconds until the cache was there; 0 where none was sent."""
        time = self.state.time
        return np.where(time[:, Time.ARRIVED] >= 0, time[:, Time.ARRIVED] - time[:, Time.READ], 0.0)

    @property
    def answered_s(self) -> Floats:
        """Completion time of each request."""
        return np.asarray(self.state.time[:, Time.LAST])

    @property
    def end_s(self) -> float:
        """Completion time of the last request."""
        return float(self.answered_s.max())

    @property
    def output_tokens_per_s(self) -> float:
        """Output tokens/s, from the first request to the end of the last."""
        return float(self.requests.output_tokens.sum() / (self.end_s - self.arrival_s[0]))

    @property
    def preempted(self) -> Ints:
        """Preemptions per request."""
        return self.state.request[:, Request.PREEMPTED]

    @property
    def hit_share(self) -> float:
        """Share of the tokens of all prompts that were cached."""
        return float(self.state.request[:, Request.HIT].sum() / self.requests.input_tokens.sum())

    @property
    def peak_share(self) -> Floats:
        """Peak share of pages in use, per replica."""
        pages = np.array([kind.pages for kind in self.fleet.pools])
        return np.asarray(self.state.replica[:, Replica.PEAK] / pages[self.state.replica[:, Replica.POOL]])

    @property
    def events(self) -> int:
        """Events that were handled."""
        return int(self.state.tally[Count.EVENTS])

    def seconds(self, what: Clock) -> float:
        """Return the total time that replicas spent on an activity, such as ``Clock.READING``."""
        return float(self.state.clock[:, what].sum())

    def attainment(self, objectives: Objectives) -> float:
        """Return the share of the requests that meet both objectives."""
        return float(objectives.met(self.ttft_s, self.tpot_s).mean())


MOST_LOOKS = 1_000_000
"""Most checks of pools whose replicas may change."""
EVENTS_A_TOKEN = 8
"""A run has far fewer events; more of them are a mistake of ours that would never end."""


def simulate_serving(fleet: Fleet, requests: Requests, log_rows: int = 0) -> ServingRun:
    """Serve requests until all are complete.

    Replicas take requests first come, first served, into free pages; if decoding runs out of pages, the youngest
    request loses its pages and its prefill is repeated. Prefill precedes all decoding (prefill-first), is done in
    chunks beside decoding (chunked), or on separate replicas (disaggregated), whose caches are sent to decode
    replicas, where they wait outside of the pages: over the links of a fabric, which they share max-min fairly, or one
    after the other at either end. Consecutive decode-only steps are merged until a request arrives or leaves. A
    pipeline has as many groups of requests in flight as stages.

    Parameters
    ----------
    log_rows
        Steps to log, from the first one on.

    Raises
    ------
    InvalidInput
        If a request fits into no replica.
    Infeasible
        If replicas or links that are needed fail for good.
    """
    state = first_state(fleet, requests, log_rows)
    simulate(state)
    left = len(requests) - int(state.tally[Count.DONE])
    if left:
        assert fleet.failures or fleet.outages, "the simulation stopped before all requests were answered"
        raise Infeasible(
            f"requests: {left:,} of {len(requests):,} are never answered: replicas or links that they need never come "
            "back"
        )
    return ServingRun(fleet, requests, state)


def first_state(fleet: Fleet, requests: Requests, log_rows: int) -> State:
    """Return the state before the first request comes.

    Raises
    ------
    InvalidInput
        If a request fits into no replica.
    Infeasible
        If the arrays would need too much memory.
    """
    settings, replicas = fleet.settings, fleet.replicas
    fleet.check_fits(int((requests.input_tokens + requests.output_tokens).max()))
    keeps = settings.prefix_cache and len(requests.blocks) > 0
    names, block = numbered(requests.blocks, 1 << 62) if keeps else (np.empty(0, np.int64),) * 2
    blocks = len(names)
    needed_bytes = replicas * 12 * blocks + 320 * len(requests) + 72 * log_rows
    refuse_too_large(f"{len(requests):,} requests", needed_bytes, "simulate fewer of them")
    width = max(kind.pool.max_batch for kind in fleet.pools)
    width = min(width, len(requests))
    changes = _changes(fleet)
    room = 2 * len(requests) + replicas + len(changes) + 8
    transfer = fleet.transfer
    rows = np.zeros((fleet.replicas, len(Replica)), np.int64)
    rows[:, Replica.UP] = 1
    if fleet.prefill:
        rows[fleet.prefill.pool.replicas :, Replica.POOL] = 1
    clock = np.zeros((replicas, len(Clock)))
    clock[:, Clock.END] = layout.NEVER
    return State(
        tally=_counts(fleet, requests, blocks),
        number=_numbers(fleet),
        keys=np.zeros(room),
        codes=np.zeros(room, np.int64),
        arrival_s=requests.arrival_s.astype(np.float64),
        request=_request_rows(fleet, requests),
        time=np.full((len(requests), len(layout.Time)), layout.NEVER_YET),
        block_first=requests.block_first if keeps else np.zeros(len(requests) + 1, np.int64),
        block=block.astype(np.int64),
        replica=rows,
        clock=clock,
        running=np.zeros((replicas, max(width, 1)), np.int64),
        pool=_pools(fleet),
        law=np.array(
            [[kind.table.decode_s_per_token, kind.table.prefill_s_per_pair] for kind in fleet.pools]
        ),
        grid=_grid(fleet),
        setup_s=np.zeros((1, 1)) if transfer is None else transfer.setup_s,
        bytes_per_s=np.ones((1, 1)) if transfer is None else transfer.bytes_per_s,
        **_ways(fleet, len(requests)),
        change_s=np.array([when for when, _, _ in changes], np.float64),
        change=np.array([row[1:] for row in changes], np.int64).reshape(-1, 2),
        users=np.full((replicas, blocks), ABSENT, np.int32),
        older=np.full((replicas, blocks + 1), blocks, np.int32),
        newer=np.full((replicas, blocks + 1), blocks, np.int32),
        log=np.zeros((log_rows, len(layout.Log))),
    )


def _changes(fleet: Fleet) -> list[tuple[float, int, int]]:
    """Return the failures and repairs, see ``change``, in order."""
    failures = [
        (when, replica, kind)
        for replica, begin_s, end_s in _apart(fleet)
        for kind, when in enumerate((begin_s, end_s))
    ]
    outages = [
        (when, link, kind)
        for outage in fleet.outages
        for link in outage.links
        for kind, when in enumerate((outage.begin_s, outage.end_s), 2)
    ]
    return sorted(one for one in failures + outages if np.isfinite(one[0]))


def _apart(fleet: Fleet) -> list[tuple[int, float, float]]:
    """Return replica, begin and end of failures, those of a replica that overlap or meet as one."""
    found: list[tuple[int, float, float]] = []
    for one in sorted(fleet.failures, key=lambda failure: (failure.replica, failure.begin_s)):
        if found and found[-1][0] == one.replica and one.begin_s <= found[-1][2]:
            found[-1] = (one.replica, found[-1][1], max(found[-1][2], one.end_s))
        else:
            found.append((one.replica, one.begin_s, one.end_s))
    return found


def _ways(fleet: Fleet, requests: int) -> dict[str, Any]:
    """Return the arrays of the fabric that caches cross."""
    transfer = fleet.transfer
    routes = transfer.routes if transfer else None
    allowed = transfer.allowed if transfer else None
    one = (1, 1) if transfer is None else transfer.setup_s.shape
    links, rows = fleet.links, requests if routes else 1
    whole = np.zeros(0) if routes is None else routes.capacity_bytes_per_s.astype(np.float64)
    return {
        "allowed": np.ones(one, np.bool_) if allowed is None else allowed,
        "way_first": np.zeros(1, np.int64) if routes is None else routes.pair_first.astype(np.int64),
        "way_link": np.zeros(0, np.int64) if routes is None else routes.link.astype(np.int64),
        "way_share": np.zeros(0) if routes is None else routes.share.astype(np.float64),
        "capacity": whole.copy(),
        "whole": whole,
        "down": np.zeros(links, np.int64),
        "left": np.zeros(links),
        "slope": np.zeros(links),
        "flow": np.zeros((rows, len(layout.Flow))),
        "flowing": np.zeros(rows, np.int64),
    }


def _counts(fleet: Fleet, requests: Requests, blocks: int) -> NDArray[np.int64]:
    settings, of_block = fleet.settings, requests.block_tokens
    if settings.prefix_cache and of_block % settings.page_tokens:
        raise InvalidInput(
            f"page_tokens {settings.page_tokens}: prefixes are kept in blocks of {of_block} tokens"
        )
    count = np.zeros(len(Count), np.int64)
    count[Count.MODE] = MODES.index(fleet.mode)
    count[Count.ROUTER] = ROUTERS.index(fleet.router)
    count[Count.PAGE] = settings.page_tokens
    count[Count.BLOCK_PAGES] = max(of_block // settings.page_tokens, 1)
    count[Count.CLIENTS] = requests.clients
    count[Count.ROWS] = 1 + settings.drafted_tokens
    count[Count.LAYERS] = fleet.transfer.layers if fleet.transfer else 1
    count[Count.PREFIX] = int(blocks > 0)
    count[Count.BLOCKS] = blocks
    count[Count.LINKS] = -1 if fleet.transfer is None or fleet.transfer.routes is None else fleet.links
    looks = float(requests.arrival_s[-1]) / fleet.roles.every_s if fleet.roles else 0.0
    if looks > MOST_LOOKS:
        raise InvalidInput(f"autoscale: looks {looks:.3g} times at the pools; look more seldom")
    count[Count.MOST_EVENTS] = EVENTS_A_TOKEN * requests.tokens + 10 * int(looks) + 10_000_000
    return count


def _numbers(fleet: Fleet) -> NDArray[np.float64]:
    number = np.zeros(len(Number))
    number[Number.ACCEPTED] = fleet.settings.accepted_tokens
    number[Number.CACHE_BYTES] = fleet.transfer.cache_bytes_per_token if fleet.transfer else 0.0
    number[Number.NEXT] = layout.NEVER
    if rule := fleet.roles:
        number[Number.EVERY_S], number[Number.TURN_S] = rule.every_s, rule.turn_s
        number[Number.UNREAD], number[Number.FULL] = rule.unread_tokens, rule.full
        number[Number.EMPTY] = rule.empty
    return number


def _request_rows(fleet: Fleet, requests: Requests) -> NDArray[np.int64]:
    rows = np.zeros((len(requests), len(Request)), np.int64)
    rows[:, Request.INPUT] = requests.input_tokens
    rows[:, Request.OUTPUT] = requests.output_tokens
    rows[:, Request.TOTAL] = np.ceil((requests.output_tokens - 1) / fleet.settings.accepted_tokens)
    rows[:, Request.REPLICA] = rows[:, Request.SOURCE] = -1
    return rows


def _pools(fleet: Fleet) -> NDArray[np.int64]:
    rows, first = np.zeros((2, len(Pool)), np.int64), 0
    for row, kind in zip(rows, fleet.pools, strict=True):
        row[Pool.PAGES], row[Pool.BUDGET], row[Pool.BATCH] = (
            kind.pages,
            kind.pool.token_budget,
            kind.pool.max_batch,
        )
        row[Pool.STAGES] = kind.table.stages
        row[Pool.FIRST], row[Pool.BEYOND] = first, first + len(kind.table.tokens)
        first += len(kind.table.tokens)
    return rows


def _grid(fleet: Fleet) -> NDArray[np.float64]:
    columns: dict[Grid, Any] = {
        Grid.TOKENS: [kind.table.tokens for kind in fleet.pools],
        Grid.BASE: [kind.table.base_s for kind in fleet.pools],
        Grid.PREFILL: [kind.table.prefill_base_s for kind in fleet.pools],
        Grid.HEAD: [kind.table.head_s for kind in fleet.pools],
    }
    return np.stack([np.concatenate(columns[column]).astype(np.float64) for column in Grid], axis=1)


def spread_of(values: Floats) -> Spread:
    """Return mean and percentiles, of values that are not NaN."""
    known = values[~np.isnan(values)]
    if not len(known):
        return Spread(*[float("nan")] * 4)
    return Spread(float(known.mean()), *(float(part) for part in np.percentile(known, (50, 90, 99))))
