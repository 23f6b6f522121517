"""Laws of transfers, exchanges and waits: against the rows that they were fitted to, and closed forms."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from topoopt.base.errors import InvalidInput
from topoopt.inference import cache_bytes_per_token, cache_copies
from topoopt.inference.kv_transfer import exposed_s, transfer_law
from topoopt.inference.network.traffic import exchange_law
from topoopt.inference.queueing import place_wait_s, prompt_wait_s
from topoopt.schema.files import packaged_rows
from topoopt.workloads.transformer import find_transformer


@pytest.mark.parametrize(
    "row", packaged_rows("inference", "kv_transfers"), ids=lambda row: f"{row['engine']} {row['kv_bytes']}"
)
def test_published_transfers_come_out_within_7_percent(row: dict[str, str]) -> None:
    law = transfer_law(row["engine"])
    found = law.transfer_s(float(row["kv_bytes"]) / float(row["nominal_bytes_per_s"]))
    assert found == pytest.approx(float(row["transfer_s"]), rel=0.07)


def test_mooncakes_measured_sizes_follow_from_shapes_to_a_percent() -> None:
    small, large = find_transformer("qwen3-8b"), find_transformer("qwen3-235b-a22b")
    for row in packaged_rows("inference", "kv_transfers"):
        tokens = int(row["prompt_tokens"])
        if row["engine"] == "vllm":
            expected = cache_bytes_per_token(small) * (tokens + 14)  # of the chat template
        else:
            expected = cache_bytes_per_token(large) * cache_copies(large, 8) * tokens
        assert expected == pytest.approx(float(row["kv_bytes"]), rel=0.01)


def test_transfers_of_an_engine_without_rows_are_refused() -> None:
    with pytest.raises(InvalidInput, match="kv transfer engine"):
        transfer_law("nobody")


def test_deepeps_kernels_come_out_within_16_percent_and_6_on_average() -> None:
    law = exchange_law()
    assert law.error < 0.065
    assert law.base_s == pytest.approx(32e-6, rel=0.01)


def test_layer_by_layer_only_the_last_layer_and_what_outlasts_the_prompt_is_seen() -> None:
    assert exposed_s(0.5, 10.0, 50, by_layer=False, start_s=0.0) == 0.5
    assert exposed_s(0.5, 10.0, 50, by_layer=True, start_s=0.0) == pytest.approx(0.5 / 50)
    assert exposed_s(20.0, 10.0, 50, by_layer=True, start_s=0.0) == pytest.approx(20 / 50 + 10 * 49 / 50)


def test_waits_are_those_of_m_d_1_and_of_stages() -> None:
    service_s, rate = 2.0, 0.4
    assert service_s + prompt_wait_s(rate, service_s) == pytest.approx(3 * service_s)  # at 80 %
    two = service_s + rate * service_s**2 / (4 * (2 - rate * service_s))
    assert service_s + prompt_wait_s(rate, service_s, 2) == pytest.approx(two)
    assert prompt_wait_s(0.5, 2.0) == math.inf


@given(st.integers(1, 40), st.floats(0.01, 0.99))
def test_erlangs_c_by_its_sums(places: int, used: float) -> None:
    offered = places * used
    terms = [offered**one / math.factorial(one) for one in range(places)]
    last = offered**places / math.factorial(places) / (1 - used)
    waits = last / (sum(terms) + last)
    assert place_wait_s(places, offered, 2.0) == pytest.approx(waits * 2.0 / (places - offered), rel=1e-6)


def test_one_large_pool_waits_less_than_several_small_ones() -> None:
    waits = [place_wait_s(10 * pools, 9.0 * pools, 1.0) for pools in (1, 2, 4, 8)]
    assert (np.diff(waits) < 0).all()
    assert place_wait_s(4, 4.0, 1.0) == math.inf
    assert place_wait_s(4, 0.0, 1.0) == 0.0
