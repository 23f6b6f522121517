"""Estimates: the few contenders are as good as all configurations, and the figures go together."""

import pytest

import topoopt
from topoopt.base.errors import Infeasible, InvalidInput
from topoopt.frontends.web import FabricEstimate, StudioAnswer, answer_question, question_of


def answer(**words: object) -> StudioAnswer:
    return answer_question(question_of(words))


def row(found: StudioAnswer, rule: str) -> FabricEstimate:
    return next(one for one in found.fabrics if one.rule == rule)


@pytest.mark.parametrize("bandwidth_gbps", [25, 100, 400, 1600])
@pytest.mark.parametrize(("model", "servers"), [("llama3-8b", 4), ("mixtral-8x7b", 8)])
def test_on_one_switch_it_is_the_best_of_all_configurations(
    model: str, servers: int, bandwidth_gbps: int
) -> None:
    """The oracle ranks every configuration for this very network; the page keeps a few for all networks."""
    found = answer(model=model, servers=servers, degree=8, bandwidth=f"{bandwidth_gbps}Gbps")
    accelerators = 8 * servers
    ranked = topoopt.llm.search(
        model, accelerators=accelerators, accelerators_per_server=8, bandwidth=f"{bandwidth_gbps}Gbps", top=1
    )
    fastest_s = float(ranked.times.iteration_time_s.min())
    assert row(found, "ideal-switch").iteration_time_s == pytest.approx(
        fastest_s, rel=0.011
    )  # a percent: headroom


@pytest.mark.parametrize("model", ["llama3-8b", "mixtral-8x7b", "dlrm"])
def test_the_figures_of_an_answer_go_together(model: str) -> None:
    found = answer(model=model, servers=8, degree=4, bandwidth="100Gbps")
    assert {one.rule for one in found.fabrics} >= {"topoopt", "rail", "ideal-switch"}
    for one in found.fabrics:
        assert sum(one.parts_s.values()) == pytest.approx(one.iteration_time_s, rel=1e-9)
        assert found.bound_s <= one.iteration_time_s * (1 + 1e-9) <= one.most_time_s * (1 + 2e-9)
    assert found.front
    priced = [one for one in found.fabrics if one.cost_usd is not None]
    cheapest = min(priced, key=lambda one: (one.cost_usd, one.iteration_time_s))
    assert found.front[0] is cheapest
    assert found.best in {one.fabric for one in found.fabrics}
    assert found.job in found.sentence


@pytest.mark.parametrize("model", ["llama3-8b", "dlrm"])
def test_more_bandwidth_is_never_slower_on_switches(model: str) -> None:
    times_s = [
        row(
            answer(model=model, servers=8, degree=4, bandwidth=f"{gbps}Gbps"), "ideal-switch"
        ).iteration_time_s
        for gbps in (50, 100, 200, 400)
    ]
    assert times_s == sorted(times_s, reverse=True)


def test_what_goes_from_all_to_all_is_relayed_and_rings_are_not() -> None:
    """A dense model's rings have links of their own; the experts of a mixture reach all servers."""
    dense = answer(model="llama3-8b", servers=32, degree=4, bandwidth="400Gbps")
    assert row(dense, "topoopt").iteration_time_s == row(dense, "ideal-switch").iteration_time_s
    mixture = answer(model="deepseek-v3", servers=128, degree=4, bandwidth="400Gbps")
    assert row(mixture, "topoopt").iteration_time_s > row(mixture, "ideal-switch").iteration_time_s


def test_an_unknown_price_stays_unknown_and_says_why() -> None:
    found = answer(model="dlrm", servers=8, degree=4, bandwidth="1.6Tbps", prices="2022")
    own = row(found, "topoopt")
    assert own.cost_usd is None
    assert own.note
    assert found.to_json()["fabrics"][0]["cost_usd"] is None


def test_a_server_price_is_spread_over_the_hours_that_train() -> None:
    """4 servers of 100 k$ in one year at full use, with nothing else: 400 k$ over 8,760 h, and by tokens."""
    words = {"model": "llama3-8b", "servers": 4, "degree": 4, "bandwidth": "100Gbps", "prices": "2022"}
    free = {
        "years": 1,
        "utilization": 1,
        "electricity_price": 0,
        "interest": 0,
        "colocation": 0,
        "maintenance": 0,
    }
    cheap, dear = (row(answer(**words, **free, server_price=usd), "topoopt") for usd in (0, 100e3))
    assert cheap.cost_usd is not None
    assert dear.usd_per_hour is not None
    assert cheap.usd_per_hour == pytest.approx(cheap.cost_usd / 8760)
    assert dear.usd_per_hour == pytest.approx((cheap.cost_usd + 400e3) / 8760)
    found = answer(**words, **free, server_price=100e3)
    tokens_per_hour = found.units * 3600 / dear.iteration_time_s
    assert dear.usd_per_unit == pytest.approx(dear.usd_per_hour / tokens_per_hour)
    known = [one.usd_per_unit for one in found.fabrics if one.usd_per_unit is not None]
    assert next(one for one in found.fabrics if one.fabric == found.best).usd_per_unit == min(known)


def test_no_answer_is_an_error_of_the_house() -> None:
    with pytest.raises(Infeasible, match="does not fit"):
        answer(model="llama3-405b", servers=2)
    with pytest.raises(InvalidInput, match="years: expected a number above 0"):
        answer(model="llama3-8b", servers=4, years=0)
    with pytest.raises(InvalidInput, match="degree"):
        answer(model="llama3-8b", servers=2, degree=99)
