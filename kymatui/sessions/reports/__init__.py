"""Reports that read clusters: the audit of one cluster, of a fleet and of its control plane, and maintenance
windows. Nothing is written.
"""
