"""KV capacities that engines logged at their start, beside those that are predicted."""

from pathlib import Path

import numpy as np
import pytest

from benchmarks.kv_capacity import BOUND, OUTSIDE, LoggedCapacity, capacity_text, logged_capacities
from topoopt.catalog import find_accelerator
from topoopt.inference import EngineSettings, Parallelism, cache_bytes, cache_capacity
from topoopt.workloads.transformer import find_transformer

ROWS = logged_capacities()
PAGE = Path(__file__).parents[2] / "docs" / "serving-accuracy.md"


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_logged_capacity_is_met_within_a_tenth_or_its_difference_is_known(row: LoggedCapacity) -> None:
    """The constants were chosen with these rows in sight."""
    assert (abs(row.error) > BOUND) == (row.name in OUTSIDE)


@pytest.mark.parametrize(("engine", "bound"), [("vllm", 0.03), ("sglang", 0.05), ("trtllm", 0.01)])
def test_the_mean_error_of_an_engine_is_small(engine: str, bound: float) -> None:
    errors = [abs(row.error) for row in ROWS if row.engine == engine]
    assert len(errors) >= 2
    assert np.mean(errors) < bound


def test_the_page_has_the_errors_of_today() -> None:
    assert capacity_text() in PAGE.read_text(encoding="utf-8")


def test_a_memory_share_means_what_its_engine_means() -> None:
    """Of 79.14 GiB: of all for vLLM; of what is free before weights for SGLang; of what is left for TensorRT-LLM."""
    model, part, split = find_transformer("llama3-70b"), find_accelerator("h100"), Parallelism(4)
    less, more = (
        {
            name: cache_bytes(model, part, split, EngineSettings("fp8", memory_share=share, engine=name))
            for name in names
        }
        for share, names in ((0.8, ("vllm", "sglang", "trtllm")), (0.9, ("vllm", "sglang", "trtllm")))
    )
    assert more["vllm"] - less["vllm"] == pytest.approx(0.1 * part.usable_memory_bytes)
    assert more["sglang"] - less["sglang"] == pytest.approx(0.1 * (79.14 - 2.2) * 2**30, rel=1e-4)
    assert more["trtllm"] / less["trtllm"] == pytest.approx(0.9 / 0.8)


def test_the_default_share_is_the_engines_own() -> None:
    shares = [EngineSettings(engine=name).share for name in ("vllm", "SGLang", "trtllm", "an unknown one")]
    assert shares == [0.92, 0.874, 0.9, 0.92]
    assert EngineSettings(engine="vllm", version="0.11.2").share == 0.9


def test_larger_steps_leave_less_for_caches() -> None:
    model, part = find_transformer("llama3-8b"), find_accelerator("h100")
    small, large = (
        cache_capacity(model, part, Parallelism(), EngineSettings(token_budget=tokens)).tokens
        for tokens in (8192, 65536)
    )
    assert large < small


def test_the_fullest_stage_of_a_pipeline_decides() -> None:
    """61 layers in 4 stages: 16 in the fullest, though a mean stage has 15.25."""
    model, part = find_transformer("deepseek-v3"), find_accelerator("h200")
    found = cache_capacity(model, part, Parallelism(4, 4), EngineSettings("fp8"))
    assert found.tokens == pytest.approx(found.bytes_per_accelerator / (16 * 576 * 2), rel=1e-4)
