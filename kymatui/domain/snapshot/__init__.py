"""The snapshot of one cluster at one moment, its missing lists, and indexes of its objects."""
