"""What became of a served model: how long its sends and its answers took beside others, and alone."""

from collections.abc import Mapping

import numpy as np

from topoopt.base.arrays import Floats
from topoopt.clusters.distribution import distribution
from topoopt.clusters.result import AnswerTime, IterationTime, ServedAnswers, ServedRecord
from topoopt.clusters.served.watched import WatchedSends
from topoopt.clusters.served.words import ServingPart
from topoopt.inference import Objectives, Service, answer_times

NO_LIMIT_S = 1e15
"""Of an objective that nobody has said."""


def served_record(
    sends: WatchedSends, load: float, service: Service | None, words: ServingPart
) -> ServedRecord:
    """Return the record of a served model.

    Parameters
    ----------
    load
        The longest that its sends took of a cycle's time.
    service
        None where nobody knows how long answers take.
    """
    answers = None if service is None else _answers(sends, service, words)
    return ServedRecord(sends_time(sends.beside), sends_time(sends.alone), load, answers)


def _answers(sends: WatchedSends, service: Service, words: ServingPart) -> ServedAnswers:
    """Return how long answers took; exchanges of a step take as much longer as they were seen to, on the mean."""
    steady_s, steady_alone_s = sends_time(sends.steady).mean, sends_time(sends.steady_alone).mean
    slowness = max(steady_s / steady_alone_s, 1.0) if steady_alone_s else 1.0
    alone = answer_times(service, sends.requests_alone, 1.0)
    same = slowness == 1.0 and sends.requests == sends.requests_alone
    beside = alone if same else answer_times(service, sends.requests, slowness)
    said = words.slo_ttft is not None or words.slo_tpot is not None
    objectives = Objectives(words.slo_ttft or NO_LIMIT_S, words.slo_tpot or NO_LIMIT_S)
    met, met_alone = (float(objectives.met(*times).mean()) if said else None for times in (beside, alone))
    (ttft, tpot), (ttft_alone, tpot_alone) = (tuple(map(_spread, times)) for times in (beside, alone))
    assert ttft is not None
    assert ttft_alone is not None
    return ServedAnswers(ttft, ttft_alone, tpot, tpot_alone, met, met_alone, service.overloaded)


def _spread(times_s: Floats) -> AnswerTime | None:
    """Return mean and percentiles; None where no request has such a time."""
    known = times_s[~np.isnan(times_s)]
    if not len(known):
        return None
    return AnswerTime(float(known.mean()), *np.percentile(known, (50, 90, 99)).tolist())


def sends_time(weights: Mapping[float, float]) -> IterationTime:
    """Return mean and tail of seconds that count differently; 0 where nothing was sent."""
    if not weights:
        return IterationTime(0.0, 0.0)
    found = distribution(list(weights), list(weights.values()))
    return IterationTime(found.mean, found.p99)
