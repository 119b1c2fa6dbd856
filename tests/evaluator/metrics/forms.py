"""Names of every metric and of forms of them."""

from evaluator.metrics import REGISTRY
from evaluator.metrics.options import options_of

FORMS = [
    *REGISTRY,
    *(f"{name}@2" for name, metric in REGISTRY.items() if "k" in options_of(metric)),
    *("facts_recall_statement", "facts_f1_trimmed@1", "facts_ndcg_exact", "rouge1_recall_any_script"),
    *(f"{name}_any_script" for name, metric in REGISTRY.items() if "tokenisation" in options_of(metric)),
]
