"""The fields of the page: what each word may be, its range, and what it is, from the vocabulary of the house."""

from typing import Any

from topoopt.catalog import accelerators
from topoopt.frontends.web.question import Question, known_models
from topoopt.pricing import LINK_TECHNOLOGIES, PRICE_TABLES
from topoopt.schema.words import QuestionWords, described
from topoopt.workloads.transformer import TRANSFORMERS

SERVERS = (2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
BANDWIDTHS_GBPS = (25, 50, 100, 200, 400, 800, 1600)
MOST_PORTS = 16
"""Of a slider; a field of numbers takes more."""


def page_fields(first: Question, files: frozenset[str]) -> dict[str, Any]:
    """Return the fields of the page, the models and parts that can be chosen, and what it opens with."""
    return {
        "first": first.words,
        "texts": {word.name: word.text for word in described(QuestionWords)},
        "models": {
            "files": sorted(files),
            "transformers": [*TRANSFORMERS],
            "operators": [name for name in known_models() if name not in TRANSFORMERS],
        },
        "accelerators": [part.name.lower() for part in accelerators()],
        "prices": [*PRICE_TABLES],
        "link_technology": [*LINK_TECHNOLOGIES],
        "stops": {
            "servers": [*SERVERS],
            "degree": [*range(1, MOST_PORTS + 1)],
            "bandwidth": [f"{each}Gbps" for each in BANDWIDTHS_GBPS],
        },
    }
