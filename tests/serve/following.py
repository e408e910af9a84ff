"""A process that follows a table until it is killed: ``following.py TOPIC FOLDER SCHEMA KEY``."""

import sys
import time

from headrace.serve import View

topic, folder, schema, key = sys.argv[1:]
with View(topic, schema or None, key or (), folder=folder) as view:
    while True:
        print(sum(view.offsets.values()), flush=True)
        time.sleep(0.005)
