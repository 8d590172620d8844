"""Authentication and authorization: tokens, impersonation, RBAC, escalation, access reviews."""
