"""Ask the lake with DuckDB: `python examples/read_the_lake.py LAKE DEPLOYMENT`. Needs `pip install duckdb`."""

import sys

import duckdb

from lake import PARSED_LOGS, SCORES, USER_SIGNALS, Lake

root, deployment = sys.argv[1:]
lake = Lake(root)
# DuckDB finds Python variables by their names, and reads only the columns and days that a query needs.
logs = lake.table(PARSED_LOGS, deployment).dataset()
scores = lake.table(SCORES, deployment).dataset()
signals = lake.table(USER_SIGNALS, deployment).dataset()

QUALITY_BY_DAY = """
    select date, count(value) as scored, round(avg(value), 2) as faithfulness
    from scores
    where metric = 'faithfulness_kprecision'
    group by date
    order by date
"""

# A rating carries the id of any chunk of the answer, so it is joined with the list of these ids. Some gateways give all
# answers one id: there the conversation tells them apart.
WORST_ANSWERS = """
    select round(s.value, 2) as faithfulness, l.question, l.answer, r.signal
    from scores s
    join logs l using (event_id)
    left join signals r on list_contains(l.response_ids, r.response_id) and r.origin = 'explicit'
        and r.chat_id is not distinct from l.chat_id
    where s.metric = 'faithfulness_kprecision' and s.value is not null
    order by s.value
    limit 5
"""

duckdb.sql(QUALITY_BY_DAY).show()
duckdb.sql(WORST_ANSWERS).show()
