"""Widgets that Textual lacks."""
