"""Every accelerator of the catalogue whose rates are known has step times and memory."""

import pytest

from topoopt.catalog import accelerators
from topoopt.transformers import (
    Configuration,
    configuration_table,
    estimate,
    find_calibration,
    memory,
    usual_system,
)
from topoopt.workloads.transformer import find_transformer

NETWORK_BPS = 400e9  # where the catalogue has none


@pytest.mark.parametrize("name", [part.name for part in accelerators()])
def test_an_iteration_takes_its_time(name: str) -> None:
    part = next(part for part in accelerators() if part.name == name)
    precision = "bf16" if not part.peaks or "bf16" in part.peaks else "fp16"
    one = Configuration(1, 1, 8, 64, 2048, zero=3, precision=precision)
    table, model = configuration_table([one]), find_transformer("llama3.2-1b")
    system = usual_system(
        name,
        scale_up_bandwidth_bps=part.scale_up_bandwidth_bps or NETWORK_BPS,
        network_bandwidth_bps=part.nic_bandwidth_bps or NETWORK_BPS,
    )
    times = estimate(model, table, system, find_calibration(name))
    reached = float(times.model_flops[0] / times.iteration_time_s[0])
    peak = part.peaks.get(precision, 989e12)
    assert 0.05 * peak < reached < peak
    assert memory(model, table, name).total[0] > 1e9


def test_a_faster_relative_is_faster() -> None:
    one, model = Configuration(4, 1, 2, 64, 4096), find_transformer("llama3-8b")
    table = configuration_table([one])

    def seconds(name: str) -> float:
        return float(estimate(model, table, usual_system(name), find_calibration(name)).iteration_time_s[0])

    assert seconds("h20") > 3 * seconds("h100")
    assert seconds("mi355x") < seconds("mi325x") < seconds("mi300x")
    assert seconds("tpu-v7") < seconds("tpu-v6e")
