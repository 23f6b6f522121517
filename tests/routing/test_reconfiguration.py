"""The rule by which circuits change over time."""

from dataclasses import replace

import pytest

from topoopt.base.errors import InvalidInput
from topoopt.routing import Reconfiguration

OCS = Reconfiguration(4, 100e9, 1e-6, delay_s=0.01, live_s=0.04, first_change_s=0.001)


def test_changes_keep_their_beat() -> None:
    earliest = (0.0, 0.001, 0.0011, 0.051, 0.0511, 0.2)
    expected = [0.001, 0.001, 0.051, 0.051, 0.101, 0.201]
    assert [OCS.next_change_s(time) for time in earliest] == pytest.approx(expected)


def test_a_rule_that_never_changes_anything_has_no_next_change() -> None:
    for never in (replace(OCS, first_change_s=float("inf")), replace(OCS, live_s=float("inf"))):
        assert never.next_change_s(0.5) == float("inf")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("degree", 0),
        ("bandwidth_bps", 0.0),
        ("live_s", 0.0),
        ("delay_s", -1.0),
        ("latency_s", float("nan")),
        ("first_change_s", -1e-9),
    ],
)
def test_what_cannot_be_is_refused_by_name(field: str, value: float) -> None:
    with pytest.raises(InvalidInput, match=field):
        replace(OCS, **{field: value})  # type: ignore[arg-type]
