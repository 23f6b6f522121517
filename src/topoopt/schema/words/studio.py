"""The words of the live page: the question that it opens with, and where it listens."""

from typing import Annotated, TypedDict

from topoopt.schema.words.word import Amount, Rate, Switch, Word, panel


@panel("The question that the page opens with")
class QuestionWords(TypedDict, total=False):
    """What a page of the studio asks; what is not given is as the page has it."""

    servers: Annotated[int, Word("N", 128)]
    """Servers of the job."""
    accelerators_per_server: int
    """Accelerators of a server; the accelerator's own, 4 for a graph of operators."""
    accelerator: Annotated[str, Word("NAME")]
    """See topoopt hardware; h100, a100 for a graph of operators."""
    degree: Annotated[int, Word("N", 8)]
    """Training ports of a server."""
    bandwidth: Annotated[Rate, Word("RATE", "400Gbps")]
    """Of one port."""
    global_batch: int
    """Sequences of an iteration of a transformer; about 4 million tokens if not given."""
    seq: int
    """Tokens of a sequence of a transformer; the model's own."""
    batch_per_accelerator: int
    """Samples per accelerator of a graph of operators; the model's own."""
    prices: Annotated[str, Word("LIST")]
    """Price list, such as 2025; 2026 if not given."""
    link_technology: Annotated[str, Word("KIND")]
    """pluggable, linear, co-packaged or copper; pluggable."""
    years: Annotated[float, Word("N")]
    """Over which everything is paid for; 5."""
    utilization: Annotated[float, Word("SHARE")]
    """Of the hours in which the cluster trains; 0.8."""
    electricity_price: Annotated[float, Word("USD")]
    """Of a kilowatt-hour; 0.0872."""
    interest: Annotated[float, Word("SHARE")]
    """Cost of capital a year; 0.1."""
    colocation: Annotated[float, Word("USD")]
    """Of the building for a kilowatt and month; 184."""
    maintenance: Annotated[float, Word("SHARE")]
    """Repairs and support a year, of all prices; 0.048."""
    staff: Annotated[float, Word("USD")]
    """Of those who run it, a year; left out if not given."""
    storage: Annotated[float, Word("USD")]
    """Price of the storage that goes with it; left out if not given."""
    server_price: Annotated[Amount, Word("USD|low|typical|high")]
    """Of a server with its accelerators, without the network; typical of the catalogue."""


@panel("Where it listens")
class ServingWords(TypedDict, total=False):
    """The address of the page, and who may see it."""

    host: Annotated[str, Word("ADDRESS", "127.0.0.1")]
    """Listen there; any other than this machine's own needs a token."""
    port: Annotated[int, Word("N", 8321)]
    """Listen on this port; 0 takes a free one."""
    token: Annotated[str, Word("TEXT")]
    """Whoever asks has to show it; made by chance for an address that others can reach."""
    seconds: Annotated[float, Word("S")]
    """End after so long; when it is interrupted if not given."""
    browser: Switch
    """Open the page in the browser of this machine."""


class StudioWords(QuestionWords, ServingWords, total=False):
    """All words that :func:`topoopt.studio` takes."""
