"""Kafka as a source: topics that a consumer group reads."""
