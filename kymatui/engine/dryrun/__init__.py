"""What applying an object or a hook would do: server-side dry run, client-side estimate, no-op check, takeover of
another manager's fields.
"""
