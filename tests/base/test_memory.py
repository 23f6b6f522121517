"""What would not fit is refused before it is allocated."""

import resource

import pytest

from topoopt.base.errors import Infeasible
from topoopt.base.limits import available_bytes, refuse_too_large


def test_a_petabyte_is_refused_and_a_megabyte_is_not() -> None:
    refuse_too_large("servers 2", 1e6, "use fewer")
    with pytest.raises(
        Infeasible, match=r"servers 9: needs 909 TiB of memory, and .* are left here; use fewer"
    ):
        refuse_too_large("servers 9", 1e15, "use fewer")


def test_the_limit_of_the_process_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (2**30, 2**30))
    assert available_bytes() < 2**30
