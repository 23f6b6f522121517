"""A deployment that its owner has described, and published figures of, beside what comes out of the same one here."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from topoopt.base.arrays import Floats
from topoopt.catalog import ClusterSpec
from topoopt.inference.deployment import Deployment, EngineSettings, Parallelism, Pool
from topoopt.inference.fabrics.compared import ServedFabric
from topoopt.inference.network.load import RequestLoad
from topoopt.inference.presets import DeploymentFigure, deployment_figures, deployment_preset
from topoopt.inference.published.ordering import Asked, PublishedOrdering, asked
from topoopt.inference.search.pool_text import parse_pool

PRESET = "deepseek-v3-2025"
HITS = 0.563
"""Share of the prompts' tokens that came from caches, published with the figures."""

SERVER, PORT_BPS = 8, 400e9
"""Accelerators of a server, each with a port."""

ANSWER_SHARE = 168 / 608
"""Tokens of answers over those of prompts, published with the figures."""


def deployment_rows() -> list[PublishedOrdering]:
    """Return what a server reads and answers, in the figures that are published of it."""
    model, words = deployment_preset(PRESET)
    figures = deployment_figures(PRESET)
    found = []
    for name in ("reads computed", "reads in its profile"):
        found.append(_reads(model, words, figures[name]))
        if name == "reads computed":
            found.append(_with_hits(found[-1], figures["reads with cache hits"]))
    return found + [_answers(model, words, figures[name]) for name in ("answers", "answers in its profile")]


def _asked(model: str, words: Mapping[str, Any], answers: int, load: RequestLoad) -> ServedFabric:
    """Return the deployment with so many accelerators that answer, on rails."""
    settings = EngineSettings(words["weight_precision"], two_batch_overlap=words["two_batch_overlap"])
    reads = parse_pool(words["prefill"], "prefill")[1]
    given = Deployment(
        "disaggregated",
        Pool(Parallelism(1, 1, answers, answers), 1, words["max_batch"] * answers),
        Pool(reads),
        settings,
    )
    servers = (reads.accelerators + answers) // SERVER
    cluster = ClusterSpec(servers, SERVER, PORT_BPS, SERVER, words["accelerator"])
    return asked(
        model, cluster, load, (60.0, 1.0), words["fabrics"], Asked(given, engine=words["engine"])
    ).fabrics[0]


def _reads(model: str, words: Mapping[str, Any], figure: DeploymentFigure) -> PublishedOrdering:
    """Return the tokens that a server reads in steps as large as those of the profile."""
    answers = parse_pool(words["decode"], "decode")[1].accelerators
    row = _asked(model, words, answers, _load(figure))
    each = max(words["token_budget"] // int(figure.prompt_tokens), 1)
    prompts = float(each * figure.ranks)
    tokens = prompts * figure.prompt_tokens
    table, network_s = row.laws.prefill, row.on.reach.prefill.step_s(tokens, np.zeros_like(row.on.reach.busy))
    step_s = table.prefill_s(tokens, prompts, network_s)
    assert table.halves is not None
    works = float(table.at(tokens, table.halves.prefill_works_s)) + table.prefill_s_per_pair * (
        tokens * figure.prompt_tokens / 2
    )
    sends = float(table.at(tokens, table.halves.prefill_sends_s)) + network_s
    return _row(
        f"tokens a second that a server of prefill {figure.name}, EP{figure.ranks}",
        tokens / step_s / figure.servers,
        figure,
        f"ours: {each} prompts of an accelerator in {1e3 * step_s:,.0f} ms, of which both halves of the batch compute "
        f"{1e3 * works:,.0f} ms and send for {1e3 * sends:,.0f} ms, one behind the other",
    )


def _with_hits(computed: PublishedOrdering, figure: DeploymentFigure) -> PublishedOrdering:
    """Return the tokens that come in, where a share of them needs no reading."""
    return _row(
        f"tokens a second that a server of prefill {figure.name}, EP{figure.ranks}",
        computed.ours / (1 - HITS),
        figure,
        f"ours: computed tokens over 1 - {HITS:g}, the published share of hits",
    )


def _answers(model: str, words: Mapping[str, Any], figure: DeploymentFigure) -> PublishedOrdering:
    """Return the tokens that a server answers: at the published batch, or at the most that is as fast as published."""
    load = _load(figure)
    row = _asked(model, words, figure.ranks, load)
    cached = load.prompt_tokens + load.answer_tokens / 2
    most = int(figure.batch or row.laws.places // figure.ranks)
    batches = figure.ranks * np.arange(1.0, most + 1)
    network = [row.on.reach.decode.step_s(one, np.zeros_like(row.on.reach.busy)) for one in batches.tolist()]
    step_s: Floats = np.array(
        [
            row.laws.decode.decode_s(one, one * cached, sent_s)
            for one, sent_s in zip(batches.tolist(), network, strict=True)
        ]
    )
    in_time = np.flatnonzero(step_s <= (np.inf if figure.batch else _tpot_s(words)))
    at = int(in_time[-1]) if len(in_time) else 0
    table, one = row.laws.decode, float(batches[at])
    assert table.halves is not None
    works = float(table.at(one, table.halves.decode_works_s))
    sends = float(table.at(one, table.halves.decode_sends_s)) + network[at]
    return _row(
        f"tokens a second that a server of decode {figure.name}, EP{figure.ranks}",
        one / float(step_s[at]) / figure.servers,
        figure,
        f"ours: {one / figure.ranks:.0f} requests of an accelerator, a step of {1e3 * float(step_s[at]):.1f} ms: "
        f"caches {1e3 * table.decode_s_per_token * one * cached:.1f} ms, all else that is computed "
        f"{1e3 * works:.1f} ms, dispatch and combine {1e3 * sends:.1f} ms behind these",
    )


def _tpot_s(words: Mapping[str, Any]) -> float:
    return float(words["slo_tpot"].removesuffix("ms")) / 1e3


def _load(figure: DeploymentFigure) -> RequestLoad:
    """Return requests of the published lengths; a profile's caches have the prompt alone."""
    answer = 2.0 if figure.seen else figure.prompt_tokens * ANSWER_SHARE
    return RequestLoad(1.0, figure.prompt_tokens, answer)


def _row(what: str, ours: float, figure: DeploymentFigure, terms: str) -> PublishedOrdering:
    published = figure.tokens_per_s
    seen = (
        "this row is among those that constants are fitted to"
        if figure.seen
        else "published is what came in 24 hours, ours the most that it can; no constant has seen this row"
    )
    return PublishedOrdering(
        what,
        "tokens/s",
        ours,
        published,
        published,
        figure.source,
        f"{terms}; {100 * (ours / published - 1):+.0f} %; {seen}",
    )
