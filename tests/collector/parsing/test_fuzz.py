import subprocess
import sys
from pathlib import Path

import pytest

from tests.collector.parsing.line.test_fast_path import SEEDS
from tests.collector.parsing.test_odd_lines import ODD_LINES

pytestmark = pytest.mark.integration

SECONDS = 60


@pytest.mark.slow
def test_a_minute_of_fuzzing_finds_nothing(tmp_path: Path) -> None:
    """Log format 1.2: no bytes make the parser raise, fail on a line, or lose an entry."""
    seeds = tmp_path / "seeds"
    seeds.mkdir()
    for number, seed in enumerate([*SEEDS, *(piece for piece, _ in ODD_LINES.values() if len(piece) < 8192)]):
        (seeds / str(number)).write_bytes(seed)
    options = [f"-max_total_time={SECONDS}", "-max_len=8192", "-timeout=10", f"-artifact_prefix={tmp_path}/"]
    command = [sys.executable, "-m", "tests.collector.parsing.fuzz_parse", str(seeds), *options]
    root = Path(__file__).parents[3]
    run = subprocess.run(command, check=False, capture_output=True, text=True, errors="replace", cwd=root)
    assert run.returncode == 0, f"{run.stdout[-4000:]}\n{run.stderr[-4000:]}"
