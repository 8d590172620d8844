"""What objects may hold: types of built-in kinds and of custom resources, decoding, defaults, rules. No I/O."""
