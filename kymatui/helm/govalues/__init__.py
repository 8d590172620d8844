"""Go's values in Python: types, truth, comparison, printing. See `types` for the table of what stands for what."""
