"""The verbs: plan, apply, check, delete, reconcile. Synchronous; the outside world is reached through ports."""
