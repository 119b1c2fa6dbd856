"""Benchmark of metrics of facts and tokens, beside aidial-rag-eval 0.7.0 and unitxt 1.26.10 on the same rows.

    python -m benchmarks.evaluator.metrics [--rows 300] [--rounds 5] [--memory-rows 5000 50000]

`report` gives the columns of retrieval (ranks, counts, highlights, recall, precision, mrr, f1) of joined rows in
memory, `tables` reads two tables, joins them and writes such a report with its metadata. `best context` and `joined`
are token precision of an answer in 8 of the contexts, one by one or as one text. Rows are those of
`benchmarks.evaluator.metric_rows`. Each program is a process that reads the rows, then waits; they take turns on one
core, and a figure is rows by the processor time of all its threads, the median of `--rounds`, of which one more that
comes first is not counted. That all give the same values and highlights is asserted.

The peers are not part of the project: DIALWATCH_AIDIAL_PYTHON and DIALWATCH_UNITXT_PYTHON name interpreters that have
them, or they are taken from this one; what is not there is left out. `memory` is the peak of a process that scores a
table, with all metrics that its columns allow, of a few and of many rows.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, get_args

from benchmarks.evaluator.metric_rows import Rows, Texts

AIDIAL, UNITXT = "aidial-rag-eval", "unitxt"
_PYTHONS = {AIDIAL: "DIALWATCH_AIDIAL_PYTHON", UNITXT: "DIALWATCH_UNITXT_PYTHON"}

# A program defines run(), and values() of what it gave: rows as JSON.
_BEFORE = """
import json, os, sys, time, warnings
warnings.simplefilter("ignore")
replies, sys.stdout = sys.stdout, sys.stderr
folder = sys.argv[1]
answers, truth = f"{folder}/answers.parquet", f"{folder}/truth.parquet"
COLUMNS = ["facts_ranks", "context_relevance", "context_highlight", "recall", "precision", "mrr", "f1"]

def rows_of(path):
    import pyarrow.parquet
    table = pyarrow.parquet.read_table(path)
    return table.select([name for name in COLUMNS if name in table.column_names]).to_pylist()
"""
_AFTER = """
for line in sys.stdin:
    if line == "run\\n":
        began = time.process_time()
        made = run()
        replies.write(f"{time.process_time() - began}\\n")
    else:
        replies.write(json.dumps(values(made)) + "\\n")
    replies.flush()
"""
_READ_BOTH = """
import pyarrow.parquet
facts = pyarrow.parquet.read_table(truth).column("facts").to_pylist()
contexts = pyarrow.parquet.read_table(answers).column("context").to_pylist()
said = pyarrow.parquet.read_table(answers).column("answer").to_pylist()
few = [texts[:8] for texts in contexts]
"""
# The package asks for spaCy's model when it is imported, and for retrieval never again.
_IMPORT_AIDIAL = """
import pandas, spacy
spacy.load = lambda name: spacy.blank("en")
"""
_UNITXT = (
    _READ_BOTH
    + """
from unitxt.metrics import TokenOverlap
overlap = TokenOverlap()
def precision(text, others): return overlap.compute(others, text, [{}])["precision"]
values = list
"""
)
_OURS = (
    _READ_BOTH
    + """
import pandas
from evaluator.metrics import FaithfulnessKPrecision, compute
frame = pandas.DataFrame({"answer": said, "contexts": few})
def values(made): return made["faithfulness_kprecision"].tolist()
"""
)

REPORT = {
    "dialwatch": _READ_BOTH
    + """
from evaluator.datasets.retrieval import retrieval_arrays
def run(): return retrieval_arrays(facts, contexts)
def values(made): return [dict(zip(made, row)) for row in zip(*(made[name].to_pylist() for name in made))]
""",
    AIDIAL: _IMPORT_AIDIAL
    + """
from aidial_rag_eval.dataframe.merge import merge_ground_truth_and_answers
from aidial_rag_eval.dataframe.metrics import calculate_retrieval_metrics
merged = merge_ground_truth_and_answers(pandas.read_parquet(truth), pandas.read_parquet(answers))
def run(): return calculate_retrieval_metrics(merged)
def values(made):
    made.to_parquet(f"{folder}/theirs.parquet")
    return rows_of(f"{folder}/theirs.parquet")
""",
}
TABLES = {
    "dialwatch": """
from evaluator.datasets import score_dataset
def run(): score_dataset(answers, truth, f"{folder}/ours.parquet", [])
def values(made): return rows_of(f"{folder}/ours.parquet")
""",
    AIDIAL: _IMPORT_AIDIAL
    + """
