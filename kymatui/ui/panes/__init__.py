"""Tabs of the module screen, one file each."""
