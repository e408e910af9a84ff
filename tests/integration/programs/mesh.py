"""Programs of files, as ``headrace run`` runs them, in a process that a test can kill."""

import json
import sys

from headrace.cli.main import main

told = json.loads(sys.argv[1])
sys.argv = ["headrace", "run", *told["files"], "--quiet"]
main()
