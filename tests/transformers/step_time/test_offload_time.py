"""What is kept in the memory of the host is waited for, as far as nothing hides it."""

from dataclasses import replace

import numpy as np
import pytest

from topoopt.base.errors import InvalidInput
from topoopt.transformers import Configuration, configuration_table, find_calibration, usual_system
from topoopt.transformers.step_time.case import Case, case_of
from topoopt.transformers.step_time.collective_time import Machine
from topoopt.transformers.step_time.offload import offloaded_layer_s, offloaded_step_s
from topoopt.workloads.transformer import find_transformer

ONE = Configuration(tp=1, pp=1, dp=8, global_batch=8, sequence=8192, offload_optimizer=0.5)


def case(one: Configuration, **machine: float) -> Case:
    made = case_of(
        find_transformer("llama3-8b"),
        configuration_table([one]),
        usual_system("h100"),
        find_calibration("h100"),
    )
    changed: Machine = replace(made.machine, **{key: np.array(value) for key, value in machine.items()})
    return replace(made, machine=changed)


def test_gradients_go_down_and_weights_come_up_over_pcie() -> None:
    """Half of 10^9 parameters, 4 bytes down and 2 up, at 63 GB/s."""
    assert offloaded_step_s(case(ONE), np.array([1e9]))[0] == pytest.approx(0.5 * 6e9 / 63e9)
    assert not offloaded_step_s(case(replace(ONE, offload_optimizer=0.0)), np.array([1e9])).any()


def test_activations_wait_only_for_what_computing_does_not_hide() -> None:
    """A layer of Llama 3 8B keeps 4 x 4096, 2 x 5120 x ... numbers a token: 139 KB, 1.14 GB of 8,192 tokens."""
    numbers = 4 * 4096 + (32 + 8) * 2 * 128 + 3 * 14336
    one_way = 2 * 8192 * numbers / 63e9
    whole = case(replace(ONE, offload_activations=1.0))
    found = offloaded_layer_s(whole, np.array([0.5 * one_way]), np.array([2 * one_way]))
    assert found[0] == pytest.approx(0.5 * one_way)


def test_an_unknown_link_is_said() -> None:
    unknown = case(replace(ONE, offload_activations=1.0), host_bytes_per_s=np.nan)
    with pytest.raises(InvalidInput, match="offload_activations: the catalogue has no rate"):
        offloaded_layer_s(unknown, np.array([1.0]), np.array([1.0]))
