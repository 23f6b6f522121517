"""The answer to a question at once: every fabric in closed form, priced, and the sentence that says which to take."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from topoopt.base.errors import InvalidInput
from topoopt.catalog import ClusterSpec
from topoopt.finder import select_permutations
from topoopt.frontends.web.closed_form import ClosedForm
from topoopt.frontends.web.estimate import FabricEstimate, Sketch, StudioAnswer
from topoopt.frontends.web.fabric_rules import NAMES, FabricRule, fabric_rules
from topoopt.frontends.web.operators_estimate import estimated_job, estimated_times
from topoopt.frontends.web.question import Question, request_of_question
from topoopt.frontends.web.sentence import best_fabric, reason, sentence
from topoopt.frontends.web.transformer_estimate import contenders_of, least_time_s, on_fabric
from topoopt.frontends.web.worth import Worth, terms_of, terms_words
from topoopt.pricing import DEFAULT_PRICES, LINK_TECHNOLOGIES, Pricing, pricing_of
from topoopt.search import is_transformer
from topoopt.topologies import moore_average_hops

DEFAULT_TECHNOLOGY = next(iter(LINK_TECHNOLOGIES))


@dataclass(frozen=True, slots=True)
class _Known:
    """What a kind of job says of itself and of each fabric; all else of an answer is the same for all kinds.

    Attributes
    ----------
    times : function of rules
        The closed form of each fabric, by the key of its rule.
    """

    kind: str
    job: str
    cluster: ClusterSpec
    samples: float
    tokens: float | None
    bound_s: float
    bound_words: str
    times: Callable[[tuple[FabricRule, ...]], Mapping[str, ClosedForm]]


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
    known = (_transformer if is_transformer(request_of_question(question)) else _operators)(question)
    cluster, pricing = known.cluster, _pricing(question)
    rules, skipped = fabric_rules(cluster, pricing)
    terms = terms_of(question, cluster)
    worth = Worth(cluster, pricing, terms, known.samples, known.tokens)
    times = known.times(rules)
    answer = StudioAnswer(
        question,
        known.kind,
        known.job,
        cluster.total_accelerators,
        cluster.accelerator,
        "sample" if known.tokens is None else "token",
        known.samples if known.tokens is None else known.tokens,
        known.bound_s,
        known.bound_words,
        pricing.name,
        terms_words(terms),
        tuple(worth.of(_row(rule, times[rule.key]), rule) for rule in rules),
        _sketch(cluster),
        skipped=skipped,
    )
    best = best_fabric(answer)
    answer = replace(answer, best=best.fabric)
    return replace(answer, sentence=sentence(answer, best), reason=reason(answer, best))


def _row(rule: FabricRule, form: ClosedForm) -> FabricEstimate:
    return FabricEstimate(
        rule.fabric,
        rule.key,
        NAMES[rule.key],
        rule.label,
        rule.server_bandwidth_bps,
        form.iteration_time_s,
        form.most_time_s,
        form.parts_s,
        form.configuration,
    )


def _transformer(question: Question) -> _Known:
    found = contenders_of(question)
    cluster = replace(
        found.training.cluster, degree=question.degree, link_bandwidth_bps=question.bandwidth_bps
    )
    training = replace(found.training, cluster=cluster)
    here = replace(found, training=training)
    return _Known(
        "transformer",
        training.model.name,
        cluster,
        float(training.global_batch),
        float(training.global_batch * training.model.sequence),
        least_time_s(here),
        "the fastest split if servers reached each other in no time",
        lambda rules: {rule.key: on_fabric(here, rule) for rule in rules},
    )


def _operators(question: Question) -> _Known:
    found = estimated_job(question)
    return _Known(
        "operators",
        found.job.name,
        found.job.cluster,
        float(found.job.global_batch),
        None,
        found.bound_s,
        "the fastest of these splits if servers reached each other in no time",
        lambda rules: estimated_times(found, rules),
    )


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
