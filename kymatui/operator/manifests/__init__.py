"""The Manifest controller: it installs, maintains, reports on and uninstalls what a Manifest names."""
