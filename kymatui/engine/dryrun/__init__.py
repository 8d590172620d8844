"""Previews of an application: server-side dry run, client-side estimate, no-op check, field takeover."""
