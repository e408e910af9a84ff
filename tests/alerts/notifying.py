"""A process of its own that tells people of alerts, to be killed: topic, target, seconds between messages."""

import sys
import threading

from headrace.alerts import Notifier

topic, target, every = sys.argv[1:]
notifier = Notifier(
    None, [target], topic=topic, secret="a secret of enough letters", allow_private=True, gather="100 ms", every=every
)
with notifier:
    print("ready", flush=True)
    threading.Event().wait()
