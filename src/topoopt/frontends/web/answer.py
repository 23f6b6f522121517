"""Immediate answer to a question: every fabric in closed form, priced, with a sentence of recommendation.

For a transformer, all configurations are evaluated once, and the few that may win on any network are kept.

The time of a configuration falls with the bandwidth between servers. So those are kept that no other beats both on
a nearly ideal network and on a slow one; these few are evaluated again whenever ports, bandwidth or fabric change,
which takes milliseconds.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from topoopt.base.answers import fields_of
from topoopt.base.arrays import Floats
from topoopt.base.errors import InvalidInput
from topoopt.catalog import ClusterSpec
from topoopt.finder import select_permutations
from topoopt.frontends.web.closed_form import (
    ClosedForm,
    FabricRule,
    estimated_job,
    estimated_times,
    fabric_rules,
)
from topoopt.frontends.web.estimate import FabricEstimate, Sketch, StudioAnswer, best_fabric, reason, sentence
from topoopt.frontends.web.question import RUNNING, Question, machines_of, request_of_question
from topoopt.jobs import in_its_place
from topoopt.plans import unbeaten
from topoopt.pricing import (
    DEFAULT_PRICES,
    LINK_TECHNOLOGIES,
    RUNNING_WORDS,
    Iteration,
    OwnershipTerms,
    Pricing,
    Running,
    known_price,
    ownership,
    pricing_of,
    server_price,
    usual_running,
)
from topoopt.search import TrainingRequest, is_transformer, ranked_configurations, training_request
from topoopt.topologies import moore_average_hops
from topoopt.transformers import (
    Calibration,
    ConfigurationTable,
    StepTimes,
    calibration_quality,
    estimate,
    find_loads,
    in_short,
    system_of,
    weighed_s,
)

FREE_BPS = 1e18
"""Bandwidth of an ideal network."""
SLOW = 64.0
"""Slowdown of the slowest network that counts, relative to the requested one."""
USUAL_BPS = 400e9
"""Bandwidth per accelerator around which configurations are ranked."""
PARTS = ("compute_s", "bubble_s", "tp_s", "cp_s", "ep_s", "pp_s", "dp_s")


@dataclass(frozen=True, eq=False, slots=True)
class Contenders:
    """The configurations that may be the fastest on some network, with all that their time depends on."""

    training: TrainingRequest
    calibration: Calibration
    table: ConfigurationTable
    memory_bytes: Floats
    capacity_bytes: float

    def times(self, network_bandwidth_bps: float) -> StepTimes:
        """Return the times of all where an accelerator reaches other servers with so much."""
        training = self.training
        system = replace(system_of(training.cluster), network_bandwidth_bps=network_bandwidth_bps)
        loads = find_loads(training.loads, training.model) if training.loads else None
        return estimate(training.model, self.table, system, self.calibration, loads)


@dataclass(frozen=True, slots=True)
class Worth:
    """Pricing of a fabric: hardware, price list and accounting, terms, and work per iteration."""

    cluster: ClusterSpec
    pricing: Pricing
    terms: OwnershipTerms
    samples: float
    tokens: float | None = None

    def of(self, row: FabricEstimate, rule: FabricRule) -> FabricEstimate:
        """Return a row with its price; unknown costs stay None, and are listed in the row."""
        size = self.cluster.servers, rule.interfaces, rule.bandwidth_bps
        network = known_price(rule.network.name, *size, self.pricing)
        iteration = Iteration(row.iteration_time_s, self.samples, self.tokens)
        owned = ownership(self.terms, self.cluster.servers, network, iteration)
        missing = f"unknown: {', '.join(owned.unknown)}" if owned.unknown else ""
        return replace(
            row,
            **network.columns,
            owned_usd=owned.total_usd,
            usd_per_hour=owned.usd_per_hour,
            network_usd_per_hour=owned.network_usd_per_hour,
            usd_per_unit=owned.usd_per_token if self.tokens else owned.usd_per_sample,
            note="; ".join(filter(None, (network.note, missing))),
        )


DEFAULT_TECHNOLOGY = next(iter(LINK_TECHNOLOGIES))


@dataclass(frozen=True, slots=True)
class _Known:
    """Parts of an answer that depend on the kind of job.

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
    interval_share: float | None = None


@lru_cache(maxsize=512)
def answer_question(question: Question) -> StudioAnswer:
    """Return the answer to a question; answers are cached.

    Raises
    ------
    InvalidInput
        If a value is out of range, or values do not go together.
    Infeasible
        If no training configuration fits in memory.
    """
    known = (_transformer if is_transformer(request_of_question(question)) else _operators)(question)
    cluster, pricing = known.cluster, _pricing(question)
    rules, skipped = fabric_rules(cluster, pricing, known.tokens is not None)
    terms = terms_of(question, cluster)
    worth = Worth(cluster, pricing, terms, known.samples, known.tokens)
    times = known.times(rules)
    servers, degree = cluster.servers, cluster.degree
    try:
        strides = select_permutations(servers, degree, links=cluster.links)
    except InvalidInput:  # one duplex port: pairs
        strides = ()
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
        Sketch(servers, degree, strides, moore_average_hops(servers, degree)),
        skipped=skipped,
        interval_share=known.interval_share,
    )
    best = best_fabric(answer)
    answer = replace(answer, best=best.fabric)
    return replace(answer, sentence=sentence(answer, best), reason=reason(answer, best))


