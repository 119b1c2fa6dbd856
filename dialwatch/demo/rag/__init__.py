"""A small RAG application behind DIAL: it finds passages in texts that it ships and answers with their sentences."""

import os

# The SDK reads this when it is imported; without it its classes are those of pydantic 1, which are slower.
os.environ.setdefault("PYDANTIC_V2", "true")
