"""Screens of a control plane: its runtimes, and what compares or counts them. Screens of one cluster are outside."""
