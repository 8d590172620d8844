"""Bodies in and out: content negotiation, JSON, YAML, protobuf, and the bodies of PATCH."""
