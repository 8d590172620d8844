"""Schemas of built-in kinds and custom resources: types, decoding, defaults, validation. No I/O."""
