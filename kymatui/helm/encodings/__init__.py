"""JSON, TOML and YAML as Go's encoders and decoders write and read them."""
