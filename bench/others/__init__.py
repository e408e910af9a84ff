"""The same jobs over the same topics in other tools, each in an environment of its own."""
