"""Keys and values on their way between two servers: Mooncake's measured sizes and times beside ours."""

from collections.abc import Iterator

from topoopt.inference import cache_copies, measured_transfers, request_cache_bytes, transfer_law
from topoopt.plugins.papers.description import description
from topoopt.plugins.papers.figure import Comparison, Row
from topoopt.workloads.transformer import find_transformer

TEXT = description("serving")
TENSOR = 8
"""Accelerators of both replicas, in all of the rows."""
TEMPLATE_TOKENS = {"vllm": 14, "sglang": 0}
"""Tokens that the chat template of a run adds to its prompt."""


def transfer_rows() -> Iterator[tuple[Row, Comparison]]:
    """Yield the bytes and the seconds of every measured transfer."""
    for one in measured_transfers():
        model = find_transformer(one.model.lower())
        tokens = one.prompt_tokens + TEMPLATE_TOKENS[one.engine]
        ours = request_cache_bytes(model, tokens, "bf16", 1) * cache_copies(model, TENSOR)
        seconds = transfer_law(one.engine).transfer_s(one.kv_bytes / one.nominal_bytes_per_s)
        words = {"engine": one.engine, "model": one.model, "tokens": one.prompt_tokens}
        case = f"{one.engine}, {one.prompt_tokens} tokens"
        for name, quantity, value, measured in (
            ("kv_bytes", "bytes", ours, one.kv_bytes),
            ("kv_time", "seconds", seconds, one.transfer_s),
        ):
            yield (
                {
                    "part": "transfer",
                    "case": case,
                    "quantity": quantity,
                    "ours": value,
                    "published": measured,
                },
                TEXT.comparison(name, value, published=measured, **words),
            )
