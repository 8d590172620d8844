"""values.schema.json: whether values are what the charts ask for, in the words of Helm's library.

The jsonschema library decides; patterns are RE2's, and nothing is ever fetched: a reference to another place is an
error. Schemas without `$schema` are of 2020-12.
"""
