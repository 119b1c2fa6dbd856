"""Offline scoring of tables: answers and ground truth are joined, scored and written as by aidial-rag-eval 0.7."""

from evaluator.datasets.columns import DatasetError, must_hold
from evaluator.datasets.files import open_dataset, read_column, read_dataset
from evaluator.datasets.metadata import Dataset, Metadata
from evaluator.datasets.scoring import BATCH_ROWS, DatasetReport, Summary, score_dataset
from evaluator.datasets.worst_rows import details_of, read_rows, worst_places

__all__ = [
    "BATCH_ROWS",
    "Dataset",
    "DatasetError",
    "DatasetReport",
    "Metadata",
    "Summary",
    "details_of",
    "must_hold",
    "open_dataset",
    "read_column",
    "read_dataset",
    "read_rows",
    "score_dataset",
    "worst_places",
]
