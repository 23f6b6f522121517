"""A served model on fabrics in closed form: the published orderings, and splits that are tried."""

import pytest

from topoopt.inference import EngineSettings, Parallelism, PublishedOrdering, published_orderings
from topoopt.inference.fabric_deployments import contenders, splits
from topoopt.workloads.transformer import find_transformer


@pytest.fixture(scope="module")
def published() -> dict[str, PublishedOrdering]:
    return {one.what: one for one in published_orderings()}


@pytest.mark.long
@pytest.mark.reproduction
def test_published_orderings_come_out_or_are_explained(published: dict[str, PublishedOrdering]) -> None:
    """Network-aware routers gain on 64 accelerators and not on two servers (arXiv 2606.03910, llm-d-router #2315)."""
    switchless = [one for what, one in published.items() if what.startswith("tokens a dollar, topoopt")]
    assert switchless[0].ours > 0  # less than published, as its explanation says
    aware = {
        (servers, fidelity): published[
            f"mean first token, choosing decode by the network, {servers} servers, {fidelity}"
        ]
        for servers in (8, 2)
        for fidelity in ("closed form", "simulated")
    }
    for fidelity in ("closed form", "simulated"):
        assert aware[8, fidelity].ours < -10
        assert aware[2, fidelity].ours == pytest.approx(0.0, abs=0.1)
    for one in published.values():
        assert one.low <= one.ours <= one.high or one.explanation


@pytest.mark.long
@pytest.mark.reproduction
def test_deepseeks_deployment_comes_out_near_what_is_published_and_says_where_time_goes(
    published: dict[str, PublishedOrdering],
) -> None:
    found = {what: one for what, one in published.items() if one.unit == "tokens/s"}
    assert len(found) == 5
    for one in found.values():
        assert 0.65 < one.ours / one.low < 1.75
        assert "constant" in one.explanation
    reads = next(one for what, one in found.items() if "reads computed" in what)
    hits = next(one for what, one in found.items() if "cache hits" in what)
    assert hits.ours == pytest.approx(reads.ours / (1 - 0.563))
    assert hits.low == pytest.approx(
        reads.low / (1 - 0.563), rel=1e-3
    )  # published figures agree with each other
    answers = [one for what, one in found.items() if "answers" in what]
    assert all(abs(one.ours / one.low - 1) < 0.15 for one in answers)


def test_splits_divide_heads_and_experts() -> None:
    for model in map(find_transformer, ("llama3-70b", "deepseek-v3", "mixtral-8x7b")):
        found = list(splits(model, 32))
        assert len(set(found)) == len(found)
        for one in found:
            assert model.heads % one.tensor == 0
            assert one.accelerators <= 32
            assert one.attention_data == 1 or model.experts is not None
    assert Parallelism(1, 1, 32, 32) in splits(find_transformer("deepseek-v3"), 32)


def test_without_splits_there_are_no_contenders() -> None:
    assert contenders([], 8, EngineSettings(), 5)[0] == []
