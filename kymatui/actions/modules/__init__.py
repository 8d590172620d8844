"""The use cases of modules: direct installations, from where and by which plan, and the comparison of versions."""
