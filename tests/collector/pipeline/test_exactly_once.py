"""Files, Kafka and HTTP share a collector whose steps fail at random: every line is in the tables once."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from collector.commit import table_rows
from collector.commit.background_commit import BackgroundCommit
from collector.commit.batch import IncompleteBatchError
from collector.commit.position import Partition, Piece
from collector.parsing import SignalRecord
from collector.pipeline.collector import Collector
from collector.settings import CollectorSettings
from collector.sources.files.source import FileSource
from collector.sources.http.deliveries import DeliveredItem, Deliveries
from lake.delta_log import writing
from lake.delta_log.change import LostRaceError
from lake.spec.root_tables import BATCHES, REJECTED
from lake.spec.schemas import PARSED_LOGS, USER_SIGNALS
from lake.tables.lake import Lake
from lake.tables.storage import Storage
from tests.collector.lines import chat_line, rating_line
from tests.collector.pipeline.failing_steps import Faults, KilledError

DEPLOYMENTS = ("rag-app", "other-app")
KAFKA = tuple(Partition("kafka", "logs", str(number)) for number in range(2))
FILES = ("a.log", "b.log")
NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


class CollectorMachine(RuleBasedStateMachine):
    """Senders hand over lines, steps fail, processes are killed; in the end the tables are compared with the lines."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.logs = self.folder / "logs"
        self.logs.mkdir()
        self.lake = Lake(str(self.folder / "lake"))
        self.faults = Faults()
        start = BackgroundCommit.__init__

        def commit_at_once(self: BackgroundCommit, *args: Any) -> None:
            start(self, *args)
            self._thread.join()

        self.patches = [
            *self.faults.patches,
            mock.patch.object(BackgroundCommit, "__init__", commit_at_once),
            mock.patch.object(table_rows, "_BYTES_AS_TUPLES", 3_000),
            mock.patch.object(writing, "_ROW_GROUP_BYTES", 6_000),
        ]
        for patch in self.patches:
            patch.start()
        self.number = self.rotations = 0
        self.passed = 0.0
        self.lines: list[bytes] = []
        self.signals: list[SignalRecord] = []
        self.messages: dict[Partition, list[bytes]] = {partition: [] for partition in KAFKA}
        self.unanswered: list[tuple[str, list[DeliveredItem]]] = []
        self.expected: dict[str, Counter[object]] = {"answers": Counter(), "signals": Counter(), "rejected": Counter()}
        self.is_cut_off = False
        """Whether a batch may have left rows that no row of `_batches` counts, as senders over HTTP send lines anew
        and files come under new names."""

    @initialize(flush_bytes=st.sampled_from([4_000, 30_000, 1 << 30]))
    def begin(self, flush_bytes: int) -> None:
        self.settings = CollectorSettings(flush_bytes=flush_bytes)
        self.start()

    def start(self) -> None:
        self.collector = Collector(self.lake, self.settings, lambda: NOW, monotonic=lambda: self.passed, recover=False)
        self.source = FileSource([str(self.logs)], Storage())
        self.deliveries = Deliveries(self.collector, 1 << 30, 0.0, 1.0)
        self.read: dict[Partition, int] = {}

    def attempt(self, step: Callable[[], object]) -> bool:
        """Do as the runners do: after an error of the lake the step is tried again later."""
        try:
            step()
        except KilledError:
            self.kill()
        except LostRaceError:
            self.read.clear()
            self.is_cut_off = True
        except IncompleteBatchError:
            raise
        except Exception:
            self.is_cut_off = self.is_cut_off or self.collector._must_recover
        else:
            return True
        return False

    def new_line(self, kind: str) -> bytes:
        self.number += 1
        if kind == "rating":
            self.expected["signals"][f"r-{self.number}"] += 1
            line = rating_line(self.number, f"r-{self.number}")
        elif kind == "broken":
            line = b"no json %d" % self.number
            self.expected["rejected"][line] += 1
            return line
        else:
            self.expected["answers"][f"Answer {self.number}."] += 1
            line = chat_line(self.number, deployment=DEPLOYMENTS[kind == "other"])
        self.lines.append(line)
        return line

    KINDS = st.lists(st.sampled_from(["chat", "chat", "other", "rating", "broken"]), min_size=1, max_size=3)

    @rule(name=st.sampled_from(FILES), kinds=KINDS)
    def write_to_a_file(self, name: str, kinds: list[str]) -> None:
        with (self.logs / name).open("ab") as file:
            file.writelines(self.new_line(kind) + b"\n" for kind in kinds)
        self.poll_files()

    @rule(name=st.sampled_from(FILES))
    def rotate(self, name: str) -> None:
        """A file leaves its name, and the next lines go to a new one."""
        if (self.logs / name).exists():
            self.rotations += 1
            (self.logs / name).rename(self.logs / f"{name}.{self.rotations}")

    @rule()
    def poll_files(self) -> None:
        self.attempt(lambda: (self.source.read_into(self.collector), self.collector.flush_if_due()))

    @rule(partition=st.sampled_from(KAFKA), kinds=KINDS)
    def send_to_kafka(self, partition: Partition, kinds: list[str]) -> None:
        self.messages[partition] += [self.new_line(kind) for kind in kinds]
        self.poll_kafka()

    @rule(partition=st.sampled_from(KAFKA), data=st.data())
    def send_an_array_to_kafka(self, partition: Partition, data: st.DataObject) -> None:
        again = [data.draw(st.sampled_from(self.lines))] if self.lines else []
        lines = [self.new_line("chat"), *again, self.new_line("other")]
        self.messages[partition].append(json.dumps([{"message": line.decode()} for line in lines]).encode())
        self.poll_kafka()

    @rule()
    def poll_kafka(self) -> None:
        for partition in KAFKA:
            self.attempt(lambda partition=partition: self.read_kafka(partition))  # type: ignore[misc]

    def read_kafka(self, partition: Partition) -> None:
        if partition not in self.read:
            self.collector.flush()
            self.collector.refresh(partition)
            self.read[partition] = self.collector.offset(partition)
        if self.collector.offset(partition) < self.read[partition]:
            raise LostRaceError("lines were given up")
        while (offset := self.read[partition] + 1) < len(self.messages[partition]):
            self.collector.add(Piece(partition, self.messages[partition][offset], offset, offset - 1))
            self.read[partition] = offset
        self.collector.flush_if_due()

    @rule(kinds=KINDS)
    def post_lines(self, kinds: list[str]) -> None:
        self.unanswered.append(("/data", [DeliveredItem(self.new_line(kind)) for kind in kinds]))
        self.deliver()

    @rule()
    def post_a_signal(self) -> None:
        self.number += 1
        self.expected["signals"][f"r-{self.number}"] += 1
        record = SignalRecord(
            signal_id=f"{self.number:032x}", response_id=f"r-{self.number}", deployment="rag-app", date=NOW.date(),
            signaled_at=NOW, signal="like", value=1.0, confidence=1.0, origin="explicit", user_id=None, chat_id=None,
            details=None,
        )  # fmt: skip
        self.unanswered.append(("/signals", [DeliveredItem(b"{}", record=record)]))
        self.deliver()

    @rule()
    def deliver(self) -> None:
        """Send all requests that were not answered with 200, in one commit."""
        taken = [(Partition("http", name, f"{self.deliveries._run}{name}"), items) for name, items in self.unanswered]

        def commit() -> None:
            outcome = self.deliveries._commit(taken, 1.0)
            if isinstance(outcome, Exception):
                raise outcome
            self.unanswered.clear()

        self.attempt(commit)

    @rule(data=st.data(), source=st.sampled_from(["file", "kafka", "http"]))
    def send_again(self, data: st.DataObject, source: str) -> None:
        """A line comes again, through any source."""
        if not self.lines:
            return
        line = data.draw(st.sampled_from(self.lines))
        if source == "file":
            with (self.logs / FILES[0]).open("ab") as file:
                file.write(line + b"\n")
            self.poll_files()
        elif source == "kafka":
            self.messages[KAFKA[0]].append(line)
            self.poll_kafka()
        else:
            self.unanswered.append(("/data", [DeliveredItem(line)]))
            self.deliver()

    @rule(
        step=st.sampled_from(Faults.STEPS),
        times=st.integers(1, 3),
        error=st.sampled_from([OSError("the store refuses"), MemoryError("no more")]),
    )
    def let_a_step_fail(self, step: tuple[str, str], times: int, error: Exception) -> None:
        self.faults.arm(step, times, error)

    @rule(step=st.sampled_from(Faults.STEPS), before=KINDS, after=KINDS)
    def post_again_after_a_failure(self, step: tuple[str, str], before: list[str], after: list[str]) -> None:
        self.faults.arm(step, 1, OSError("the store refuses"))
        self.post_lines(before)
        self.post_lines(after)

    @rule(step=st.sampled_from(Faults.STEPS))
    def let_a_step_kill(self, step: tuple[str, str]) -> None:
        self.faults.arm(step, 1, KilledError("SIGKILL"))

    @rule()
    def let_all_steps_work(self) -> None:
        self.faults.end()

    @rule()
    def flush(self) -> None:
        self.attempt(self.collector.flush)

    @rule()
    def grow_old(self) -> None:
        self.passed += self.settings.flush_seconds
        self.attempt(self.collector.flush_if_due)

    @rule()
    def kill(self) -> None:
        self.is_cut_off = True
        self.start()

    @rule(partition=st.sampled_from(KAFKA))
    def another_collector_takes_over(self, partition: Partition) -> None:
        """Another collector of the consumer group reads a message that is not committed."""
        with self.faults.absent():
            other = Collector(self.lake, self.settings, lambda: NOW)
            offset = other.offset(partition) + 1
            if offset < len(self.messages[partition]):
                other.add(Piece(partition, self.messages[partition][offset], offset, offset - 1))
                other.flush()

    @invariant()
    def all_lines_have_an_outcome(self) -> None:
        if hasattr(self, "collector"):
            assert self.collector.meter.committed.counts.add_up()

    def teardown(self) -> None:
        try:
            self.faults.end()
            self.settle()
            self.compare()
        finally:
            for patch in self.patches:
                patch.stop()
            self.collector.__dict__.clear()
            shutil.rmtree(self.folder)

    def settle(self) -> None:
        for _ in range(4):
            self.poll_files()
            self.poll_kafka()
            self.deliver()
            self.flush()
        assert self.attempt(self.collector.flush)
        assert not self.unanswered

    def compare(self) -> None:
        tables = [(spec, name) for name in DEPLOYMENTS for spec in (PARSED_LOGS, USER_SIGNALS)] + [(REJECTED, None)]
        rows = {key: self.lake.table(*key).read().to_pylist() for key in tables}
        found = {
            "answers": Counter(row["answer"] for (spec, _), its in rows.items() if spec is PARSED_LOGS for row in its),
            "signals": Counter(
                row["response_id"] for (spec, _), its in rows.items() if spec is USER_SIGNALS for row in its
            ),
            "rejected": Counter(row["raw"] for row in rows[REJECTED, None]),
        }
        assert found == self.expected
        batches = self.lake.table(BATCHES).read().to_pylist()
        outcomes = ("stored", "signals", "duplicates", "rejected", "filtered")
        assert sum(row["lines"] for row in batches) == sum(row[name] for row in batches for name in outcomes)
        counted, held = Counter[str](), Counter[str]()
        for row in batches:
            counted[_name(row)] += row["stored"] + row["signals"] + row["rejected"]
        for row in (row for its in rows.values() for row in its):
            held[_name(row)] += 1
        if self.is_cut_off:
            kinds = ("http", "file") if self.rotations else ("http",)
            counted = Counter({name: count for name, count in counted.items() if not name.startswith(kinds)})
            held = Counter({name: count for name, count in held.items() if not name.startswith(kinds)})
        assert +counted == +held


def _name(row: dict[str, Any]) -> str:
    return f"{row['source']['kind']} {row['source']['partition']}"


QUICK = settings(max_examples=30, stateful_step_count=20, deadline=None, suppress_health_check=list(HealthCheck))


@pytest.mark.slow
def test_every_line_is_stored_once_whatever_fails() -> None:
    """Steps fail, processes are killed, others take over: in the end each line is a row, and the counts are theirs."""
    run_state_machine_as_test(CollectorMachine, settings=QUICK)


@pytest.mark.slow
def test_every_line_is_stored_once_after_many_failures() -> None:
    """The same, with many more and longer runs."""
    run_state_machine_as_test(CollectorMachine, settings=settings(QUICK, max_examples=60, stateful_step_count=50))
