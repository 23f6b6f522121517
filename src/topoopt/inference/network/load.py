"""The noun RequestLoad: how many requests come, and how long they are."""

from dataclasses import dataclass

from topoopt.base.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class RequestLoad:
    """Requests on the average, as closed forms see them.

    Attributes
    ----------
    requests_per_s : float
        Of all users together; 0 is the limit of no load.
    prompt_tokens, answer_tokens : float
    """

    requests_per_s: float
    prompt_tokens: float
    answer_tokens: float

    def __post_init__(self) -> None:
        if not 0 <= self.requests_per_s < float("inf"):
            raise InvalidInput(f"rate: expected requests a second >= 0, got {self.requests_per_s:g}")
        for word, value in (("isl", self.prompt_tokens), ("osl", self.answer_tokens)):
            if not 1 <= value < float("inf"):
                raise InvalidInput(f"{word}: expected tokens >= 1, got {value:g}")
