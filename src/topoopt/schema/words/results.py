"""The words of a question to a results file; a condition, an order and a query are SQL."""

from collections.abc import Sequence
from typing import Annotated, TypedDict

from topoopt.schema.words.word import Word, panel


@panel("Question")
class ResultsWords(TypedDict, total=False):
    """All words that :func:`topoopt.results` takes."""

    columns: Annotated[str | Sequence[str], Word("LIST")]
    """With commas; what differs and the main figures if not given."""
    where: Annotated[str, Word("SQL")]
    """A condition, such as "model = 'dlrm'"."""
    order: Annotated[str, Word("SQL")]
    """Such as "cost_usd desc"; by settings if not given."""
    limit: int
    """Most rows; 20 in the terminal, all in files and JSON. 0: all."""
    best: Annotated[str, Word("fastest|cheapest|front|SQL")]
    """The fabric that has least of it, for each job; front: all fabrics that none beats in both price and time."""
    per: Annotated[str | Sequence[str], Word("LIST")]
    """With ``best``: for each of these; all that differs but fabric."""
    sql: Annotated[str, Word("QUERY")]
    """Any question to points, runs and attempts."""
