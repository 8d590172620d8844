"""The API of lifecycle-manager as data: its resources, states, versions and maintenance windows. Nothing is looked
up in a cluster here.
"""
