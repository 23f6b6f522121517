"""The search finds what fits and is fastest, and says why the others are not."""

import re
from dataclasses import replace

import numpy as np
import pytest

from topoopt.base.errors import Infeasible, InvalidInput
from topoopt.transformers import (
    ConfigurationSearch,
    SearchRequest,
    System,
    configuration_table,
    estimate,
    find_calibration,
    memory,
    search_configurations,
    weighed_s,
)
from topoopt.workloads.transformer import find_transformer

SYSTEM = System("a100-80gb", 8, 2.4e12, 200e9)
CALIBRATION = find_calibration("a100-80gb")
GPT3 = SearchRequest(find_transformer("gpt3-175b"), 1024, SYSTEM, 1536, 2048, {})


@pytest.fixture(scope="module")
def gpt3() -> ConfigurationSearch:
    return search_configurations(GPT3, CALIBRATION)


def test_every_row_fits_and_has_the_memory_and_time_that_it_has_alone(gpt3: ConfigurationSearch) -> None:
    assert len(gpt3.table) == gpt3.feasible == len(gpt3.times) == len(gpt3.tokens_per_s)
    assert gpt3.memory.fits.all()
    for index in (0, gpt3.feasible // 2, gpt3.feasible - 1):
        alone = configuration_table([gpt3.table.row(index)])
        assert memory(GPT3.model, alone, "a100-80gb").total[0] == gpt3.memory.total[index]
        seconds = estimate(GPT3.model, alone, SYSTEM, CALIBRATION).iteration_time_s[0]
        assert seconds == pytest.approx(gpt3.times.iteration_time_s[index])


def test_rows_are_in_the_order_of_time_up_to_a_thousandth(gpt3: ConfigurationSearch) -> None:
    times = gpt3.times.iteration_time_s
    weighed = weighed_s(times, gpt3.memory.total, gpt3.memory.capacity_bytes)
    assert (weighed[1:] > weighed[:-1] / 1.001).all()
    assert (times[1:] > times[:-1] / 1.012).all()
    assert gpt3.tokens_per_s[0] == pytest.approx(1536 * 2048 / times[0])
    assert 0.2 < gpt3.mfu[0] < 0.8


def test_rows_that_take_the_same_time_are_in_the_order_of_memory(gpt3: ConfigurationSearch) -> None:
    times = gpt3.times.iteration_time_s
    same = np.flatnonzero(times[1:] == times[:-1])
    assert (gpt3.memory.total[same + 1] >= gpt3.memory.total[same]).all()


def test_variants_of_a_row_come_after_it(gpt3: ConfigurationSearch) -> None:
    best = gpt3.best(10)
    keys = [
        (one.tp, one.pp, one.dp, one.cp, one.vpp, one.micro_batch)
        for one in (gpt3.table.row(int(index)) for index in best)
    ]
    assert len(set(keys)) == len(best) == 10
    assert list(gpt3.best(10, variants=True)) == list(range(10))


def test_what_does_not_fit_is_counted_by_its_reason(gpt3: ConfigurationSearch) -> None:
    assert gpt3.feasible + sum(gpt3.too_large.values()) == gpt3.valid
    assert all(gpt3.too_large.values())


def test_what_is_fixed_is_kept() -> None:
    found = search_configurations(
        replace(GPT3, fixed={"tp": 8, "pp": 8, "recompute": "full", "sequence_parallel": True}), CALIBRATION
    )
    rows = [found.table.row(index) for index in range(found.feasible)]
    assert {(one.tp, one.pp, one.recompute, one.sequence_parallel) for one in rows} == {(8, 8, "full", True)}


def test_a_degree_that_does_not_divide_is_answered_with_the_nearest() -> None:
    with pytest.raises(InvalidInput, match=r"tp 7: does not divide 96 heads; nearest: 6, 8"):
        search_configurations(replace(GPT3, fixed={"tp": 7}), CALIBRATION)


def test_a_batch_that_does_not_divide_is_answered_with_the_nearest() -> None:
    with pytest.raises(InvalidInput, match=r"global_batch 1535: .* nearest: 1024, 2048$"):
        search_configurations(replace(GPT3, global_batch=1535, fixed={"pp": 1, "tp": 1}), CALIBRATION)


def test_where_nothing_fits_the_nearest_and_a_remedy_are_said() -> None:
    with pytest.raises(Infeasible) as caught:
        search_configurations(replace(GPT3, accelerators=8, global_batch=64), CALIBRATION)
    message = str(caught.value)
    assert "does not fit on 8 A100-SXM4-80GB: the smallest of" in message
    assert re.search(r"GiB too much \(optimizer: \d+ GiB\); 64 accelerators would suffice", message)
    assert "\n" not in message


def test_one_accelerator_of_more_memory_is_named_where_it_would_do() -> None:
    model = find_transformer("llama3-8b")
    asked = SearchRequest(model, 1, replace(SYSTEM, accelerators_per_server=1), 1, 4096, {})
    with pytest.raises(Infeasible, match=r"or as many \S+ \(\d+ GiB\)"):
        search_configurations(asked, CALIBRATION)


def test_experts_are_searched_over_all_their_degrees() -> None:
    asked = SearchRequest(find_transformer("mixtral-8x7b"), 64, SYSTEM, 256, 4096, {})
    found = search_configurations(asked, CALIBRATION)
    assert len(set(found.table.ep)) > 1
    assert found.table.ep[0] > 1


def test_what_is_fixed_and_does_not_fit_names_the_cheapest_change() -> None:
    """Of all single releases of what is fixed the fastest that fits is named, with its value and its time."""
    request = replace(GPT3, fixed={"tp": 8, "pp": 1, "recompute": "none", "zero": 0})
    with pytest.raises(Infeasible) as caught:
        search_configurations(request, CALIBRATION)
    match = re.search(
        r"the cheapest change is pp (\d+) instead of 1 \((.*?) an iteration\)", str(caught.value)
    )
    assert match is not None
    released = search_configurations(
        replace(request, fixed={"tp": 8, "recompute": "none", "zero": 0}), CALIBRATION
    )
    assert int(match[1]) in set(released.table.pp[:5])
