"""Validation of values with values.schema.json, with the messages of Helm's library.

The jsonschema library validates; patterns are RE2's, and nothing is downloaded: a reference to another file or URL is
an error. Schemas without `$schema` are of draft 2020-12.
"""
