"""How tokens get to their experts when a copy goes to a server, or a rank, once, however many of them are there."""

from dataclasses import dataclass

import numpy as np

from topoopt.base.arrays import Floats, Ints
from topoopt.transformers.experts.spread import expected_places
from topoopt.workloads.transformer import Experts


@dataclass(frozen=True, slots=True)
class Routing:
    """A hierarchical all-to-all of the tokens of experts.

    Attributes
    ----------
    experts : Experts
    back : bool
        Whether tokens come back from their experts.
    """

    experts: Experts
    back: bool

    def between_ranks(self, weights: Floats) -> Floats:
        """Return the weights of an all-to-all in which every rank gets a token once."""
        one = self.experts
        shares, which = np.unique(weights, return_inverse=True)
        copies = [
            share
            * expected_places(one.count, one.per_token, 1 / share, one.route_groups, one.groups_per_token)
            if share > 0
            else 0.0
            for share in shares.tolist()
        ]
        return (np.array(copies) / one.per_token)[which].reshape(weights.shape)

    def between_servers(self, weights: Floats, index: Ints) -> Floats:
        """Return the same for servers, shape (servers, servers).

        On the diagonal is what goes on inside: to each rank, but the one at which a token enters the server.

        Parameters
        ----------
        index : int64 array, shape (ranks,)
            On which of the servers each rank is.
        """
        there = weights.T if self.back else weights
        inside = np.zeros((len(index), int(index.max()) + 1))
        inside[np.arange(len(index)), index] = 1.0
        between = inside.T @ self.between_ranks(there @ inside)
        others = 1 - 1 / inside.sum(axis=0)
        np.fill_diagonal(between, (self.between_ranks(there) @ inside).sum(axis=0) * others)
        return between.T if self.back else between
