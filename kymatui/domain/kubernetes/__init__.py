"""Plain Kubernetes: names, metadata and fields of any object, references, RBAC, schemas; nothing of Kyma but its
label names.
"""
