"""The patches that do not track ownership: JSON patch, JSON merge patch and strategic merge patch."""
