"""What a scheduler knows of a job: how far it is, and how fast it would be on so many workers."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Claim:
    """A job that has come and not ended.

    A worker is one server. Work is counted in iterations on as many workers as the job asks for.

    Attributes
    ----------
    job : str
    arrival_s : float
    workers : int
        That it asks for.
    least, most : int
        It runs on so many workers, or not at all.
    held : int
        Workers that it keeps whatever is decided now; 0 where all leases are over.
    work, left : float
        Iterations in all, and of these to do.
    rates_per_s : tuple of float
        Entry k: iterations of work in a second on k + 1 workers with links of their own, up to ``most``.
    efficiencies : tuple of float
        Entry k: what a sample on k + 1 workers is worth, over what it is worth on as many as the job asks for.
    """

    job: str
    arrival_s: float
    workers: int
    least: int
    most: int
    held: int
    work: float
    left: float
    rates_per_s: tuple[float, ...]
    efficiencies: tuple[float, ...]

    def choices(self, free: int) -> range:
        """Return how many more workers it can be given of so many free ones, besides none."""
        return range(max(self.least - self.held, 1), min(self.most - self.held, free) + 1)

    def progress_per_s(self, workers: int) -> float:
        """Return the iterations of work that it does in a second on so many workers, links of its own."""
        return self.rates_per_s[workers - 1] * self.efficiencies[workers - 1] if workers else 0.0

    @property
    def dedicated_s(self) -> float:
        """How long all of it takes on the workers that it asks for, with links of its own."""
        return self.work / self.progress_per_s(self.workers)
