"""Deletion of a module: plan, state, managed resources, and the module's own objects."""
