"""What was observed in one cluster at one moment, what its missing lists leave unknown, and indexes to find objects
in it.
"""
