"""Which version of a module should run and which one runs: channels, templates, refusals, evidence, drift, and the
difference of two versions.
"""
