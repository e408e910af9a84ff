"""``python -m headrace`` is the command, too."""

from headrace.cli.main import main

main()
