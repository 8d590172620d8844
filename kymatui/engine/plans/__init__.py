"""A plan as data: its steps, differences and grants, the transforms before it, its JSON document. Nothing here asks
a cluster.
"""
