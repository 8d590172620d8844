"""Defaults and validation of built-in kinds beyond their types."""
