"""Words and arguments of the wrong kind are refused by every verb, in one line that says what is expected."""

from collections.abc import Callable, Sequence
from operator import attrgetter
from pathlib import Path
from typing import Any, Unpack

import numpy as np
import pytest

import topoopt
from topoopt.base.errors import InvalidInput
from topoopt.schema.words import JobWords, checked_arguments


@checked_arguments
def verb(
    model: str | Path,
    *,
    fabrics: Sequence[str] | None = None,
    ends: str | tuple[int, int] = "3-4",
    on_progress: Callable[[str], None] = print,
    **words: Unpack[JobWords],
) -> str:
    """Do nothing."""
    return str(model)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ({"servers": "8"}, 'servers: expected an integer, got "8"'),
        ({"servers": True}, "servers: expected an integer, got true"),
        ({"servers": [8]}, r"servers: expected an integer, got \[8\]"),
        ({"servers": None}, "servers: expected an integer, got null"),
        ({"bandwidth": ["1Gbps"]}, "bandwidth: expected text or a number, got"),
        ({"variant": 16}, "variant: expected text, got 16"),
        ({"set": "tables=8"}, 'set: expected a mapping from text, got "tables=8"'),
        ({"set": {3: 4}}, 'set: expected a mapping from text, got {"3": 4}'),
        ({"fabrics": "torus"}, 'fabrics: expected a list of text, got "torus"'),
        ({"fabrics": [3]}, r"fabrics: expected a list of text, got \[3\]"),
        ({"ends": (3, 4, 5)}, r"ends: expected text or a list of integers, got \[3, 4, 5\]"),
        ({"on_progress": 3}, "on_progress: expected a function, got 3"),
        ({"model": object()}, "model: expected text or a Path, got an object"),
        ({"fabric": ["torus"]}, 'word: unknown name "fabric"; did you mean fabrics'),
    ],
)
def test_what_is_no_such_thing_is_refused(words: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InvalidInput, match=f"^{sentence}"):
        verb(**{"model": "dlrm", **words})


def test_what_comes_from_arrays_is_a_number_and_a_list() -> None:
    ends: Any = np.array([3, 4])
    fabrics: Any = {"torus"}
    servers: Any = np.int64(8)
    assert verb("dlrm", servers=servers, bandwidth=10**11, ends=ends, fabrics=fabrics) == "dlrm"


@pytest.mark.parametrize(
    ("name", "arguments", "words", "sentence"),
    [
        ("plan", (3,), {}, "model: expected text or a path or"),
        ("plan", ("dlrm",), {"cluster": 4}, "cluster: expected a file or a ClusterSpec, got 4"),
        ("plan", ("dlrm",), {"seed": "x"}, "seed: expected an integer"),
        ("simulate", ("plan.json",), {"simulator": 3}, "simulator: expected text, got 3"),
        ("plan", ("dlrm",), {"seed": 2**80}, "seed: expected an integer <= 9007199254740992, got 120"),
        ("plan", ("dlrm",), {"budget": 2**80}, "budget: expected an integer <= 100000000, got 120"),
        ("llm.search", ("llama3-8b",), {"max_vpp": 10**12}, "max_vpp: expected an integer <= 1000, got"),
        ("topology", ("16", 4), {}, 'servers: expected an integer, got "16"'),
        ("topology", (16,), {"dgree": 4}, 'word: unknown name "dgree"; did you mean degree'),
        ("cost", (), {"servers": "many"}, "servers: expected an integer"),
        ("llm.estimate", ("llama3-8b",), {"tp": "2"}, "tp: expected an integer"),
        ("llm.search", ("llama3-8b",), {"top": "2"}, "top: expected an integer"),
        ("cluster.run", (), {"generate": 1}, "generate: expected True or False, got 1"),
        ("read_plan", (3,), {}, "path: expected text or a Path, got 3"),
        ("write_plan", ("plan", "plan.json"), {}, 'plan: expected a Plan, got "plan.json"'),
    ],
)
def test_every_door_looks(name: str, arguments: Any, words: Any, sentence: str) -> None:
    with pytest.raises(InvalidInput, match=f"^{sentence}"):
        attrgetter(name)(topoopt)(*arguments, **words)
