"""Bundles and the reading of objects: YAML documents, files, archives, addresses without secrets.

Charts, layers and kustomizations are in engine.sources.
"""
