"""Screens, one file each."""
