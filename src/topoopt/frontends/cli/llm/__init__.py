"""``topoopt llm``: the verbs about transformers, one a file."""

from topoopt.frontends.cli.groups import LLM_VERBS as LLM_VERBS
from topoopt.frontends.cli.groups import llm as llm
