"""Answers and ground truth in parquet files: joined, scored and written as aidial-rag-eval (0.7) does it."""

from evaluator.datasets.columns import DatasetError
from evaluator.datasets.files import open_dataset, read_column, read_dataset
from evaluator.datasets.metadata import Dataset, Metadata
from evaluator.datasets.scoring import Report, Summary, score_dataset

__all__ = [
    "Dataset",
    "DatasetError",
    "Metadata",
    "Report",
    "Summary",
    "open_dataset",
    "read_column",
    "read_dataset",
    "score_dataset",
]
