"""The Manifest controller: installs what a Manifest names, keeps it so, tells how it is, and takes it away again."""
