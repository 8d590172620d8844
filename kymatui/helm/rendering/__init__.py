"""Rendering of a chart with its values, the manifests that come out of it, and helm's records of releases."""
