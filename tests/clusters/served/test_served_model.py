"""What a served model sends: the bytes of its load, and sends that take as long as their bytes need."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topoopt.base.errors import InvalidInput
from topoopt.catalog import ClusterSpec
from topoopt.clusters import PlacedJob, shared_fabric, shared_pace
from topoopt.clusters.served_model import QUIET, pair_rates, served_model
from topoopt.finder import FabricRequest
from topoopt.inference import cache_bytes_per_token
from topoopt.simulation import COMPUTE, TRANSFER
from topoopt.workloads.transformer import find_transformer

CLUSTER = ClusterSpec(4, 2, 400e9, accelerators_per_server=8, accelerator="h100")
LOAD = "rate=10 isl=4000 osl=300 prefill_servers=2"


@given(rate=st.floats(0.5, 40.0), tokens=st.integers(16, 20_000), prefill=st.integers(1, 3))
@settings(max_examples=20)
def test_a_cycle_carries_the_keys_and_values_of_its_requests(rate: float, tokens: int, prefill: int) -> None:
    words = f"rate={rate} isl={tokens} osl=10 prefill_servers={prefill}"
    served = served_model("llama3-70b", words, CLUSTER, 0)
    sends = served.graph.kind == TRANSFER
    each = tokens * cache_bytes_per_token(find_transformer("llama3-70b"))
    cycle_s = served.graph.duration_s[0]
    assert served.graph.size_bytes[sends].sum() == pytest.approx(each * round(rate * cycle_s), rel=1e-6)
    assert pair_rates(served.traffic).sum() == pytest.approx(each * rate, rel=1e-6)


def test_all_that_is_sent_begins_within_the_cycle() -> None:
    graph = served_model(
        "deepseek-v3", f"{LOAD} tensor=1 attention_data=16 expert=16 weights=fp8", CLUSTER, 0
    ).graph
    assert graph.kind[0] == COMPUTE
    assert (graph.duration_s[1:] <= (1 - QUIET) * graph.duration_s[0]).all()
    assert len(graph) > 100


def test_a_pool_inside_each_server_sends_nothing() -> None:
    graph = served_model("llama3-70b", "rate=10 isl=4000 osl=300", CLUSTER, 0).graph
    assert not (graph.kind == TRANSFER).any()


def test_a_send_that_is_alone_takes_its_bytes_over_the_bandwidth() -> None:
    served = served_model("llama3-70b", "rate=0.5 isl=4000 osl=10 prefill_servers=2", CLUSTER, 0)
    fabric = shared_fabric("ideal-switch", FabricRequest(4, 2, 400e9))
    (times,) = shared_pace(fabric)([PlacedJob("chat", served.graph, (0, 1, 2, 3), spread=True)])
    each_s = 4000 * 327_680 * 8 / 800e9
    assert min(times.sends.requests.samples_s) == pytest.approx(each_s, rel=1e-4)
    assert np.median(times.sends.requests.samples_s) == pytest.approx(each_s, rel=1e-4)
    assert times.mean_s == pytest.approx(served.graph.duration_s[0])


def test_sends_of_two_models_over_one_link_share_it_and_the_cycle_stays() -> None:
    served = served_model("llama3-70b", LOAD, CLUSTER, 0)
    fabric = shared_fabric("ideal-switch", FabricRequest(4, 2, 100e9))
    alone = shared_pace(fabric)([PlacedJob("a", served.graph, (0, 1, 2, 3), spread=True)])[0]
    both = shared_pace(fabric)([PlacedJob(name, served.graph, (0, 1, 2, 3), spread=True) for name in "ab"])
    assert all(1 < times.sends.requests.mean_s / alone.sends.requests.mean_s < 3 for times in both)
    assert all(times.mean_s == pytest.approx(alone.mean_s, rel=0.05) for times in both)


@pytest.mark.parametrize(
    ("model", "words", "message"),
    [
        ("llama3-405b", LOAD, "weights an accelerator leave no room"),
        ("llama3-70b", "rate=1 isl=10 osl=10 prefill_servers=4", "prefill_servers: expected 0 to 3"),
        ("llama3-70b", "rate=1 isl=10 osl=10 tensor=64", "does not fit 4 servers of 8"),
    ],
)
def test_what_cannot_be_served_is_one_line(model: str, words: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=message) as error:
        served_model(model, words, CLUSTER, 0)
    assert "\n" not in str(error.value)
