"""Racks of 72 accelerators: what lies inside has the scale-up rate, and what spans them is timed as it lies."""

import numpy as np
import pytest

from topoopt.catalog import find_accelerator
from topoopt.transformers import (
    Configuration,
    accelerators_of_a_server,
    configuration_table,
    estimate,
    find_calibration,
    usual_system,
)
from topoopt.transformers.step_time.collective_time import Links, machine_of, pipelined_s
from topoopt.workloads.transformer import find_transformer

GB200 = find_accelerator("gb200")


@pytest.mark.parametrize(
    ("accelerators", "of_a_rack"),
    [
        (None, 72),
        (256, 64),
        (512, 64),
        (144, 72),
        (720, 72),
        (64, 64),
        (8, 8),
        (96, 48),
        (1024, 64),
        (257, 72),
    ],
)
def test_a_job_has_equal_parts_of_racks(accelerators: int | None, of_a_rack: int) -> None:
    assert accelerators_of_a_server(GB200, accelerators) == of_a_rack


def test_a_server_of_eight_stays_one() -> None:
    assert accelerators_of_a_server(find_accelerator("h100"), 12) == 8


def links(accelerators: int, per_server: int | None = None) -> Links:
    system = usual_system("gb200", per_server, accelerators=accelerators)
    return Links(machine_of(system), find_calibration("gb200"), np.array([accelerators]))


def test_groups_inside_a_rack_have_the_rate_of_its_links() -> None:
    size, one = np.array([64.0]), np.ones(1)
    inside = links(256)
    assert spread(inside, 64) == (64, 64)
    # All-gather of a gigabyte: 63 of 64 parts at 900 GB/s, as far as collectives reach that.
    reached = 900e9 * find_calibration("gb200").scale_up_efficiency
    start_s = float(inside.gather_s(size, one, np.zeros(1))[0])
    gather_s = float(inside.gather_s(size, one, np.array([1e9]))[0])
    assert gather_s == pytest.approx(pipelined_s(start_s, 1e9 * 63 / 64 / reached))


def test_groups_over_racks_are_timed_in_two_levels() -> None:
    size, one, gigabyte = np.array([256.0]), np.ones(1), np.array([1e9])
    over = links(256)
    calibration = find_calibration("gb200")
    inner = 63 / 64 / (900e9 * calibration.scale_up_efficiency)
    outer = (256 / 64 - 1) / 256 / (50e9 * calibration.network_efficiency)
    start_s = float(over.gather_s(size, one, np.zeros(1))[0])
    assert float(over.gather_s(size, one, gigabyte)[0]) == pytest.approx(
        pipelined_s(start_s, 1e9 * max(inner, outer))
    )


def spread(links: Links, size: float, stride: float = 1) -> tuple[float, float]:
    most, fewest = links.spread(np.array([size]), np.array([stride]))
    return float(most[0]), float(fewest[0])


def test_groups_that_do_not_divide_a_rack_lie_half_in_the_next() -> None:
    assert spread(links(144, 72), 16) == (8, 8)
    assert spread(links(144, 72), 8) == (8, 8)
    assert spread(links(72, 72), 16) == (16, 16)  # there is no other rack


@pytest.mark.parametrize(
    ("accelerators", "size", "stride", "expected"),
    [
        (9, 9, 1, (8, 1)),
        (12, 12, 1, (8, 4)),
        (24, 12, 1, (8, 4)),  # the second group has 4 and 8
        (12, 3, 4, (2, 1)),
        (12, 6, 1, (4, 2)),  # the second group has 2 and 4
        (16, 16, 1, (8, 8)),
        (16, 2, 8, (1, 1)),
        (24, 8, 3, (2, 2)),
    ],
)
def test_a_group_has_fewest_ranks_in_a_server_that_it_fills_partly(
    accelerators: int, size: int, stride: int, expected: tuple[float, float]
) -> None:
    system = usual_system("a100", accelerators=accelerators)
    links = Links(machine_of(system), find_calibration("a100"), np.array([accelerators]))
    assert spread(links, size, stride) == expected


@pytest.mark.parametrize(("accelerators", "share"), [(9, 8 / 9), (12, 8 / 12 / 4), (16, 8 / 16 / 8)])
def test_a_partly_filled_server_receives_over_its_own_nics(accelerators: int, share: float) -> None:
    """Its ranks have what the others have not: an all-gather and, of what each rank has for all, an all-to-all."""
    system = usual_system("a100", network_bandwidth_bps=100e9, accelerators=accelerators)
    calibration = find_calibration("a100")
    links = Links(machine_of(system), calibration, np.array([accelerators]))
    size, one, gigabyte = np.array([float(accelerators)]), np.ones(1), np.array([1e9])
    network_s = 1e9 * share / (12.5e9 * calibration.network_efficiency)
    inner_s = 1e9 * 7 / 8 / (system.scale_up_bandwidth_bps / 8 * calibration.scale_up_efficiency)
    start_s = float(links.gather_s(size, one, np.zeros(1))[0])
    gather_s = float(links.gather_s(size, one, gigabyte)[0])
    assert gather_s == pytest.approx(pipelined_s(start_s, max(network_s, inner_s)))
    away = min(8, accelerators - 8) * share  # of what one rank has, over its own NIC
    assert float(links.exchange_s(size, one, gigabyte)[0]) >= 1e9 * away / 12.5e9


def test_experts_over_a_rack_are_far_quicker_than_over_servers_of_eight() -> None:
    model = find_transformer("deepseek-v3")
    table = configuration_table([Configuration(1, 4, 64, 2048, 4096, ep=64)])
    waits = [
        float(estimate(model, table, usual_system("gb200", size), find_calibration("gb200")).ep_s[0])
        for size in (64, 8)
    ]
    assert 3 * waits[0] < waits[1]
