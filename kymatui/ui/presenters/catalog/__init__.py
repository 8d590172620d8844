"""Catalog of one cluster as view models: rows, columns, channels, changes, problems, notices."""
