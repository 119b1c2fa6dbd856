from .blocking_client import BoundJudge, JudgeClient
from .budget_ledger import BudgetLedger
from .calls import Calls
from .exchange import NOT_FOR_GOOD, ChatMessage, JudgeError, JudgeReply, JudgeRequest, Reason, Spend
from .fence import fenced
from .judge import Judge
from .schema import MisfitError, Schema
from .settings import JudgeSettings

__all__ = [
    "NOT_FOR_GOOD",
    "BoundJudge",
    "BudgetLedger",
    "Calls",
    "ChatMessage",
    "Judge",
    "JudgeClient",
    "JudgeError",
    "JudgeReply",
    "JudgeRequest",
    "JudgeSettings",
    "MisfitError",
    "Reason",
    "Schema",
    "Spend",
    "fenced",
]
