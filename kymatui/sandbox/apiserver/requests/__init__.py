"""The parts of a request outside its body: path, query options, selectors, continue tokens."""
