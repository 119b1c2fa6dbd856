"""Score answers in a pandas frame: `python examples/score_a_dataframe.py`."""

import pandas as pd

from evaluator.metrics import aggregate, compute

frame = pd.DataFrame(
    {
        "question": ["How long can I return goods?", "Who pays for it?"],
        "answer": ["Thirty days from delivery.", "The seller pays by aeroplane."],
        "contexts": [["Goods can be returned within thirty days from delivery."], ["The buyer pays for the return."]],
        # Ground truth. Metrics that do not need it do not read it.
        "facts": [["thirty days from delivery"], ["The buyer pays"]],
        "reference_answers": [["Within thirty days."], None],
    }
)

scores = compute(frame, ["faithfulness_kprecision", "facts_recall", "answer_correctness_token_recall"])
print(scores.round(2).to_string())

# A row without a value has a reason, and every mean says how many rows it is over.
print(aggregate(scores).round(2).to_string())
