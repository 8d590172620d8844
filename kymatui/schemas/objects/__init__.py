"""Objects and schemas in general: decoding, pruning, ObjectMeta, structural schemas, constraints."""
