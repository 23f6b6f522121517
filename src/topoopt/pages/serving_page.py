"""A service as a page: fabrics, the best deployments, latencies, bottleneck, cost, a timeline."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from topoopt.base.arrays import Floats
from topoopt.base.units import format_bandwidth, format_memory, format_time
from topoopt.catalog import NETWORKS, find_accelerator
from topoopt.inference import ServingAnswer, split_words, user_tokens_per_s
from topoopt.pages.chart import Limit, LineChart, Series
from topoopt.pages.page import Notes, Page, Section, Table, Tile
from topoopt.pages.serving_network_page import mattering, network_sections, time_or_dash, users_times
from topoopt.pages.tables import Entries, counted, dollars, facts, number, table, text

POINTS = 200
"""Points of a distribution, and moments of a run."""
PERCENTILES = (0.5, 0.9, 0.99)
MOST_TOKENS = 1 << 40
"""Tokens from which on a memory counts as unlimited."""


def serving_page(answer: ServingAnswer) -> Page:
    """Return the answer, the deployments side by side, and pictures of the best one at the requested rate."""
    question, best = answer.question, answer.best
    run = best.run
    asked = answer.row(best)
    times = users_times("", asked, TIMES)
    return Page(
        "serving",
        f"{question.machine.model.name} on {question.accelerators:,} {answer.accelerator}",
        headline=_headline(answer),
        tiles=_tiles(answer),
        warnings=_warnings(answer),
        sections=(
            Section("asked", "What was asked", "", (facts(_entries(answer)),)),
            *network_sections(answer),
            Section(
                "deployments",
                "Deployments without a network" if answer.fabrics else "Deployments",
                "Simulated request by request" + (
                    " on a network that takes no time, from which those of the fabrics are taken"
                    if answer.fabrics else ""
                ) + "; the one of the highest goodput first.",
                (_deployments(answer), WHY),
                "simulated",
            ),
            *_gains(answer),
            Section("times", _times_title(answer), "", (times, _within(asked)), "seconds from mean to p99"),
            Section(
                "distributions",
                "How long requests wait",
                "Share of the requests that had a token within a time; the dashed line is the objective.",
                (_distribution("ttft", "Time to the first token", run.ttft_s, question.objectives.ttft_s),
                 _distribution("tpot", "Time per token after it", run.tpot_s, question.objectives.tpot_s)),
                detail=True,
            ),
            Section(
                "pareto",
                "Tokens of an accelerator against tokens of a user",
                "Lines: no deployment is better in both, in closed form. Points are simulated, at their goodput.",
                (_front(answer),),
                detail=True,
            ),
            Section(
                "timeline",
                "Load over time",
                f"Of the best deployment, at {POINTS} moments of the run.",
                _over_time(answer),
                detail=True,
            ),
        ),
        key_numbers={
            "goodput_per_s": answer.goodput_per_s,
            "output_tokens_per_s": asked["output_tokens_per_s"],
            "usd_per_million_tokens_at_goodput": answer.usd_per_million(
                answer.goodput_per_s * question.demand.answer
            ),
        },
        answer_first=True,
    )  # fmt: skip


def _headline(answer: ServingAnswer) -> str:
    question, best = answer.question, answer.best
    goals = question.objectives
    cost = answer.usd_per_million(answer.goodput_per_s * question.demand.answer)
    price = "" if cost is None else f", for {dollars(cost)} a million output tokens at that rate"
    where = f" on {answer.winner.fabric}" if answer.winner else ""
    network = f" {mattering(answer)}" if answer.fabrics else ""
    return (
        f"{best.words}{where}{question.in_each}: {answer.goodput_per_s:.3g} requests per second, {goals.share:.0%} of "
        f"them within a TTFT of {format_time(goals.ttft_s)} and a TPOT of {format_time(goals.tpot_s)}{price}. "
        f"Then {best.binding.what} binds: {best.binding.words}.{network}"
    )


def _within(row: Mapping[str, Any]) -> Notes:
    names = {"first token": "ttft_p50", "each other token": "tpot_p50"}
    ends = [
        f"{words} {format_time(row[f'{name}_low_s'])} to {format_time(row[f'{name}_high_s'])} (median)"
        for words, name in names.items()
        if row[f"{name}_low_s"] is not None
    ]
    ends.append(f"stable rate {row['stable_low_per_s']:.3g} to {row['stable_high_per_s']:.3g}/s")
    return Notes(
        (f"80% of measured runs, of a {row['interval_left_out']} that was not fitted: {', '.join(ends)}",)
    )


def _times_title(answer: ServingAnswer) -> str:
    where = f", on {answer.winner.fabric}" if answer.winner else ""
    asked = answer.question.demand
    at = (
        "at the rate asked for"
        if asked.rate_per_s is not None or asked.requests.clients
        else "at the goodput"
    )
    return f"Times {at}{where}"


def _tiles(answer: ServingAnswer) -> tuple[Tile, ...]:
    best, row = answer.best, answer.row(answer.best, answer.usd_per_hour)
    fabric = (
        (Tile("Network", answer.winner.fabric, NETWORKS[answer.winner.fabric].description),)
        if answer.winner
        else ()
    )
    return (
        *fabric,
        Tile(
            "Goodput",
            f"{answer.goodput_per_s:.3g}/s",
            f"{row['goodput_per_accelerator_per_s']:.3g}/s an accelerator",
        ),
        Tile("First token", format_time(row["ttft_p50_s"]), f"p90 {format_time(row['ttft_p90_s'])}"),
        Tile("Each other token", time_or_dash(row["tpot_p50_s"]), f"p90 {time_or_dash(row['tpot_p90_s'])}"),
        Tile(
            "A million tokens",
            dollars(row["usd_per_million_tokens_at_goodput"]),
            "of answers, at the goodput",
        ),
        Tile("Binds", best.binding.what, best.binding.words),
    )


def _warnings(answer: ServingAnswer) -> tuple[str, ...]:
    question, best = answer.question, answer.best
    if answer.meets:
        return ()
    met = best.run.attainment(question.objectives)
    rate = question.demand.rate_per_s and question.demand.rate_per_s * question.cells
    if rate is None:
        return (
            f"only {met:.1%} of the requests meet both objectives; take fewer clients, or more accelerators",
        )
    where = f" on {answer.winner.fabric}, the best of the fabrics" if answer.winner else ""
    if best.goodput_per_s == 0:
        return (
            f"at {rate:g} requests a second only {met:.1%} meet both objectives{where}; at no rate enough do",
        )
    needed = -(-rate * question.accelerators // answer.goodput_per_s)
    return (
        f"at {rate:g} requests a second only {met:.1%} meet both objectives{where}; about {needed:,.0f} accelerators "
        "of this deployment would do",
    )


def _entries(answer: ServingAnswer) -> Entries:
    question = answer.question
    demand, goals = question.demand, question.objectives
    hourly = answer.usd_per_hour
    rate = "" if demand.rate_per_s is None else f"{demand.rate_per_s:g}/s: "
    machine, network = question.machine, question.network
    settings = machine.settings
    row = answer.row(answer.best)
    weights, kv, reserve = (
        format_memory(row[f"memory_{name}_bytes"]) for name in ("weights", "kv", "reserve")
    )
    usable = format_memory(find_accelerator(machine.system.accelerator).usable_memory_bytes)
    tokens = answer.best.candidate.decode.cache_tokens
    held = f"{tokens:,} tokens" if tokens < MOST_TOKENS else "any number of tokens, for no layer keeps all"
    return {
        "cells": ""
        if question.cells == 1
        else f"{question.cells} of {question.limits.accelerators:,} accelerators, each with a network and a router of "
        "its own and an equal share of the requests. One cell is simulated; the others have other random arrivals. "
        "One router that saw the load of all cells would shorten the waits; it is not simulated",
        "requests": f"{rate}{demand.words}{question.in_each}; prompts of {demand.prompt:,.0f} tokens and answers of "
        f"{demand.answer:,.0f}",
        "objectives": f"first token {format_time(goals.ttft_s)}, each other {format_time(goals.tpot_s)}, for "
        f"{goals.share:.0%} of the requests",
        "screened": f"{counted(answer.screened, 'deployment')}, in closed form; "
        f"{counted(answer.splits, 'split')} of a replica fit into memory",
        "router": question.router
        or "least-loaded" + ", network-aware where pairs are chosen with the wiring" * bool(network),
        "memory": f"a replica of the best deployment holds keys and values of {held}; per accelerator "
        f"{weights} of weights, {kv} of keys and values, {reserve} for activations, the engine and what memory share "
        f"{settings.share:g} leaves free, of {usable}",
        "engine": f"{settings.engine}; weights {settings.weight_precision}, keys and values {settings.kv_precision}",
        "network": ""
        if network is None
        else f"{network.cluster.servers} servers{question.in_each} with {network.cluster.degree} x "
        f"{format_bandwidth(network.cluster.link_bandwidth_bps)} each, prices {network.priced.pricing.name}",
        "assumed": "" if network is None else network.assumed,
        "machines": "" if hourly is None else f"{dollars(hourly)} an hour, servers, network and electricity",
    }


def _deployments(answer: ServingAnswer) -> Table:
    return table(
        "",
        [{**answer.row(one), "words": one.words} for one in answer.deployments],
        text("deployment", "words"),
        number("goodput/s", "goodput_per_s", ".3g"),
        number("stable/s", "stable_per_s", ".3g"),
        number("met", "attainment", ".1%"),
        number("tok/s acc", "accelerator_tokens_per_s_at_goodput", ",.0f"),
        number("tok/s user", "user_tokens_per_s_at_goodput", ",.1f"),
        *(() if answer.fabrics else (number("$/1 M", "usd_per_million_tokens_at_goodput", dollars),)),
        text("binds", "binds"),
    )


WHY = Notes(
    (
        "goodput: the largest rate at which enough requests meet both objectives; stable: the largest at all; "
        "met: at the rate asked for; tok/s acc: goodput times tokens of an answer, per accelerator; tok/s user: of one "
        "user at the goodput; $/1 M: of tokens of answers at the goodput; binds: at the goodput",
    )
)


def _gains(answer: ServingAnswer) -> tuple[Section, ...]:
    """Return the gains of deployments from doubling each resource."""
    evaluated = [answer.best, *(one for one in answer.deployments if one is not answer.best)]
    measured = [one for one in evaluated if one.binding.gains]
    if not measured:
        return ()
    rows = [{"words": one.words, **one.binding.gains} for one in measured]
    what = "rate" if answer.question.demand.requests.clients else "goodput"
    return (
        Section(
            "gains",
            "What binds",
            f"How much larger the {what} is with twice as much of one resource, all else equal; overhead, which is "
            "what engine and messages take by themselves, is halved.",
            (
                table(
                    "",
                    rows,
                    text("deployment", "words"),
                    *(number(relief, relief, "+z.0%") for relief in measured[0].binding.gains),
                ),
            ),
            "simulated",
        ),
    )


TIMES = {"first token": "ttft", "each other token": "tpot", "of that in queues": "queue"}
"""Times shown with mean and percentiles."""


def _distribution(name: str, title: str, values: Floats, goal_s: float) -> LineChart:
    """Return the CDF of a time with its percentiles, and the objective as an upright line."""
    known = np.sort(values[~np.isnan(values)])
    shares = np.linspace(0.0, 1.0, min(POINTS, len(known)) or 1)
    at, marked = (np.quantile(known, of) if len(known) else np.zeros(len(of)) for of in (shares, PERCENTILES))
    return LineChart(
        f"serving-{name}",
        title,
        "time (s)",
        "share of requests at or below",
        (
            Series("requests", tuple(at.tolist()), tuple(shares.tolist()), marked=False),
            Series(
                "percentiles",
                tuple(marked.tolist()),
                PERCENTILES,
                joined=False,
                names=tuple(
                    f"p{100 * share:g} {format_time(time_s)}"
                    for share, time_s in zip(PERCENTILES, marked, strict=True)
                ),
            ),
        ),
        x_log=True,
        y_from_zero=True,
        x_limits=(Limit(goal_s, f"objective {format_time(goal_s)}"),),
    )


def _front(answer: ServingAnswer) -> LineChart:
    lines: dict[str, list[tuple[float, float, str]]] = {}
    for point in answer.front:
        words = f"{split_words(point.decode)}, {point.batch:,.0f} answers a replica"
        lines.setdefault(point.mode, []).append(
            (point.user_tokens_per_s, point.accelerator_tokens_per_s, words)
        )
    simulated = [
        (
            user_tokens_per_s(one.at_goodput),
            one.goodput_per_s * answer.question.demand.answer / one.accelerators,
            one.words,
        )
        for one in answer.deployments
        if np.isfinite(user_tokens_per_s(one.at_goodput))
    ]
    series = [_series(mode, rows, joined=True) for mode, rows in lines.items()]
    return LineChart(
        "serving-pareto",
        "Tokens of an accelerator against tokens of a user",
        "tokens/s of a user",
        "tokens/s of an accelerator",
        (*series, _series("simulated, at the goodput", simulated, joined=False)),
        x_log=True,
        y_from_zero=True,
    )


def _series(name: str, rows: list[tuple[float, float, str]], joined: bool) -> Series:
    x, y, labels = zip(*rows, strict=True) if rows else ((), (), ())
    return Series(name, tuple(x), tuple(y), joined=joined, marked=not joined, labels=tuple(labels))


def _over_time(answer: ServingAnswer) -> tuple[LineChart, LineChart]:
    """Return the numbers of requests that wait, prefill and decode, and the filled share of the KV cache."""
    run = answer.best.run
    came, time = run.arrival_s, run.state.time
    begin, read, arrived, first, last = time.T
    counts: dict[str, list[tuple[Floats, Floats]]] = {
        "queue": [(came, begin), (np.maximum(arrived, read), np.where(arrived >= 0, first, -1))],
        "prefill": [(begin, read)],
        "batch": [(first, last)],
    }
    moments = np.linspace(0.0, run.end_s, POINTS)
    series = [
        Series(name, tuple(moments.tolist()), _counted(spans, moments), stepped=True, marked=False)
        for name, spans in counts.items()
    ]
    prompt, told = run.requests.input_tokens, run.requests.output_tokens
    held = np.where(arrived >= 0, first, begin)  # a cache that was sent has its place from the first token on
    tokens = [
        float(np.where((held <= at) & (at < last), prompt + told * _passed(first, last, at), 0.0).sum())
        for at in moments
    ]
    candidate = answer.best.candidate
    limited = candidate.decode.cache_tokens < MOST_TOKENS
    room = candidate.deployment.decode.replicas * candidate.decode.cache_tokens if limited else 1
    cache = Series("cache", tuple(moments.tolist()), tuple(size / room for size in tokens), marked=False)
    return (
        LineChart(
            "serving-load",
            "Requests over time",
            "time (s)",
            "requests",
            tuple(series),
            note="queue: waits for prefill or for a place to decode; batch: is being decoded. All replicas together.",
            x_from_zero=True,
            y_from_zero=True,
        ),
        LineChart(
            "serving-cache",
            "KV cache over time",
            "time (s)",
            "share of the pages of all replicas that decode" if limited else "tokens",
            (cache,),
            x_from_zero=True,
            y_from_zero=True,
        ),
    )


def _counted(spans: list[tuple[Floats, Floats]], moments: Floats) -> tuple[float, ...]:
    """Return how many spans hold each moment; a span that ends before it begins holds none."""
    return tuple(float(sum(((a <= at) & (at < b)).sum() for a, b in spans)) for at in moments)


def _passed(first: Floats, last: Floats, at: float) -> Floats:
    """Return the share of the time between two moments that is over at a third."""
    return np.clip((at - first) / np.maximum(last - first, 1e-12), 0.0, 1.0)
