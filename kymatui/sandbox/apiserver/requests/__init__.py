"""Request parts outside the body: path, query options, selectors, continue tokens."""
