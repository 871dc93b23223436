# Everything happens in .venv; nothing else of the machine is touched.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SEED ?= 42
JOBS ?= auto
PYTEST := $(BIN)/pytest -n $(JOBS)

.DEFAULT_GOAL := help
.PHONY: help install demo fmt lint types test test-all test-slow docs snap build check clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "skillopt needs Python 3.11 or newer; set PYTHON=python3.11")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: pyproject.toml | $(BIN)/python
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[local]'
	@touch $@

$(VENV)/.dev: pyproject.toml | $(BIN)/python
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[dev]'
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[alfworld]' || \
		echo 'the engine of ALFWorld cannot be compiled here: its tests are skipped'
	@command -v chromium >/dev/null || [ "$$(id -u)" != 0 ] || \
		{ apt-get update && apt-get install -y --no-install-recommends chromium; } >/dev/null 2>&1 || \
		echo 'Chromium cannot be installed here: the tests in a browser are skipped'
	@touch $@ $(VENV)/.demo

install: $(VENV)/.dev ## Set up .venv with everything the checks need

demo: $(VENV)/.demo ## Train a skill for a real local model (SEED=1 for another run)
	$(BIN)/skillopt train searchqa --preset demo --seed $(SEED)

fmt: $(VENV)/.dev ## Format the code
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

lint: $(VENV)/.dev ## Check format and lint
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(VENV)/.dev ## Check types
	$(BIN)/mypy

test: $(VENV)/.dev ## Run the tests (a quarter of an hour on two cores)
	$(PYTEST) -m 'not slow'

test-all: $(VENV)/.dev ## Run all tests, slow ones with real components included
	$(PYTEST) -m 'slow or not slow'

test-slow: $(VENV)/.dev ## Run the slow tests alone, with real components
	$(PYTEST) -m slow

docs: $(VENV)/.dev ## Check the docs: pages fresh, snippets run
	$(PYTEST) tests/docs

snap: $(VENV)/.dev ## Write the generated docs pages, plots and tables anew (some minutes)
	$(BIN)/python docs/generate.py
	$(BIN)/python docs/examples/worlds/run_all.py --full

build: $(VENV)/.dev ## Build wheel and sdist into dist/
	$(BIN)/python -m build

check: lint types test ## Everything a change must pass (docs are among the tests)

clean: ## Remove .venv and build products
	rm -rf $(VENV) dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis
