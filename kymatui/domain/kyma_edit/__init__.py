"""Edits of a Kyma (its module entries, its labels): the patch, what it would do to each module, and how far
lifecycle-manager has come with it.
"""
