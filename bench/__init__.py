"""Side-by-side measurements; ``make bench`` runs them and writes docs/benchmarks.md."""
