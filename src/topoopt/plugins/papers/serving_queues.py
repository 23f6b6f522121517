"""The simulator of serving beside closed forms: prompts as a queue of one server, and clients that wait."""

from collections.abc import Iterator

import numpy as np

from topoopt.inference import (
    Fleet,
    Parallelism,
    Pool,
    Replicas,
    ServingRun,
    StepTable,
    draw_requests,
    parse_arrivals,
    parse_lengths,
    simulate_serving,
    step_table,
    uniform_transfer,
)
from topoopt.plugins.papers.description import description
from topoopt.plugins.papers.figure import Comparison, Row
from topoopt.workloads.transformer import find_transformer

TEXT = description("serving")
PROMPT = 1024
BUSY = (0.3, 0.5, 0.8)
CLIENTS = (1, 8, 64)
EACH = 200
"""Requests of a client: the end, where nothing more is sent, is then half a percent of the run."""
ANSWER = 128
PLENTY = 10**6


def queue_rows(prompts: int, seed: int) -> Iterator[tuple[Row, Comparison]]:
    """Yield waiting prompts, and clients, each with the comparison that it makes."""
    for stages in (1, 2):
        for busy in BUSY:
            run = _prompts(stages, busy * stages, prompts, seed)
            rate = run.requests.rate_per_s
            # D + rho D / 2 (1 - rho); of two stages D + lambda D^2 / 4 (2 - lambda D), with D = 1 s
            known = 1 + rate / (2 * (1 - rate)) if stages == 1 else 1 + rate / (4 * (2 - rate))
            ours = float(run.ttft_s.mean())
            words = {"busy": busy, "stages": stages}
            yield (
                _row("m/d/1", f"rho {busy:g}, {stages} stages", ours, known),
                TEXT.comparison("queue", ours, published=known, **words),
            )
    for clients in CLIENTS:
        run = _clients(clients, seed)
        inside = float((run.ttft_s + (ANSWER - 1) * np.nan_to_num(run.tpot_s)).sum() / run.end_s)
        yield (
            _row("closed loop", f"{clients} clients", inside, float(clients)),
            TEXT.comparison("clients", inside, published=float(clients), clients=clients),
        )


def _row(part: str, case: str, ours: float, known: float) -> Row:
    return {"part": part, "case": case, "quantity": "seconds or requests", "ours": ours, "published": known}


def _prompts(stages: int, rate_per_s: float, count: int, seed: int) -> ServingRun:
    """Return prompts that take a second each, one at a time in a stage, with answers of one token."""
    each = np.full(2, 1.0)
    table = StepTable(np.array([1, 2]), each, each, np.zeros(2), 0.0, 0.0, stages)
    one = Replicas(Pool(Parallelism(), 1, 64, PROMPT), table, PLENTY)
    fleet = Fleet("disaggregated", one, one, transfer=uniform_transfer(2, 0.0, 1e9, 1.0))
    lengths = parse_lengths(PROMPT, "isl"), parse_lengths(1, "osl")
    return simulate_serving(
        fleet, draw_requests(parse_arrivals("poisson"), count, rate_per_s, *lengths, seed)
    )


def _clients(clients: int, seed: int) -> ServingRun:
    """Return clients of Llama 3 8B on one H100, each of which waits for its answer."""
    table = step_table(find_transformer("llama3-8b"), "h100", Parallelism())
    fleet = Fleet("chunked", Replicas(Pool(Parallelism(), 1, 256, 2048), table, PLENTY))
    lengths = parse_lengths(PROMPT, "isl"), parse_lengths(ANSWER, "osl")
    loop = parse_arrivals(f"closed:{clients}")
    return simulate_serving(fleet, draw_requests(loop, EACH * clients, 1.0, *lengths, seed))
