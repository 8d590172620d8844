"""A resource that is served: its catalog entry, ObjectMeta, strategy, field ownership, and objects that are held."""
