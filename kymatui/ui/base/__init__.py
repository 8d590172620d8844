"""Base classes of screens: first paint, prompt, frame, help, single table. No screen of a concept lives here, and
nothing that writes.
"""
