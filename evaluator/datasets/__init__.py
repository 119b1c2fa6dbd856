"""Offline scoring of tables: answers and ground truth are joined, scored and written as by aidial-rag-eval 0.7."""

from evaluator.datasets.columns import DatasetError
from evaluator.datasets.files import open_dataset, read_column, read_dataset
from evaluator.datasets.metadata import Dataset, Metadata
from evaluator.datasets.scoring import DatasetReport, Summary, score_dataset

__all__ = [
    "Dataset",
    "DatasetError",
    "DatasetReport",
    "Metadata",
    "Summary",
    "open_dataset",
    "read_column",
    "read_dataset",
    "score_dataset",
]
