"""How many interfaces of a server share a panel, so that the panels of an inventory can join what a plan joins."""

from collections.abc import Callable
from typing import TypeVar

from topoopt.base.errors import Infeasible
from topoopt.plans.inventory.file import GivenInventory

Made = TypeVar("Made")


def fitting(given: GivenInventory, degree: int, make: Callable[[int | None], Made]) -> Made:
    """Return what is made with the fewest interfaces of a server on a panel, or with the first number that fits.

    Parameters
    ----------
    make : function of so many interfaces, None being the fewest with which the links can be divided
        Raises Infeasible where the inventory leads to different panels what is to be joined.

    Raises
    ------
    InvalidInput, Infeasible
        As ``make`` does for the fewest, with the file and the line of the inventory.
    """
    with given.placed():
        try:
            return make(None)
        except Infeasible as error:
            refusal = error
        for width in range(2, degree + 1):
            try:
                return make(width)
            except Infeasible:
                continue
        raise refusal