def _row(rule: FabricRule, form: ClosedForm) -> FabricEstimate:
    return FabricEstimate(
        rule.network.name,
        rule.size.description,
        rule.server_bandwidth_bps,
        rule.key,
        rule.label,
        form.iteration_time_s,
        form.most_time_s,
        form.parts_s,
        form.configuration,
        variant=rule.size.variant,
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
        calibration_quality(found.calibration).interval_share,
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


def terms_of(question: Question, cluster: ClusterSpec) -> OwnershipTerms:
    """Return running costs and server prices, with defaults for those that the question omits.

    Raises
    ------
    InvalidInput
        If a number is out of range.
    """
    given = {RUNNING_WORDS[word]: value for word, value in fields_of(question, *RUNNING).items()}
    said = {field: value for field, value in given.items() if value is not None}
    server = server_price(cluster.accelerator, cluster.accelerators_per_server, price=question.server_price)
    return OwnershipTerms(usual_running(said), server)


def terms_words(terms: OwnershipTerms) -> str:
    """Return a short description of the terms."""
    running, server = terms.running, terms.server
    price = "an unknown price" if server.usd is None else f"{server.usd / 1e3:,.0f} k$"
    return (
        f"{server.name} at {price}, {running.years:g} years, {running.utilization:.0%} in use, "
        f"{running.electricity_usd_per_kwh:g} $ a kWh{_capital(running)}"
    )


def _capital(running: Running) -> str:
    """Return interest, building and maintenance in short, and the excluded items."""
    said = {
        "{:.3g}% interest": running.interest_rate and 100 * running.interest_rate,
        "{:.4g} $ a kW and month": running.colocation_usd_per_kw_month,
        "{:.3g}% maintenance a year": running.maintenance_rate and 100 * running.maintenance_rate,
        "staff at {:,.0f} $ a year": running.staff_usd_per_year,
        "storage of {:,.0f} $": running.storage_usd,
    }
    words = [form.format(value) for form, value in said.items() if value]
    if running.left_out:
        words.append(f"without {' and '.join(running.left_out)}")
    return "".join(f", {one}" for one in words)


def contenders_of(question: Question) -> Contenders:
    """Return the configurations that may win; cached by hardware and batch.

    Raises
    ------
    InvalidInput
        If the model, the servers and the batch do not fit together.
    Infeasible
        If no configuration fits in memory.
    """
    return _contenders(replace(machines_of(question), degree=1, bandwidth_bps=USUAL_BPS))


def on_fabric(found: Contenders, rule: FabricRule) -> ClosedForm:
    """Return the best configuration on a fabric, and its time."""
    per_server, table = found.training.cluster.accelerators_per_server, found.table
    bandwidth_bps = rule.server_bandwidth_bps / per_server
    free, relayed = found.times(bandwidth_bps), found.times(bandwidth_bps / rule.relays)
    if rule.wires_rings:
        seconds = free.iteration_time_s + relayed.ep_s - free.ep_s
        shown = replace(free, ep_s=relayed.ep_s)
    else:  # rings of all servers pass no other server; those of a part of them do
        of_all = (table.pp == 1) & (table.ep == 1) & (table.tp * table.cp <= per_server)
        seconds = np.where(of_all, free.iteration_time_s, relayed.iteration_time_s)
        shown = replace(relayed, dp_s=np.where(of_all, free.dp_s, relayed.dp_s))
    best = int(np.argmin(weighed_s(seconds, found.memory_bytes, found.capacity_bytes)))
    parts = {name: float(getattr(shown, name)[best]) for name in PARTS}
    return ClosedForm(
        float(seconds[best]),
        float(relayed.iteration_time_s[best]),
        {name: part for name, part in parts.items() if part > 0},
        in_short(found.table.row(best)),
    )


def least_time_s(found: Contenders) -> float:
    """Return the time of the fastest configuration where servers reach each other in no time."""
    return float(found.times(FREE_BPS).iteration_time_s.min())


@lru_cache(maxsize=64)
def _contenders(question: Question) -> Contenders:
    request = request_of_question(question)
    with in_its_place(request):
        training = training_request(request)
        system = replace(system_of(training.cluster), network_bandwidth_bps=USUAL_BPS)
        ranked = ranked_configurations(training, replace(system, network_bandwidth_bps=FREE_BPS))
        loads = find_loads(training.loads, training.model) if training.loads else None
        slow = replace(system, network_bandwidth_bps=USUAL_BPS / SLOW)
        slow_s = estimate(training.model, ranked.table, slow, ranked.calibration, loads).iteration_time_s
        capacity = ranked.memory.capacity_bytes
        needed = ranked.memory.total
        rows = unbeaten(
            weighed_s(ranked.times.iteration_time_s, needed, capacity), weighed_s(slow_s, needed, capacity)
        )
        return Contenders(training, ranked.calibration, ranked.table.take(rows), needed[rows], capacity)
