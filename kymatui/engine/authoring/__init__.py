"""Modules from their sources: module configs, images, templates, components and their artifacts, rules of lint.

Pure functions over bytes. Files, registries and git are read by adapters; what a person asked for is in
actions/authoring.
"""
