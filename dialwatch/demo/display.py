"""Display of the demo in the terminal: progress while it works, and a line for each event."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from types import TracebackType
from typing import Any, Self

from rich.console import Console
from rich.panel import Panel
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)
from rich.table import Table
from rich.text import Text

from dialwatch.demo.agent import AGENT, GET_ORDER, Outage
from dialwatch.demo.checks import Check
from dialwatch.demo.receiver import Delivery


class Display:
    """Bars of the stages, and messages above them in the order in which things happen."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self._progress = Progress(
            SpinnerColumn(finished_text="[green]✓"),
            TextColumn("{task.description}"),
            BarColumn(bar_width=18),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[note]}"),
            console=console,
        )
        self._stages: dict[str, TaskID] = {}

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def stage(self, name: str, done: int, total: int, note: str = "") -> None:
        """Show how far a stage is; its bar comes when it has begun."""
        if name not in self._stages and done:
            self._stages[name] = self._progress.add_task(name, total=total, note=note)
        if name in self._stages:
            self._progress.update(self._stages[name], completed=done, note=note)

    def say(self, message: str) -> None:
        """Print a message above the bars."""
        self.console.print(Text.from_markup(message))

    def dropped(self, deployment: str, at: datetime) -> None:
        """Say that the planted drop has begun."""
        self.say(f"[yellow]▼[/] from {at:%H:%M} UTC on [bold]{deployment}[/] searches an index that lacks most texts")

    def tool_broke(self, outage: Outage) -> None:
        """Say that a tool of the agent has broken."""
        times = f"from {outage.begins:%H:%M} to {outage.ends:%H:%M} UTC"
        self.say(f"[yellow]▼[/] {times} [bold]{AGENT}[/] gets no order: its tool {GET_ORDER} times out")

    def delivered(self, delivery: Delivery) -> None:
        """Show a webhook as it arrived."""
        signature = "[green]signature verified[/]" if delivery.verified else "[red]signature refused[/]"
        text = Text(_message(delivery.body))
        title = f"webhook {delivery.webhook_id} · {delivery.body.get('status', '?')} · {signature}"
        self.console.print(Panel(text, title=title, title_align="left", border_style="red"))

    def checked(self, checks: Sequence[Check]) -> None:
        """Show what was promised and what was found."""
        table = Table(title="What this run had to show", title_justify="left", show_edge=False)
        for column in ("", "promise", "found"):
            table.add_column(column)
        for check in checks:
            table.add_row("[green]✓[/]" if check.passed else "[red]✗[/]", check.promise, check.found)
        self.console.print(table)


def _message(body: Mapping[str, Any]) -> str:
    """Return what a webhook says: a line an alert, and all that it says of the first."""
    annotations = [alert.get("annotations", {}) for alert in body.get("alerts", [])]
    summaries = "\n".join(one.get("summary", "") for one in annotations)
    return f"{summaries}\n\n{annotations[0].get('description', '')}" if annotations else ""
