"""What every part of a plan file is made of: counts, amounts, and parts that refuse unknown keys."""

from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field

LARGEST: Final = 2**53
"""Counts and bytes up to here are exact in every JSON reader."""
Count = Annotated[int, Field(ge=0, le=LARGEST)]
Number = Annotated[int, Field(ge=1, le=LARGEST)]
Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class Strict(BaseModel):
    """A part of the file; unknown keys are refused."""

    model_config = ConfigDict(extra="forbid")
