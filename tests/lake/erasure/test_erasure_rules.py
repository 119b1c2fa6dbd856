"""Rules of erasure, one for each table."""

from __future__ import annotations

from lake.erasure.erasure_rules import RULES
from lake.spec.schemas import PARSED_LOGS, TABLES


def test_a_rule_reads_columns_of_its_table_and_rewrites_what_it_reads() -> None:
    assert PARSED_LOGS.name not in RULES
    for name, rule in RULES.items():
        assert set(rule.columns) <= set(TABLES[name].schema.names), name
        assert rule.rewrite.keys() <= set(rule.columns), name
