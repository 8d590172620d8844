"""Request and answer bodies: content negotiation, JSON, YAML, protobuf, PATCH bodies."""
