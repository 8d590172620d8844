"""Whole objects against a schema: decoding, pruning, ObjectMeta, structural schemas and their constraints; no rule
of a single kind.
"""
