"""What a plan of a write is made of, whatever it writes: the cluster and its manager, the choice of template, what
it deletes, its preview, its job.
"""
