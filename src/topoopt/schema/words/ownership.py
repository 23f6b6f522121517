"""The words of ownership: how a cluster is run, what its servers cost, and which training is priced."""

from typing import Annotated, TypedDict

from topoopt.schema.words.word import Amount, Word, panel


@panel("What it costs to own and to train")
class RunningWords(TypedDict, total=False):
    """Network, servers and what running them takes over years."""

    years: Annotated[float, Word("N")]
    """Over which everything is paid for; 5."""
    electricity_price: Annotated[float, Word("USD")]
    """Of a kilowatt-hour; 0.0872, US industry in 2025."""
    power_usage_effectiveness: Annotated[float, Word("RATIO", names=("pue",))]
    """Watts of the building for a watt of the parts; 1.58, the average of 2023."""
    utilization: Annotated[float, Word("SHARE")]
    """Of the hours in which the cluster trains; 0.8, assumed."""
    interest: Annotated[float, Word("SHARE")]
    """Cost of capital a year; 0.1, where loans against accelerators begin. 0 for none."""
    colocation: Annotated[float, Word("USD")]
    """Of the building for a kilowatt and month, without electricity; 184, CBRE's average of 2025. 0 for none."""
    maintenance: Annotated[float, Word("SHARE")]
    """Repairs and support a year, of all prices; 0.048. 0 for none."""
    staff: Annotated[float, Word("USD")]
    """Of those who run it, a year; left out if not given."""
    storage: Annotated[float, Word("USD")]
    """Price of the storage that goes with it; left out if not given."""
    server_price: Annotated[Amount, Word("USD|low|typical|high")]
    """Of a server with its accelerators, without the network; typical of the catalogue (topoopt hardware servers)."""
    server_power: Annotated[float, Word("WATTS")]
    """That a server draws while it trains; 82 % of its rating."""


@panel("What it costs to own and to train")
class OwnershipWords(RunningWords, total=False):
    """The same, and the training that is priced."""

    samples: Annotated[float, Word("N")]
    """Samples of a training run, which is then priced, too."""
    tokens: Annotated[float, Word("N")]
    """Or its tokens, of a transformer."""
    run_hours: Annotated[float, Word("HOURS")]
    """Or how long it takes on the first network shown."""
