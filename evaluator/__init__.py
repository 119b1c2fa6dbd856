"""Evaluator: scores of answers, by three products that share their metrics.

- The service scores what is new in the lake and makes ground truth of liked answers: `service`, with `settings`,
  `answers`, `scoring`, `sampling`, `anchors` and `ground_truth`.
- The metric library is `metrics`, with `models` and `judges`. Importing it loads nothing of the service, nor the lake.
- The offline tools are `datasets`, which scores tables, and `calibration`, which compares a judge with people.
"""
