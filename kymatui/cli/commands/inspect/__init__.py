"""Commands that read one cluster, or one runtime with its control plane: catalog, module, checks, events, drift,
audit.
"""
