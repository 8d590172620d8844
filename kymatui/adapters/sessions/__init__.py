"""Sessions with clusters: opened, listed and watched. One folder for one cluster, one for a control plane and its
runtimes, one for the watches below both.
"""
