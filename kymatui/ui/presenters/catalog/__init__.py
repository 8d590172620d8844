"""The catalog of one cluster as view models: module rows, columns, channels, changes, problems, empty-table notices."""
