# make demo and make test need Python 3.11 or later, Java 17 or later, and nothing else.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: setup demo test test-faults lint format bench docs lock clean

demo: setup ## start the broker and Spark, and watch revenue in windows
	@$(BIN)/headrace demo

test: setup ## everything, with a sample of the long fault tests
	$(BIN)/pytest

test-faults: setup ## the fault tests, whole
	HEADRACE_FAULTS=all $(BIN)/pytest -m "faults or whole"

lint: setup ## what CI checks before the tests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: setup
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: setup ## measure, and write the figures into docs/benchmarks.md
	$(BIN)/python -m bench

docs: setup ## pages in site/
	$(BIN)/mkdocs build --strict --quiet
	@echo "Open site/index.html"

lock: setup ## after changing a version in pyproject.toml or scripts/lock_jars.py
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-header --no-annotate --no-emit-index-url \
		--python-version 3.11 --extra dev --output-file requirements.lock pyproject.toml
	$(BIN)/python scripts/lock_jars.py

setup: $(READY)

$(READY): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Headrace needs Python 3.11 or later, but $(PYTHON) is $$($(PYTHON) -V 2>&1). Try: make PYTHON=python3.12 ..."; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || \
		{ echo "$(PYTHON) cannot make virtual environments. On Debian or Ubuntu: apt-get install python3-venv"; exit 1; }
	@echo "Setting up .venv (once)…"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	@$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $(READY)

clean:
	rm -rf $(VENV) site .pytest_cache .mypy_cache .ruff_cache .hypothesis
