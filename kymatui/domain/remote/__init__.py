"""A control plane and one of its runtimes side by side: what is synchronised between them, the catalog sync, and the
watcher's way back.
"""
