"""The noun GradientChoice: what a plan tried to sum gradients up faster."""

from dataclasses import dataclass

from topoopt.schema.files import Amount, Count


@dataclass(frozen=True, slots=True)
class GradientChoice:
    """Iteration times of the plan's strategy with other buckets and other algorithms, everything else as it is.

    Attributes
    ----------
    bucket_times_s : tuple of (int, float)
        Bytes of a bucket (0: an AllReduce for every tensor) and the time, by rings; empty where the size was given.
    rings_s : float, optional
        With rings in place of an algorithm for each message; None where these were not asked for.
    by_message_s : float, optional
        With an algorithm for each message, which the plan has where that is faster than rings by a percent.
    """

    bucket_times_s: tuple[tuple[Count, Amount], ...] = ()
    rings_s: Amount | None = None
    by_message_s: Amount | None = None
