"""Tables on the terminal, of which nothing is ever cut."""

from __future__ import annotations

from rich.console import Console
from rich.measure import Measurement
from rich.table import Table as Grid

_UNBOUNDED = 1_000_000


def print_grid(grid: Grid) -> None:
    """Print a table: in a pipe or a file each row on one line, on a terminal folded where it is too narrow.

    A number or a name that was cut would be another one, so the table is wider than the terminal where it must be.
    """
    console = Console()
    needed = Measurement.get(console, console.options.update(width=_UNBOUNDED), grid)
    for column in grid.columns:
        column.overflow, column.no_wrap = "fold", column.justify == "right"
    width = max(console.width, needed.minimum) if console.is_terminal else needed.maximum
    Console(width=width).print(grid)
