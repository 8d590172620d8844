"""Patches without ownership tracking: JSON patch, JSON merge patch and strategic merge patch."""
