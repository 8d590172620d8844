"""`python -m kymatui`."""

from kymatui.cli.main import main

raise SystemExit(main())
