"""Tables and bars on the terminal; Rich is loaded once there is something to draw."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from rich.table import Table as Grid

_UNBOUNDED = 1_000_000
_SECONDS_BETWEEN_LINES = 60.0


def print_grid(grid: Grid) -> None:
    """Print a table: in a pipe or a file each row on one line, on a terminal folded where it is too narrow.

    A number or a name that was cut would be another one, so the table is wider than the terminal where it must be.
    """
    from rich.console import Console
    from rich.measure import Measurement

    console = Console()
    needed = Measurement.get(console, console.options.update(width=_UNBOUNDED), grid)
    for column in grid.columns:
        column.overflow, column.no_wrap = "fold", column.justify == "right"
    width = max(console.width, needed.minimum) if console.is_terminal else needed.maximum
    Console(width=width).print(grid)


def grid_of(*columns: str, numbers: Collection[str] = ()) -> Grid:
    """Return an empty grid for the terminal, with these heads; columns of `numbers` stand to the right."""
    from rich.table import Table as Grid

    grid = Grid()
    for name in columns:
        # A name that is cut cannot be copied into a configuration.
        grid.add_column(name, overflow="fold", justify="right" if name in numbers else "left")
    return grid


def print_result(grid: Grid, nothing: str, dry_run: bool) -> None:
    """Print what was done, or `nothing` where the grid is empty, and whether it was a dry run."""
    if grid.row_count:
        print_grid(grid)
    else:
        typer.echo(nothing)
    if dry_run:
        typer.echo("This was a dry run: nothing was changed.")


def print_list(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a grid of names and of what people have written."""
    from rich.text import Text

    grid = grid_of(*columns)
    for cells in rows:
        # As text: rich would take a name in square brackets for a colour.
        grid.add_row(*map(Text, cells))
    print_grid(grid)


@contextmanager
def scoring_bar() -> Iterator[Callable[[int, int], None]]:
    """Show a bar while the block runs; yields a function that takes how much is done, and of how much.

    The bar goes to stderr where that is a terminal. A log wants no bar, and has a line a minute.
    """
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("scoring"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    console = Console(stderr=True)
    if not console.is_terminal:
        yield progress_lines()
        return
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("scoring", total=None)
        yield lambda done, of: bar.update(task, completed=done, total=of)


def progress_lines(clock: Callable[[], float] = time.monotonic) -> Callable[[int, int], None]:
    """Return a function that takes how much is done, and of how much, and writes a line to stderr once a minute."""
    written = clock()

    def write(done: int, of: int) -> None:
        nonlocal written
        if clock() - written >= _SECONDS_BETWEEN_LINES:
            written = clock()
            typer.echo(f"scored {done:,} of {of:,}", err=True)

    return write
