"""Use cases of artifacts in registries, layouts and archives: images and components copied, compared, extended.

What builds, signs and verifies components is in actions/bundle, whose ports and readers these use.
"""
