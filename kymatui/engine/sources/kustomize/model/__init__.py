"""A kustomization as data: its fields, its resources with their history of names, field specs, the order of output,
the files that it may read.
"""
