"""The answer to a question at once: every fabric in closed form, priced, and the sentence that says which to take."""

from dataclasses import replace
from functools import lru_cache

from topoopt.cost import DEFAULT_PRICES, LINK_TECHNOLOGIES, Pricing, pricing_of
from topoopt.errors import InvalidInput
from topoopt.finder import select_permutations
from topoopt.hardware import ClusterSpec
from topoopt.search import is_transformer
from topoopt.studio.estimate import FabricEstimate, Sketch, StudioAnswer
from topoopt.studio.fabric_rules import fabric_rules
from topoopt.studio.operators_estimate import plain_job, simulated_time, strategies_of
from topoopt.studio.question import Question, request_of_question
from topoopt.studio.sentence import best_fabric, reason, sentence
from topoopt.studio.transformer_estimate import contenders_of, least_time_s, on_fabric
from topoopt.studio.worth import Worth, terms_of, terms_words
from topoopt.topology import moore_average_hops

DEFAULT_TECHNOLOGY = next(iter(LINK_TECHNOLOGIES))


@lru_cache(maxsize=512)
def answer_question(question: Question) -> StudioAnswer:
    """Return what the page says of a question; equal questions are answered once.

    Raises
    ------
    InvalidInput
        If a value is out of range, or values do not go together.
    Infeasible
        If no way of training fits in memory.
    """
    whole = _of_transformer if is_transformer(request_of_question(question)) else _of_operators
    answer = whole(question)
    best = best_fabric(answer)
    answer = replace(answer, best=best.fabric)
    return replace(answer, sentence=sentence(answer, best), reason=reason(answer, best))


def _of_transformer(question: Question) -> StudioAnswer:
    found = contenders_of(question)
    cluster = _cluster(found.training.cluster, question)
    training = replace(found.training, cluster=cluster)
    pricing = _pricing(question)
    rules, skipped = fabric_rules(cluster, pricing)
    here = replace(found, training=training)
    tokens = float(training.global_batch * training.model.sequence)
    terms = terms_of(question, cluster)
    worth = Worth(cluster, pricing, terms, float(training.global_batch), tokens)
    rows = []
    for rule in rules:
        form = on_fabric(here, rule)
        row = FabricEstimate(
            rule.fabric,
            rule.key,
            rule.label,
            rule.server_bandwidth_bps,
            form.iteration_time_s,
            form.most_time_s,
            form.parts_s,
            form.configuration,
        )
        rows.append(worth.of(row, rule))
    return StudioAnswer(
        question,
        "transformer",
        training.model.name,
        cluster.total_accelerators,
        cluster.accelerator,
        "token",
        tokens,
        least_time_s(here),
        "the fastest split if servers reached each other in no time",
        pricing.name,
        terms_words(terms),
        tuple(rows),
        _sketch(cluster),
        skipped=skipped,
    )


def _of_operators(question: Question) -> StudioAnswer:
    job, strategies = plain_job(question), strategies_of(question)
    cluster, pricing = job.cluster, _pricing(question)
    rules, skipped = fabric_rules(cluster, pricing)
    samples, terms = float(job.global_batch), terms_of(question, cluster)
    worth = Worth(cluster, pricing, terms, samples)
    rows: list[FabricEstimate] = []
    free_s = float("inf")
    for rule in rules:
        try:
            found = simulated_time(job, strategies, rule, pricing)
        except InvalidInput as error:
            skipped = (*skipped, (rule.fabric, str(error)))
            continue
        free_s = min(free_s, found.free_time_s)
        row = FabricEstimate(
            rule.fabric,
            rule.key,
            rule.label,
            rule.server_bandwidth_bps,
            found.iteration_time_s,
            found.iteration_time_s,
            found.parts_s,
            found.strategy,
        )
        rows.append(worth.of(row, rule))
    return StudioAnswer(
        question,
        "operators",
        job.name,
        cluster.total_accelerators,
        cluster.accelerator,
        "sample",
        samples,
        free_s if rows else 0.0,
        "the fastest of these splits if servers reached each other in no time",
        pricing.name,
        terms_words(terms),
        tuple(rows),
        _sketch(cluster),
        skipped=skipped,
        warnings=(
            "Estimated with the best of a few splits; a plan searches for a better one, and wires for it.",
        ),
    )


def _cluster(found: ClusterSpec, question: Question) -> ClusterSpec:
    return replace(found, degree=question.degree, link_bandwidth_bps=question.bandwidth_bps)


def _pricing(question: Question) -> Pricing:
    return pricing_of(
        question.prices or DEFAULT_PRICES, link_technology=question.link_technology or DEFAULT_TECHNOLOGY
    )


def _sketch(cluster: ClusterSpec) -> Sketch:
    servers, degree = cluster.servers, cluster.degree
    try:
        strides = select_permutations(servers, degree, links=cluster.links)
    except InvalidInput:  # one duplex port: pairs
        strides = ()
    return Sketch(servers, degree, strides, moore_average_hops(servers, degree))
