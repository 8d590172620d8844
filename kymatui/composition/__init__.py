"""Build adapters and hand them to actions. Until the cuts in the map are made, also use cases that still know a
session's class.
"""
