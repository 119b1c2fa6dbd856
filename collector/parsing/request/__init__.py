"""The body of a request: question, history, documents."""
