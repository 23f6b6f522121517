"""A configuration that does not fit says by how much, what takes most, and the cheapest change."""

from typing import Any

import pytest

import topoopt
from topoopt.transformers import Estimate


def of(model: str, **words: Any) -> Estimate:
    return topoopt.llm.estimate(model, **{"zero": 0, "sequence_parallel": False, **words})


def test_sharing_out_the_optimizer_is_named_before_anything_that_costs_time() -> None:
    found = of("llama3-8b", accelerators=8, tp=1, global_batch=8, recompute="full")
    assert not found.fits
    assert found.largest_cause == "optimizer"
    assert found.missing_bytes == found.memory.total[0] - found.memory.capacity_bytes
    assert found.remedy is not None
    assert found.remedy.changes["zero"] == 1


def test_the_change_makes_it_fit_in_the_time_that_is_named() -> None:
    words: dict[str, Any] = {"accelerators": 64, "tp": 8, "pp": 2, "global_batch": 128, "recompute": "none"}
    remedy = of("llama3-70b", **words).remedy
    assert remedy is not None
    assert str(remedy) == "--zero 1 --sequence-parallel"
    changed = of("llama3-70b", **{**words, **remedy.changes})
    assert changed.fits
    assert changed.remedy is None
    assert changed.missing_bytes == 0
    assert changed.iteration_time_s == pytest.approx(remedy.iteration_time_s)
    assert changed.memory.total[0] == pytest.approx(remedy.total_bytes)


def test_where_nothing_helps_there_is_none() -> None:
    assert of("llama3.1-405b", accelerators=8, tp=8).remedy is None


def test_the_published_formula_has_a_remedy_too() -> None:
    found = of("llama3-70b", accelerators=64, tp=8, pp=2, global_batch=128, estimator="apnet24")
    assert found.remedy is not None
    assert found.to_json()["remedy"]["changes"].keys() <= {
        "tp",
        "pp",
        "dp",
        "zero",
        "sequence_parallel",
        "recompute",
    }


def test_nothing_is_left_to_a_host_whose_link_nobody_has_published() -> None:
    """What does not fit is said, and no word is refused that nobody gave."""
    found = of("llama-65b", accelerator="gaudi2", accelerators=8, tp=2, zero=1, recompute="full")
    assert not found.fits
    assert found.remedy is None or not {"offload_optimizer", "offload_activations"} & set(
        found.remedy.changes
    )
