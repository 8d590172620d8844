"""Use cases of authors: a module from its sources to a component and its templates.

What is done with components in registries is in actions/bundle.
"""
