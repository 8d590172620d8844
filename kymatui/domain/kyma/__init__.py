"""The API of lifecycle-manager as data: resources, states, versions, maintenance windows."""
