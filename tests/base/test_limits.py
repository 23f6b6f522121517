"""Numbers that no machine could mean are refused where they come in."""

import pytest

from topoopt.base.errors import InvalidInput, shown
from topoopt.base.limits import finite, whole


@pytest.mark.parametrize("value", [1, 10**6 + 1, 2**63, 10**5000, 2.5, "3", True, None], ids=shown)
def test_what_is_no_number_of_servers(value: object) -> None:
    with pytest.raises(InvalidInput, match=r"servers: expected an integer [<>]="):
        whole("servers", value, 2)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf"), 1e31, 1e-300])
def test_what_no_arithmetic_stands(value: float) -> None:
    with pytest.raises(InvalidInput, match="load: expected"):
        finite("load", value)
