"""The dashboard: its HTTP API, its pages, and what keeps both safe."""
