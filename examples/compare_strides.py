"""How much does the choice of strides matter? Hops of 128 servers with four duplex ports each.

Two strides make four concurrent AllReduce rings whichever they are. What differs is how far the rest of the traffic
has to go.
"""

from topoopt.topologies import circulant, hop_metrics

BANDWIDTH_BPS = 100e9
CHOICES = {
    "short ones": (1, 3),
    "the authors' released rule": (1, 13),
    "the paper's rule": (1, 11),
    "the best there is": (1, 15),
}

for name, strides in CHOICES.items():
    metrics = hop_metrics(circulant(128, strides, BANDWIDTH_BPS))
    print(
        f"{name:28} strides {strides}: diameter {metrics.diameter:2}, {metrics.average_hops:.3f} hops on average"
    )
