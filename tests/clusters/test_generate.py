"""Drawn traces have the mix, the load and the durations that were asked for."""

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from topoopt.base.errors import InvalidInput
from topoopt.clusters import DURATIONS, MIXES, GeneratorSettings, Trace, generate_trace, parse_mix
from topoopt.clusters.trace_generator import models_in_shares


def models(trace: Trace) -> Counter[str]:
    return Counter(job.model for job in trace.jobs)


def test_the_released_mix_of_fifty_jobs_is_that_of_the_authors_trace() -> None:
    trace = generate_trace(GeneratorSettings(jobs=50, mix=MIXES["released"]), 800)
    assert models(trace) == {"dlrm": 18, "bert": 21, "candle": 9, "vgg16": 2}


@given(st.dictionaries(st.sampled_from("abcd"), st.floats(0.01, 100), min_size=1), st.integers(0, 500))
def test_every_model_gets_its_share_to_within_one_job(mix: dict[str, float], count: int) -> None:
    models = Counter(models_in_shares(mix, count))
    assert sum(models.values()) == count
    for model, share in mix.items():
        assert abs(models[model] - share * count / sum(mix.values())) < 1 + 1e-9


def test_the_load_is_what_jobs_ask_for_over_what_there_is() -> None:
    """A month of arrivals: the offered load is within four standard errors."""
    settings = GeneratorSettings(load=0.7, horizon_s=30 * 86400.0, durations="fixed")
    trace = generate_trace(settings, 432)
    asked = sum(job.servers * job.duration_s for job in trace.jobs) / (432 * settings.horizon_s)
    assert asked == pytest.approx(0.7, rel=4 / np.sqrt(len(trace.jobs)))
    assert max(job.arrival_s for job in trace.jobs) < settings.horizon_s


@pytest.mark.parametrize(
    "settings", [GeneratorSettings(load=0.7, horizon_s=30 * 86400), GeneratorSettings(jobs=9000, load=0.7)]
)
def test_gaps_between_arrivals_are_those_of_a_poisson_process(settings: GeneratorSettings) -> None:
    """Mean and standard deviation of an exponential distribution are equal."""
    gaps_s = np.diff([job.arrival_s for job in generate_trace(settings, 432).jobs])
    expected_s = 16 * 3600 / (0.7 * 432)
    assert gaps_s.mean() == pytest.approx(expected_s, rel=0.05)
    assert gaps_s.std() == pytest.approx(expected_s, rel=0.08)


@pytest.mark.parametrize("durations", DURATIONS)
def test_durations_have_the_mean_asked_for(durations: str) -> None:
    settings = GeneratorSettings(jobs=40_000, durations=durations, mean_duration_s=600.0)
    long_s = np.array([job.duration_s for job in generate_trace(settings, 432).jobs])
    assert long_s.min() > 0
    assert long_s.mean() == pytest.approx(600.0, rel=4 * (long_s.std() / 600 + 1e-9) / np.sqrt(len(long_s)))


def test_all_at_once_and_equal_seeds() -> None:
    settings = GeneratorSettings(jobs=27)
    trace = generate_trace(settings, 432)
    assert {job.arrival_s for job in trace.jobs} == {0.0}
    assert trace == generate_trace(settings, 432)
    assert trace != generate_trace(GeneratorSettings(jobs=27, seed=1), 432)


def test_a_mix_is_a_name_or_shares() -> None:
    assert parse_mix("released") == MIXES["released"]
    assert parse_mix("dlrm=1, bert=3") == {"dlrm": 1.0, "bert": 3.0}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("dlrm=1,dlrm=2", "mix: dlrm stands twice; give it one share"),
        ("relased", 'mix: unknown name "relased"; did you mean released'),
        ("dlrm=many", 'mix: expected MODEL=SHARE such as dlrm=40, got "dlrm=many"'),
        ("dlrm=-1", "mix: dlrm: expected a share >= 0, got -1"),
    ],
)
def test_a_mix_that_is_none_is_refused(text: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        parse_mix(text)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({}, "jobs: say how many come at once, or by load"),
        ({"load": -1.0}, "load: expected a number > 0, such as 0.8, got -1"),
        ({"jobs": 3, "mix": {"dlmr": 1}}, 'unknown name "dlmr"'),
        ({"jobs": 3, "mix": {"dlrm": 0}}, "mix: expected shares >= 0, one of them > 0"),
        ({"jobs": 3, "durations": "normal"}, 'durations: unknown name "normal"'),
        ({"load": 1.0, "horizon_s": 0.0}, "horizon_s: expected seconds > 0, got 0"),
        ({"jobs": 3, "seed": -1}, "seed: must be >= 0"),
    ],
)
def test_settings_that_make_no_sense_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        GeneratorSettings(**changes)


def test_no_jobs_and_too_many_are_refused() -> None:
    with pytest.raises(InvalidInput, match="no job comes within the horizon of 1 s"):
        generate_trace(GeneratorSettings(load=0.01, horizon_s=1.0), 16)
    with pytest.raises(InvalidInput, match="take a shorter horizon or longer jobs"):
        generate_trace(GeneratorSettings(load=0.9, mean_duration_s=1e-3), 432)
