"""Who repairs: a robot begins at once, remote hands come last; spares grow with the cluster."""

import pytest

from topoopt.base.errors import InvalidInput
from topoopt.studies.failure import DEFAULT_RATES, USUAL_REPAIRER, repaired_by, repairers
from topoopt.studies.failure.failure_rates import KINDS


def test_a_robot_begins_before_a_person_and_remote_hands_last() -> None:
    begins = [repairers()[name].moves_begin_s for name in ("robot", "on-site", "remote-hands")]
    assert begins == sorted(begins)
    assert begins[0] == 0


@pytest.mark.parametrize("name", repairers())
def test_every_repairer_says_where_its_times_come_from_and_repairs_every_kind(name: str) -> None:
    who = repairers()[name]
    assert who.source
    assert who.confidence
    for kind in KINDS:
        assert who.repair_s(kind) > who.response_s


def test_the_usual_repairer_takes_as_long_as_the_default_rates() -> None:
    found = repaired_by(USUAL_REPAIRER, DEFAULT_RATES, 64)
    assert {kind: rate.repair_s for kind, rate in found.parts.items()} == {
        kind: rate.repair_s for kind, rate in DEFAULT_RATES.parts.items()
    }


def test_there_is_a_spare_for_every_64_servers() -> None:
    found = [repaired_by("robot", DEFAULT_RATES, servers).spare_servers for servers in (2, 64, 65, 4096)]
    assert found == [1, 1, 2, 64]


def test_a_name_that_nobody_has_is_refused() -> None:
    with pytest.raises(InvalidInput, match='repaired_by: unknown name "robbot"; did you mean robot'):
        repaired_by("robbot", DEFAULT_RATES, 8)
