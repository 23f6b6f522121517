"""Write a small trace of requests in Mooncake's format: chats that come back, each with a common system prompt."""

import json
from pathlib import Path

import numpy as np

BLOCK_TOKENS = 512
SYSTEM_BLOCKS = 2
"""Blocks that all prompts begin with."""
CHATS, TURNS = 60, 4
LENGTH_S = 60.0


def lines() -> list[dict[str, object]]:
    """Return requests by time; each turn of a chat repeats its turns before."""
    draw = np.random.default_rng(0)
    next_block = SYSTEM_BLOCKS
    found = []
    for _ in range(CHATS):
        time_s = float(draw.uniform(0, LENGTH_S / 2))
        blocks = list(range(SYSTEM_BLOCKS))
        for _ in range(TURNS):
            more = int(draw.integers(1, 4))
            blocks = [*blocks, *range(next_block, next_block + more)]
            next_block += more
            found.append(
                {
                    "timestamp": round(time_s * 1000),
                    "input_length": len(blocks) * BLOCK_TOKENS - int(draw.integers(0, BLOCK_TOKENS)),
                    "output_length": int(draw.integers(32, 256)),
                    "hash_ids": blocks,
                }
            )
            time_s += float(draw.exponential(LENGTH_S / 8))
    return sorted(found, key=lambda row: row["timestamp"])  # type: ignore[arg-type, return-value]


if __name__ == "__main__":
    path = Path(__file__).with_name("requests.jsonl")
    rows = lines()
    text = "".join(json.dumps(row) + "\n" for row in rows)
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")
    print(f"{len(rows)} requests in {path.name}")
