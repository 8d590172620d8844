"""Who asks and what they may do: tokens, impersonation, RBAC, escalation, access reviews."""
