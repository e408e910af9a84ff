# make demo and make test need Python 3.11 or later, Java 17 or later, and nothing else.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
CLASSES := $(VENV)/spark.jsa
PIP := $(BIN)/pip install --quiet --disable-pip-version-check
# Takes a second where all is cached; what pip is told of mirrors it does not know, so pip may have to do it.
UV := $(BIN)/uv pip install --quiet --python $(BIN)/python

.PHONY: setup demo test test-faults lint format bench docs lock clean

demo: setup ## the retail mesh with the dashboard; make demo ARGS="--rate 1000 --seconds 60"
	@$(BIN)/headrace demo $(ARGS)

test: setup $(CLASSES) ## everything, with a sample of the long fault tests, in three processes: on two cores they wait a lot
	$(BIN)/pytest -n 3 --dist worksteal

test-faults: setup $(CLASSES) ## the fault tests, whole; some with make test-faults ARGS=tests/integration/test_retail.py
	HEADRACE_FAULTS=all $(BIN)/pytest -m "faults or whole" $(ARGS)

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
	@sed -n '/^uv==/,/[^\\]$$/p' requirements.lock > $(VENV)/uv.lock
	@$(PIP) --require-hashes -r $(VENV)/uv.lock
	@$(UV) --offline --require-hashes -r requirements.lock 2>/dev/null || $(UV) --require-hashes -r requirements.lock || \
		$(PIP) --require-hashes -r requirements.lock
	@$(PIP) --no-deps --no-build-isolation --editable .
	@touch $(READY)

# Without it the tests take longer, and pass all the same.
$(CLASSES): $(READY) tests/archive.py
	-@$(BIN)/python -m tests.archive $@

clean:
	rm -rf $(VENV) site .pytest_cache .mypy_cache .ruff_cache .hypothesis
