"""What a run trained: everything, or low-rank adapters of the rank that its row says or that its framework takes.

Where a row says LoRA and no rank, it is that of its source. NVIDIA's performance recipes of Megatron Bridge have rank
16 on the projections to queries, keys and values alone (``perf_recipes/llama``: ``target_modules = ["linear_qkv"]`` on
``llama3_70b_peft_config``, whose ``dim`` is 16); MLPerf's llama2_70b_lora has rank 16 on attention;
Hugging Face's PEFT has rank 8, there, too.
"""

import re
from typing import Any

from topoopt.measurements.training.columns import Row, meaning, switched_on, text

ADAPTED = r"\bq?(lora|peft|dora)\b|adapter"
WHOLE = r"\b(sft|full|fft|pre-?train\w*|fine-?tun\w*|cpt|none)\b"
"""What a column about the task says: adapters, or all weights."""

PLACES = ("framework", "source", "dataset", "note")


def adapter_fields(row: Row) -> dict[str, Any]:
    """Return the rank and the place of adapters that a row leaves to its framework; nothing where all is trained."""
    column = text(row, "lora").lower()
    if column.isdecimal() and int(column) > 1:
        return {"adapter_rank": int(column)}
    if (
        column
        and not re.search(ADAPTED, column)
        and (re.search(WHOLE, column) or not switched_on(row, "lora", True))
    ):
        return {"adapter_rank": 0}
    said = f"{text(row, 'model')} {text(row, 'note')}".lower()
    if not (column or re.search(r"\bq?lora\b", said)) or text(row, "adapter_rank"):
        return {}
    words = " ".join(text(row, place) for place in PLACES).lower()
    rank, adapters = (meaning("lora", words) or meaning("lora", "peft")).split()
    return {"adapter_rank": int(rank), "adapters": adapters}
