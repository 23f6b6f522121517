"""``topoopt llm``: the verbs about transformers, one a file."""

from topoopt.frontends.cli.llm.group import LLM_VERBS as LLM_VERBS
from topoopt.frontends.cli.llm.group import llm as llm
