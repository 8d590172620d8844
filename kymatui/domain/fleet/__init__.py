"""All runtimes of a control plane: a row each, versions over the fleet, changes, maintenance, who has to act, and
campaigns.
"""
