"""Build adapters and hand them to actions: sources of modules, installations, edits and deletions of a session,
campaigns, shell completion, and the sandbox of the demo. Reports that build their own adapters are in `reports`.
"""
