"""``topoopt llm``: the verbs about transformers, one a file."""

from topoopt.cli.llm.group import llm as llm
