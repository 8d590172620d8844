"""Bundles: modules from their sources to a registry, and back. `sources.py` writes the sources of a module."""
