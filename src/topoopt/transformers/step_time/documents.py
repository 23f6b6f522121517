"""Documents packed into sequences: which pairs of tokens attention meets, and how uneven that is.

Tokens see those of their own document only, so the core's work goes with the sum of the squares of the lengths. Lengths
are taken to be gamma distributed, with an average and a spread (standard deviation over average); a spread of 0 is
documents all alike, 1 is exponential. What is longer than a sequence is cut to it. With l such a length, a token sees
``r = E[l²]/E[l]`` tokens on average (of a long document there are more of them), and the work of a micro-batch of n
documents strays by ``sqrt(E[(l² - r·l)²]/n)/E[l²]`` of its average: the central limit of a renewal process with
rewards.

Who has less to do waits. Micro-batches in which replicas meet (ZeRO 2 and 3, experts that are spread over replicas)
take as long as the heaviest of them; others meet once an iteration, after sums in which micro-batches make up for each
other. A pipeline fills and drains at the pace of its heaviest micro-batch, as in a flow shop whose stages are alike.
Context parallel ranks have even parts of every document (per-document sharding).

References
----------
.. [1] Z. Wang et al., "WLB-LLM: Workload-Balanced 4D Parallelism for Large Language Model Training", OSDI 2025.
.. [2] Llama Team, "The Llama 3 Herd of Models", 2024, section 3.2 (masks between documents).
.. [3] D. Cox, "Renewal Theory", 1962, chapter 8 (cumulative processes).
.. [4] M. Pinedo, "Scheduling", section 6.1 (proportionate flow shops: the sum of all jobs, and the longest for every
   further machine).
.. [5] G. Blom, "Statistical Estimates and Transformed Beta-Variables", 1958 (the largest of k normal numbers).
"""

from statistics import NormalDist

import numpy as np

from topoopt.base.arrays import Floats, Ints
from topoopt.transformers.configuration_table import ConfigurationTable


def tokens_seen(table: ConfigurationTable) -> Floats:
    """Return how many tokens one token sees on average, without a causal mask: those of its document."""
    if not np.any(table.document > 0):
        return table.sequence.astype(np.float64)
    return np.where(table.document > 0, _moment(table, 2) / _moment(table, 1), table.sequence)


def imbalance(table: ConfigurationTable) -> Floats:
    """Return by which share of its average the core's work takes longer, because everybody waits for the heaviest.

    As if all micro-batches were alike: so much longer that the iteration takes as long.
    """
    if not np.any((table.document > 0) & (table.document_spread > 0)):
        return np.zeros(len(table))
    first, second, third, fourth = (_moment(table, power) for power in (1, 2, 3, 4))
    seen = second / first
    strays = np.maximum(fourth - 2 * seen * third + seen * seen * second, 0.0)
    documents = table.micro_batch * table.sequence / first
    share = np.sqrt(strays / documents) / second * _heaviest(table)
    longest = table.sequence / seen - 1  # one document fills the sequence
    return np.where(table.document > 0, np.minimum(share, longest), 0.0)


def _heaviest(table: ConfigurationTable) -> Floats:
    """Return how far above the average the micro-batches are that are waited for, in standard deviations."""
    batches = np.maximum(table.global_batch // (table.dp * table.micro_batch), 1)
    together = np.where(table.zero >= 2, table.dp, table.ep * table.etp // (table.tp * table.cp))
    together = np.minimum(np.maximum(together, 1), table.dp)
    drain = (table.pp - 1) / table.vpp
    waits = batches * _largest(together) + np.sqrt(batches) * _largest(table.dp // together)
    return np.asarray((waits + drain * _largest(batches * together)) / (batches + drain), np.float64)


def _largest(of: Ints) -> Floats:
    """Return the expected largest of so many standard normal numbers."""
    counts, place = np.unique(of, return_inverse=True)
    values = [NormalDist().inv_cdf((count - 0.375) / (count + 0.25)) for count in counts.tolist()]
    return np.asarray(np.array(values)[place].reshape(np.shape(of)), np.float64)


def _moment(table: ConfigurationTable, power: int) -> Floats:
    """Return the average of a power of the length of documents, which are cut to the sequence."""
    average, longest = np.maximum(table.document, 1).astype(np.float64), table.sequence.astype(np.float64)
    alike = np.minimum(average, longest) ** power
    square = np.square(table.document_spread)
    if not np.any(square > 0):
        return np.asarray(alike, np.float64)
    from scipy.special import gammainc  # noqa: PLC0415 - takes a quarter of a second to import

    square = np.where(square > 0, square, 1.0)
    shape = 1 / square
    grown = average**power * np.prod([1 + step * square for step in range(power)], axis=0)
    cut = longest / (average * square)
    whole, rest = grown * gammainc(shape + power, cut), longest**power * (1 - gammainc(shape, cut))
    return np.where(table.document_spread > 0, whole + rest, alike)
