"""Template functions with regular expressions, encodings, paths, URLs and host names."""
