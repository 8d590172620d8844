"""The catalog: one row for each module with state, reason and problems.

The folder also has the catalog's JSON, the objects and events of a module, and the differences of two catalogs.
"""
