"""The deletion of a module: its plan, its state, the resources that its manager manages, its own objects."""