from aidial_rag_eval.evaluate import evaluate
def run(): evaluate(truth, answers, f"{folder}/theirs.parquet")
def values(made): return rows_of(f"{folder}/theirs.parquet")
""",
}
BEST_CONTEXT = {
    "dialwatch": _OURS + "def run(): return compute(frame, [FaithfulnessKPrecision(aggregation='max')])\n",
    UNITXT: _UNITXT + "def run(): return [precision(text, texts) for text, texts in zip(said, few)]\n",
}
JOINED = {
    "dialwatch": _OURS + "def run(): return compute(frame, ['faithfulness_kprecision'])\n",
    UNITXT: _UNITXT + "def run(): return [precision(text, [' '.join(texts)]) for text, texts in zip(said, few)]\n",
}
JOBS: Mapping[str, Mapping[str, str]] = {
    "report": REPORT, "tables": TABLES, "best context": BEST_CONTEXT, "joined": JOINED,
}  # fmt: skip

_MEMORY = """
import resource, sys
from evaluator.datasets import score_dataset
folder = sys.argv[1]
names = ["facts_recall", "facts_precision", "facts_mrr", "faithfulness_kprecision"]
score_dataset(f"{folder}/answers.parquet", f"{folder}/truth.parquet", f"{folder}/out.parquet", names)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


@dataclass(frozen=True)
class Program:
    """A process that has read its rows and runs a job each time that it is asked to."""

    process: subprocess.Popen[str]

    @classmethod
    def start(cls, python: str, source: str, folder: str, log: Any) -> Program:
        """Start a program; it runs on the core that this process runs on."""
        command = [python, "-c", _BEFORE + source + _AFTER, folder]
        pipe = subprocess.PIPE
        environment = os.environ if python == sys.executable else _without_project()
        return cls(subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=log, text=True, env=environment))

    def seconds(self) -> float:
        """Run the job once; processor time."""
        return float(self._reply_to("run"))

    def values(self) -> list[Any]:
        """Give what the last run gave."""
        values: list[Any] = json.loads(self._reply_to("values"))
        return values

    def _reply_to(self, word: str) -> str:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{word}\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit("a program ended; what it said is above")
        return line

    def end(self) -> None:
        """Let the process end."""
        if self.process.stdin is not None:
            self.process.stdin.close()
        self.process.wait()


def medians(sources: Mapping[str, str], pythons: Mapping[str, str], folder: str, rounds: int) -> dict[str, float]:
    """Seconds of each program, which take turns; AssertionError where one gives other values than the first."""
    with tempfile.TemporaryFile("w+") as log:
        programs = {
            name: Program.start(pythons[name], source, folder, log)
            for name, source in sources.items()
            if name in pythons
        }
        try:
            seconds = [{name: program.seconds() for name, program in programs.items()} for _ in range(rounds + 1)]
            values = {name: program.values() for name, program in programs.items()}
        except (SystemExit, BrokenPipeError):
            log.seek(0)
            sys.stderr.write(log.read())
            raise
        finally:
            for program in programs.values():
                program.end()
    first, *others = values
    for name in others:
        assert values[name] == values[first], f"{name} gives other values than {first}"
    return {name: statistics.median(one[name] for one in seconds[1:]) for name in programs}


def peers() -> dict[str, str]:
    """Give the interpreters that have the peers."""
    found = {}
    for name, variable in _PYTHONS.items():
        python = os.environ.get(variable, sys.executable)
        asked = "import importlib.metadata as m, sys; print(m.version(sys.argv[1]))"
        environment = _without_project()
        done = subprocess.run([python, "-c", asked, name], capture_output=True, text=True, env=environment, check=False)
        if done.returncode:
            print(f"{name} is not there: {variable} may name a Python that has it")
        else:
            print(f"{name} {done.stdout.strip()}")
            found[name] = python
    return found


def main() -> None:
    """Make the rows, run the programs in turns, print a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--rows", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--memory-rows", type=int, nargs="*", default=[5_000, 50_000])
    arguments = parser.parse_args()
    print(f"Python {platform.python_version()}, numpy {version('numpy')}, pyarrow {version('pyarrow')}")
    pythons = {"dialwatch": sys.executable} | peers()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    print(f"{'job':<14}{'texts':<12}{'program':<18}{'rows/s':>9}{'ratio':>8}")
    for texts in get_args(Texts):
        with tempfile.TemporaryDirectory(prefix="dialwatch-bench-") as folder:
            Rows(texts).write(arguments.rows, Path(folder))
            for job, sources in JOBS.items():
                seconds = medians(sources, pythons, folder, arguments.rounds)
                for name, of_one in seconds.items():
                    ratio = of_one / seconds["dialwatch"]
                    print(f"{job:<14}{texts:<12}{name:<18}{arguments.rows / of_one:>9,.0f}{ratio:>8.1f}", flush=True)
    _print_memory(arguments.memory_rows)


def _print_memory(counts: Sequence[int]) -> None:
    for count in counts:
        with tempfile.TemporaryDirectory(prefix="dialwatch-bench-") as folder:
            Rows("recurring").write(count, Path(folder))
            command = [sys.executable, "-c", _MEMORY, folder]
            peak = float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        print(f"memory: {count:,} rows, peak {peak:,.0f} MiB", flush=True)


def _without_project() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}


if __name__ == "__main__":
    main()
