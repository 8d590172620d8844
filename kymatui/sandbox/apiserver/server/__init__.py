"""The complete API server: assembly, request pipeline, bootstrap objects, admin path."""
