"""The table of steps: monotone, and refusing splits that a model does not have."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topoopt.base.errors import InvalidInput
from topoopt.inference import EngineSettings, Parallelism, step_table
from topoopt.workloads.transformer import find_transformer

MODELS = ("llama3-8b", "llama3-70b", "qwen3-30b-a3b", "deepseek-v3", "gpt-oss-120b")


@settings(max_examples=20)
@given(
    st.sampled_from(MODELS),
    st.sampled_from(("h100", "b200", "a100-80gb")),
    st.sampled_from((1, 2, 4, 8)),
    st.sampled_from(("vllm", "trtllm", "sglang", "")),
)
def test_steps_take_longer_with_more_requests_and_longer_prompts(
    name: str, accelerator: str, tensor: int, engine: str
) -> None:
    table = step_table(
        find_transformer(name), accelerator, Parallelism(tensor), EngineSettings("fp8", engine=engine)
    )
    for times in (table.base_s, table.prefill_base_s, table.head_s):
        assert (np.diff(times) >= 0).all()
        assert (times > 0).all()
    assert table.decode_s(8, 8 * 2000) > table.decode_s(8, 8 * 1000) > table.decode_s(4, 4 * 1000)
    assert table.prefill_s(4096) > table.prefill_s(2048)


def test_degrees_that_a_model_has_no_parts_for_are_refused() -> None:
    with pytest.raises(InvalidInput, match="tensor 3: does not divide 64 heads"):
        step_table(find_transformer("llama3-70b"), "h100", Parallelism(3))
    with pytest.raises(InvalidInput, match="expert 8: llama3-8b has no experts"):
        step_table(find_transformer("llama3-8b"), "h100", Parallelism(8, expert=8))
