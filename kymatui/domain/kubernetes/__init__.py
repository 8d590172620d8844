"""Plain Kubernetes: metadata, fields, references, RBAC and schemas of any object."""
