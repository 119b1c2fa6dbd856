"""Names of every metric and of forms of them."""

from evaluator.metrics import REGISTRY
from evaluator.metrics.options import options_of

JUDGED = [name for name, metric in REGISTRY.items() if metric.judge == "llm"]
OF_MODELS = [name for name, metric in REGISTRY.items() if "models" in options_of(metric) and name not in JUDGED]
PLAIN = [name for name in REGISTRY if name not in (*OF_MODELS, *JUDGED)]
"""Metrics that need neither a model nor a judge."""

FORMS_OF_MODELS = [
    *OF_MODELS,
    *(f"{name}@2" for name in OF_MODELS if "k" in options_of(REGISTRY[name])),
    *("facts_recall_embedding", "facts_ndcg_embedding@1"),
]
FORMS = [
    *PLAIN,
    *(f"{name}@2" for name in PLAIN if "k" in options_of(REGISTRY[name])),
    *("facts_recall_statement", "facts_f1_trimmed@1", "facts_ndcg_exact", "rouge1_recall_any_script"),
    *(f"{name}_squad" for name in PLAIN if "token" in name or name == "faithfulness_kprecision"),
]
"""The same, without those of models and judges."""
