"""Build adapters and hand them to actions: sources of modules, installations, shell completion, and the sandbox of the
demo. Use cases that still build adapters themselves are in its folders.
"""
