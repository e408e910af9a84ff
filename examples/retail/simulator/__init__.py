"""99 shops and a web shop as they send invoices: a pure generator, what must come of it, and a sender."""

from examples.retail.simulator.sent import Sent
from examples.retail.simulator.truth import Truth
from examples.retail.simulator.world import World, simulate

__all__ = ["Sent", "Truth", "World", "simulate"]
