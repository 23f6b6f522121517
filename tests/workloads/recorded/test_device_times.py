"""What an iteration takes beside the network: kernels worked out by hand, and plans that are made of them."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import topoopt
from tests.workloads.recorded.logs import event, trace
from topoopt.plans import plan_from_mapping, plan_to_mapping
from topoopt.workloads.recorded import DeviceTimes, read_recording, recorded_times
from topoopt.workloads.recorded.recording import iteration_times

EXAMPLE = Path(__file__).parents[3] / "examples" / "recorded" / "rank0.trace.json"
NOTHING = np.zeros((0, 2))


def times_of(compute: Any, sent: Any, span_s: float) -> DeviceTimes:
    groups = tuple((members, np.array(kernels, float)) for members, kernels in sent)
    return DeviceTimes(np.array(compute, float).reshape(-1, 2), groups, span_s)


def test_the_example_computes_beside_half_of_what_it_sends() -> None:
    """A step of 10 ms: kernels of 6 ms, an AllReduce inside of the server of 1 ms between them, 4 ms between servers.

    Of these 2 ms run beside a kernel; 1 ms passes with nothing. On another network all but the other 2 ms stays.
    """
    recording = read_recording(str(EXAMPLE))
    found = recorded_times(recording, 4)
    assert found is not None
    assert (found.compute_s, found.hidden_share, found.exposed_s) == pytest.approx((8e-3, 0.5, 2e-3))
    # two accelerators in a server: the group of four sends between servers, too, and its 1 ms nothing hides
    crossing = recorded_times(recording, 2)
    assert crossing is not None
    assert (crossing.compute_s, crossing.hidden_share) == pytest.approx((7e-3, 2 / 5))


def test_the_slowest_accelerator_paces_and_all_share_what_is_hidden() -> None:
    quick = times_of([(0, 2)], [((0, 1), [(1, 2)])], 4)
    slow = times_of([(0, 3), (2, 5)], [((), [(5, 7)])], 8)
    found = iteration_times([quick, slow], (0, 1), 2)
    assert found is not None
    # 1 s of 1 s is hidden on the one, 0 of 2 s on the other, who has 8 - 2 s beside the network
    assert (found.compute_s, found.hidden_share, found.exposed_s) == pytest.approx((3.0, 1 / 3, 1.0))


def test_without_kernels_there_are_no_times(tmp_path: Path) -> None:
    assert iteration_times((), (0, 1), 1) is None
    assert iteration_times([times_of(NOTHING, [], 0.0)], (0, 1), 1) is None
    path = tmp_path / "rank0.json"
    path.write_text(json.dumps(trace(0, 8, {"0": range(8)}, [event("allreduce", "0", nelems=9)])))
    assert recorded_times(read_recording(str(path)), 4) is None


KERNELS = st.lists(st.tuples(st.floats(0, 9), st.floats(0, 3)), max_size=6)


@settings(max_examples=40)
@given(compute=KERNELS, inside=KERNELS, between=KERNELS)
def test_what_is_counted_adds_up_to_the_time_that_was_recorded(
    compute: list[tuple[float, float]], inside: list[tuple[float, float]], between: list[tuple[float, float]]
) -> None:
    rows = [[(begin, begin + length) for begin, length in one] for one in (compute, inside, between)]
    device = times_of(
        rows[0],
        [((0, 1), np.array(rows[1]).reshape(-1, 2)), ((0, 2), np.array(rows[2]).reshape(-1, 2))],
        12.0,
    )
    found = iteration_times([device], (0, 0, 1), 1)
    assert found is not None
    assert found.compute_s + found.exposed_s == pytest.approx(12.0)
    assert 0 <= found.hidden_share <= 1


def test_a_plan_takes_as_long_as_its_computation_and_what_cannot_hide() -> None:
    """Ports of 100 Gb/s hide half of it behind 8 ms; for 1 Mb/s that is too short, and all is waited for."""
    words: Any = {"accelerators_per_server": 4, "fabrics": ()}
    fast, slow = (topoopt.plan(str(EXAMPLE), bandwidth=rate, **words) for rate in ("100Gbps", "1Mbps"))
    sent_s = 2 * 3 / 4 * 16 * 131_072 * 8 / 400e9  # a ring of four: 2·(k-1)/k of the bytes out of each server
    assert fast.outcome.iteration_time_s == pytest.approx(8e-3 + sent_s / 2, abs=3e-5)
    # headers of packets come to 9 %
    assert 1e5 * sent_s < slow.outcome.iteration_time_s < 1.1e5 * sent_s


def test_a_plan_file_keeps_the_times() -> None:
    plan = topoopt.plan(str(EXAMPLE), accelerators_per_server=4, fabrics=())
    again = plan_from_mapping(json.loads(json.dumps(plan_to_mapping(plan))))
    assert again.simulate("analytic").iteration_time_s == pytest.approx(plan.outcome.iteration_time_s)
