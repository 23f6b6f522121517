"""The noun PublishedLayout: a way of training that somebody has published, beside the best that a search has found."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from topoopt.jobs.layout import Words, layout_name


@dataclass(frozen=True, slots=True)
class PublishedLayout:
    """A published way of training, with the replicas that a job has accelerators for, and its time there.

    Attributes
    ----------
    source : str
        Who published it.
    model, accelerator : str
        What it was published for.
    accelerators : int
        How many it was published for.
    precision : str
        Of its matrix products, as published; here they are in that of the job.
    configuration : mapping
        As used here, by the fields of :class:`topoopt.transformers.Configuration`; those as usual are left out.
    estimated_s : float
        Iteration time in closed form.
    best_s : float
        That of the fastest configuration that fits.
    memory_bytes : float
        On the fullest accelerator.
    fits : bool
    rank : int
        Place among the configurations that fit, the fastest first; that which it would have if it does not fit.
    compared : int
        Those configurations.
    faster_with : mapping
        Of one that is not among the first: what the fastest does otherwise, one after the other, and the share of the
        time that each saves.
    """

    source: str
    model: str
    accelerator: str
    accelerators: int
    precision: str
    configuration: Words
    estimated_s: float
    best_s: float
    memory_bytes: float
    fits: bool
    rank: int
    compared: int
    faster_with: Mapping[str, float] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The degrees in short."""
        return layout_name(self.configuration)

    @property
    def over_best(self) -> float:
        """By what share it takes longer than the fastest; below 0 where it varies what the search does not."""
        return self.estimated_s / self.best_s - 1

    def to_mapping(self) -> Mapping[str, object]:
        """Return the fields, the name and the difference as plain values."""
        fields = {name: getattr(self, name) for name in self.__slots__}
        return {
            **fields,
            "configuration": dict(self.configuration),
            "faster_with": dict(self.faster_with),
            "name": self.name,
            "over_best": self.over_best,
        }
