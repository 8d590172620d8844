"""Helm charts rendered in pure Python, as Helm v4 renders them."""
