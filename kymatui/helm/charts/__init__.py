"""Charts: loading, metadata, dependencies, values and repositories. Nothing here renders."""
