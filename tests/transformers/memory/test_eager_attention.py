"""What PyTorch keeps around attention where values are a view of one product, against its own count."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.transformers.shapes import small_model
from topoopt.transformers import FRAMEWORKS, Configuration, configuration_table, layer_activations

HEADS, SIZE, SEQUENCE = 4, 16, 32
HIDDEN = HEADS * SIZE
ONE = Configuration(tp=1, pp=1, dp=1, global_batch=4, sequence=SEQUENCE)


def kept_by_pytorch(torch: Any, sequences: int) -> int:
    """Return the bytes that autograd keeps from the joint projection to the one of attention's output.

    The kernel in the middle keeps what the FlashAttention repository's does: its inputs as they came, its output and a
    number per head and token.
    """

    class Kernel(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(context: Any, query: Any, key: Any, value: Any) -> Any:
            out = (query + key + value).contiguous()
            context.save_for_backward(query, key, value, out, torch.zeros(out.shape[:2]))
            return out

        @staticmethod
        def backward(context: Any, gradient: Any) -> Any:
            return gradient, gradient, gradient

    half = {"dtype": torch.bfloat16, "requires_grad": True}
    x = torch.randn(sequences, SEQUENCE, HIDDEN, **half)
    into, back = torch.randn(3 * HIDDEN, HIDDEN, **half), torch.randn(HIDDEN, HIDDEN, **half)
    table = torch.randn(SEQUENCE, SIZE, dtype=torch.bfloat16)
    kept: dict[int, int] = {}

    def pack(tensor: Any) -> Any:
        storage = tensor.untyped_storage()
        kept[storage.data_ptr()] = storage.nbytes()
        return tensor

    def turned(part: Any) -> Any:
        sine, cosine = (table[:, None, None].repeat(1, sequences, 1, 1) for _ in range(2))
        left, right = part[..., : SIZE // 2], part[..., SIZE // 2 :]
        return part * cosine + torch.cat((-right, left), dim=-1) * sine

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        joint = torch.nn.functional.linear(x, into).view(sequences, SEQUENCE, HEADS, 3 * SIZE)
        query, key, value = joint.transpose(0, 1).split(SIZE, dim=-1)
        query, key = turned(query), turned(key)
        tokens = [one.transpose(0, 1).reshape(-1, HEADS, SIZE) for one in (query, key, value)]
        out = Kernel.apply(*tokens)
        by_head = out.view(sequences, SEQUENCE, HEADS, SIZE).permute(0, 2, 1, 3)
        by_head = by_head.reshape(sequences * HEADS, SEQUENCE, SIZE).view(sequences, HEADS, SEQUENCE, SIZE)
        torch.nn.functional.linear(by_head.permute(0, 2, 1, 3).reshape(sequences, SEQUENCE, HIDDEN), back)
    for parameter in (x, into, back):
        kept.pop(parameter.untyped_storage().data_ptr(), None)
    return sum(kept.values())


@pytest.mark.parametrize("sequences", [1, 2, 4])
def test_the_whole_product_stays_for_the_values_that_are_a_view_of_it(sequences: int) -> None:
    torch = pytest.importorskip("torch")
    model = replace(small_model(), hidden=HIDDEN, heads=HEADS, kv_heads=HEADS, head_dim=SIZE, ffn=1)
    table = configuration_table([replace(ONE, micro_batch=sequences)])
    fused = np.array([True])
    layer = layer_activations(model, table, False, fused, FRAMEWORKS["scaling"])
    around = (
        2 * layer.entry[0] + 2 * 2 * 1
    )  # what enters two norms, and the activation of the one inner column
    ours = float(layer.others[0] + layer.core[0] - around)
    assert kept_by_pytorch(torch, sequences) == sequences * SEQUENCE * ours


def test_it_is_two_copies_of_the_hidden_size_and_one_more_for_several_sequences() -> None:
    model = replace(small_model(), hidden=HIDDEN, heads=HEADS, kv_heads=HEADS, head_dim=SIZE)
    fused, rules = np.array([True]), FRAMEWORKS["scaling"]
    plain = replace(rules, joint_projection=False, reordered_output=False, rotary_tables=0.0)
    for sequences, copies in ((1, 2), (2, 3)):
        table = configuration_table([replace(ONE, micro_batch=sequences)])
        found = [layer_activations(model, table, False, fused, one).everything[0] for one in (rules, plain)]
        assert found[0] - found[1] == 2 * (copies * HIDDEN + 4 * SIZE)
