"""Tables in kernels: items of whatever kind, by number."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

if TYPE_CHECKING:
    from rne_dynamics.compiling.expressions import Expressions
    from rne_dynamics.compiling.kinds import Table, View


class _PerBody:
    """`per_body(topology)`: a table with an item for each row, and one at −1: the base, the parent of the first body.

    What is put into it is a number or a tuple, all of one kind. It ends with the function that makes it, unless that
    returns it.
    """

    def __call__(self, topology: NDArray[Any]) -> list[Any]:
        return [None] * (len(topology) + 1)

    @staticmethod
    def in_code(code: Expressions, topology: View) -> Table:
        """The table, in compiled code."""
        return code.new_table(code.binary("Add", topology.shape[0], 1))


class _Table:
    """`table(count)`: as `per_body`, for so many items."""

    def __call__(self, count: int) -> list[Any]:
        return [None] * count

    @staticmethod
    def in_code(code: Expressions, count: Any) -> Table:
        """The table, in compiled code."""
        return code.new_table(count)


per_body, table = _PerBody(), _Table()
