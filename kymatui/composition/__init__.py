"""Build adapters and hand them to actions, with the use cases that still build adapters themselves. The sandbox of the
demo starts here.
"""
