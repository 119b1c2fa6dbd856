"""Log of an incident: the silences that held while it lasted."""

from datetime import timedelta

import pytest

from lake.spec.alert_vocabulary import SilenceEvent
from monitor.alerting.controls.silences import SilenceChange
from monitor.pages.incidents.log_rows import log_of_silences
from tests.monitor.conftest import NOW

HOUR = timedelta(hours=1)
ADDED = SilenceChange(1, SilenceEvent.ADDED, NOW, "rag", None, NOW + 7 * 24 * HOUR, "deploy", "ann")


@pytest.mark.parametrize(("ended", "rows"), [(1, 0), (5, 2), (30, 1), (None, 1)])
def test_a_silence_is_in_the_log_if_it_held_then(ended: int | None, rows: int) -> None:
    """Of an incident from 3 to 9 hours after it was added: until it ended, which may be before its time."""
    changes = [ADDED]
    if ended is not None:
        at = NOW + ended * HOUR
        changes += [SilenceChange(1, SilenceEvent.ENDED, at, "rag", None, at, None, who) for who in ("bob", "eve")]
    found = log_of_silences(changes, "rag", ["m"], NOW + 3 * HOUR, NOW + 9 * HOUR)
    assert [row.who for row in found] == ["ann", "bob"][:rows]
