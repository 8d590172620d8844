"""Edits of a Kyma's module entries and labels: the patch, its effects, and the progress afterwards."""
