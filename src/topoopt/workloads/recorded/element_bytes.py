"""Bytes of a number, by the names and numbers that NCCL and PyTorch have for its type."""

from collections.abc import Mapping

NCCL_BYTES: Mapping[int, int] = {0: 1, 1: 1, 2: 4, 3: 4, 4: 8, 5: 8, 6: 2, 7: 4, 8: 8, 9: 2, 10: 1, 11: 1}
"""By ``ncclDataType_t`` of ``nccl.h``: int8, uint8, int32, uint32, int64, uint64, half, float, double, bfloat16, and
the two of eight bits since NCCL 2.24."""

TORCH_BYTES: Mapping[str, int] = {
    **dict.fromkeys(("Bool", "Byte", "Char"), 1),
    **dict.fromkeys(
        ("Float8_e4m3fn", "Float8_e5m2", "Float8_e4m3fnuz", "Float8_e5m2fnuz", "Float8_e8m0fnu"), 1
    ),
    **dict.fromkeys(("Short", "UInt16", "Half", "BFloat16"), 2),
    **dict.fromkeys(("Int", "UInt32", "Float", "ComplexHalf"), 4),
    **dict.fromkeys(("Long", "UInt64", "Double", "ComplexFloat"), 8),
    "ComplexDouble": 16,
}
"""By the names of ``c10::ScalarType``, as PyTorch's profiler writes them."""
