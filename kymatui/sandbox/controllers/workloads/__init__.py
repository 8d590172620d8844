"""Controllers of everything that creates pods, and of what scales or protects those pods."""
