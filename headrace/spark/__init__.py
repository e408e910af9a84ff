"""Plan nodes as Spark queries."""
