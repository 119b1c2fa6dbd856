"""Orders of steps that fail in which a line was once lost or doubled."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.collector.pipeline.test_exactly_once import KAFKA, CollectorMachine

Steps = Callable[[CollectorMachine], object]


def _rotated_while_no_collector_runs(machine: CollectorMachine) -> None:
    machine.begin(flush_bytes=4_000)
    machine.write_to_a_file(name="a.log", kinds=["chat", "broken"])
    machine.send_to_kafka(partition=KAFKA[0], kinds=["chat"])
    machine.send_to_kafka(partition=KAFKA[0], kinds=["chat"])
    machine.post_again_after_a_failure(step=("commit", "before"), before=["chat"], after=["chat"])
    machine.rotate(name="a.log")
    machine.kill()
    machine.kill()


def _killed_between_two_tables_and_rotated(machine: CollectorMachine) -> None:
    machine.begin(flush_bytes=1 << 30)
    machine.let_a_step_kill(step=("commit", "after"))
    machine.write_to_a_file(name="a.log", kinds=["chat", "broken", "other"])
    machine.flush()
    machine.rotate(name="a.log")


def _killed_before_the_count_and_rotated(machine: CollectorMachine) -> None:
    machine.begin(flush_bytes=1 << 30)
    machine.write_to_a_file(name="a.log", kinds=["rating", "broken"])
    machine.flush()
    machine.let_a_step_kill(step=("count", "before"))
    machine.write_to_a_file(name="a.log", kinds=["chat", "broken"])
    machine.flush()
    machine.rotate(name="a.log")
    machine.write_to_a_file(name="a.log", kinds=["chat", "broken"])


def _killed_twice_and_rotated_twice(machine: CollectorMachine) -> None:
    _killed_before_the_count_and_rotated(machine)
    machine.let_a_step_kill(step=("count", "before"))
    machine.flush()
    machine.rotate(name="a.log")
    (machine.logs / "a.log.1").rename(machine.logs / "a.log.3")


def _given_up_after_a_rotation(machine: CollectorMachine) -> None:
    """Lines of the file are committed under its first name, the next one is given up under its second."""
    machine.begin(flush_bytes=1 << 30)
    machine.write_to_a_file(name="a.log", kinds=["chat", "broken"])
    machine.flush()
    machine.write_to_a_file(name="a.log", kinds=["chat"])
    machine.rotate(name="a.log")
    machine.poll_files()
    machine.post_again_after_a_failure(step=("row group", "before"), before=["chat"], after=["chat"])


@pytest.mark.parametrize(
    "steps",
    [
        _given_up_after_a_rotation,
        _rotated_while_no_collector_runs,
        _killed_between_two_tables_and_rotated,
        _killed_before_the_count_and_rotated,
        _killed_twice_and_rotated_twice,
    ],
)
def test_every_line_is_stored_once_in_this_order_of_steps(steps: Steps) -> None:
    """Orders of steps that once cost or doubled a line."""
    machine = CollectorMachine()
    try:
        steps(machine)
    finally:
        machine.teardown()
