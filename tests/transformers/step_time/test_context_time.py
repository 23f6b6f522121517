"""What context parallel ranks wait for, against the volumes and rates by hand."""

from dataclasses import replace

import numpy as np
import pytest

from topoopt.transformers import Configuration, System, configuration_table, estimate, find_calibration
from topoopt.transformers.step_time.collective_time import pipelined_s
from topoopt.workloads.transformer import TransformerModel, find_transformer

MODEL = find_transformer("llama3-8b")
SYSTEM = System("h100", 8, 3.6e12, 400e9)
CALIBRATION = replace(find_calibration("h100"), straggling=0.0, collective_latency_s=1e-6)
LONG = Configuration(tp=8, pp=1, dp=1, cp=4, global_batch=8, sequence=131072, sequence_parallel=True)
START_S = 1e-6 + 14e-6 + 1e-6
"""Of a collective over the network: its start, NCCL's latency of a step, a hop."""


def wait_s(one: Configuration, model: TransformerModel = MODEL, system: System = SYSTEM) -> float:
    return float(estimate(model, configuration_table([one]), system, CALIBRATION).cp_s[0])


def network_s(size_bytes: float) -> float:
    return size_bytes / (400e9 / 8 * CALIBRATION.network_efficiency)


def test_exchanges_take_their_volume_over_the_network() -> None:
    """32 layers, 8 micro-batches, two passes: of 32768 tokens 4 heads of queries and outputs, 4 repeated of keys."""
    volume = 2 * 32768 * 128 * (4 + 4 + 4 + 4)
    expected = 32 * 8 * 2 * (network_s(volume * 3 / 4) + 4 * START_S)
    assert wait_s(replace(LONG, context="ulysses")) == pytest.approx(expected)


def test_all_gathers_take_their_volume_over_the_network() -> None:
    """One head of keys and one of values a rank: 131072·2·128·2 bytes, gathered twice and scattered once."""
    gather_s = pipelined_s(3 * START_S - 2e-6, network_s(131072 * 2 * 128 * 2 * 3 / 4))
    assert wait_s(replace(LONG, context="all-gather")) == pytest.approx(32 * 8 * 3 * gather_s)


def test_a_ring_hides_behind_a_long_sequence_and_the_others_do_not() -> None:
    assert wait_s(LONG) == 0
    short = replace(LONG, sequence=4096, cp=2)
    assert wait_s(short) > 0
    assert wait_s(replace(LONG, cp=1, dp=4, context="ulysses")) == 0


@pytest.mark.parametrize(("keys", "gathered", "exchanged"), [(8, 24, 80), (128, 384, 128)])
def test_few_heads_of_keys_make_all_gathers_cheap(keys: int, gathered: int, exchanged: int) -> None:
    """Llama 3, section 3.3.2, 128 heads on tp 8, cp 4. Heads on the wire of a rank: gathered keys and values of four
    ranks thrice, or twice 16 heads of queries and outputs, and at least four of keys and values."""
    model = replace(MODEL, heads=128, kv_heads=keys)
    slow = replace(SYSTEM, network_bandwidth_bps=1e9)  # so that starts do not count
    ways = [wait_s(replace(LONG, context=how), model, slow) for how in ("all-gather", "ulysses")]
    assert ways[0] / ways[1] == pytest.approx(gathered / exchanged, rel=0.05)


def test_a_ring_over_servers_leaves_each_by_all_its_links() -> None:
    """tp 2, cp 8: four members on each of two servers; every hop crosses once, over the links of four."""
    slow = replace(SYSTEM, network_bandwidth_bps=4e9)
    one = Configuration(tp=2, pp=1, dp=1, cp=8, global_batch=1, sequence=8192)
    core = wait_s(replace(one, cp=1), system=slow)
    assert core == 0
    keys = 8192 * 2 * 4 * 128 * 2
    around = network_s(keys * 7 / 8 / 4) * 100
    assert wait_s(one, system=slow) == pytest.approx(32 * 3 * around, rel=0.05)


def test_ways_may_differ_by_row() -> None:
    rows = [replace(LONG, context=how) for how in ("ring", "ulysses", "all-gather")]
    together = estimate(MODEL, configuration_table(rows), SYSTEM, CALIBRATION).cp_s
    assert np.allclose(together, [wait_s(row) for row in rows])
