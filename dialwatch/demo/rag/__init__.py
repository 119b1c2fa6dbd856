"""A small RAG application behind DIAL: it finds passages in texts that it ships and answers with their sentences."""
