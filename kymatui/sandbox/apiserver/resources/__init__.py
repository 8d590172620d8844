"""Served resources: catalog, ObjectMeta, strategies, field ownership, held objects."""
