"""The noun NotSearched: a published way of training that a search does not look at, and why."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class NotSearched:
    """A published way of training this model, which is not among the configurations that were ranked.

    Attributes
    ----------
    name : str
        Its degrees in short, with the replicas that there are accelerators for.
    source : str
        Who published it.
    model, accelerator : str
        What it was published for.
    accelerators : int
        How many it was published for.
    precision : str
        Of its matrix products, as published.
    because : mapping
        By cause (``batch``, ``accelerators``, ``sequence``, ``divisibility``, ``limits``, ``schedule``, ``recompute``,
        ``zero``, ``words``, ``fixed``, ``memory``) what rules it out, in a line.
    give : mapping
        Words with which it is searched, and fits; empty where there are none.
    """

    name: str
    source: str
    model: str
    accelerator: str
    accelerators: int
    precision: str
    because: Mapping[str, str]
    give: Mapping[str, Any]

    def to_mapping(self) -> dict[str, Any]:
        """Return the fields as plain values."""
        fields = {name: getattr(self, name) for name in self.__slots__}
        return {**fields, "because": dict(self.because), "give": dict(self.give)}
