"""The cell of a trace that says what load a served model has, and how it is split."""

import shlex
from typing import Annotated

from pydantic import ConfigDict, Field

from topoopt.base.errors import InvalidInput, shown
from topoopt.schema.files import Positive, Strict, TimeText, validated

_Degree = Annotated[int, Field(ge=1, le=10**5)]
_Tokens = Annotated[float, Field(ge=1, le=10**7)]


class ServingPart(Strict):
    """Load and split of a served model."""

    model_config = ConfigDict(title="What serving says in a trace")

    rate: Positive = Field(description="Requests a second, of all users together.")
    isl: _Tokens = Field(description="Mean tokens of a prompt.")
    osl: _Tokens = Field(description="Mean tokens of an answer.")
    spread: Annotated[float, Field(ge=0, le=100)] = Field(
        default=0.0, description="Standard deviation over mean of lengths, which are lognormal; 0: all alike."
    )
    prefill_servers: Annotated[int, Field(ge=0, le=10**6)] = Field(
        default=0, description="Servers that read prompts only; 0: all read prompts and answer."
    )
    tensor: _Degree | None = Field(
        default=None,
        description="Tensor parallelism of a replica; the accelerators of a server where not given.",
    )
    expert: _Degree = Field(default=1, description="Expert parallelism.")
    attention_data: _Degree = Field(default=1, description="Copies of attention in a replica.")
    weights: str = Field(default="bf16", description="Precision of weights.")
    kv: str = Field(default="bf16", description="Precision of keys and values.")
    engine: str = Field(
        default="", description="Whose measured constants are taken; those of vLLM where not given."
    )
    slo_ttft: TimeText | None = Field(
        default=None, description="First tokens have to come so soon, such as 2s."
    )
    slo_tpot: TimeText | None = Field(
        default=None, description="Further tokens have to come so fast on average, such as 50ms."
    )


def serving_of_text(text: str, place: str) -> ServingPart:
    """Return the words of a cell, such as ``rate=8 isl=2000 osl=300 prefill_servers=2``.

    Raises
    ------
    InvalidInput
        For an unknown word, one that stands twice or is missing, or a value that it cannot have.

    Examples
    --------
    >>> serving_of_text("rate=8 isl=2000 osl=300", "serving").rate
    8.0
    """
    said: dict[str, str] = {}
    for part in shlex.split(text.replace("'", "").replace('"', "")):
        word, _, value = part.partition("=")
        if not word or not value:
            raise InvalidInput(f"{place}: expected words such as rate=8, got {shown(part)}")
        if word in said:
            raise InvalidInput(f"{place}: {word} stands twice; leave one out")
        said[word] = value
    return validated(ServingPart, said, place)
