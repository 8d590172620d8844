"""One row a module out of a snapshot, with state, reason and problems; its JSON, its objects and events, and what
differs between two catalogs.
"""
