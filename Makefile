# Everything happens in .venv; nothing else of the machine is touched.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SEED ?= 42
JOBS ?= auto
PYTEST := $(BIN)/pytest -n $(JOBS) --dist worksteal
PIP := $(BIN)/pip install --quiet --disable-pip-version-check
LOCKED := $(PIP) --require-hashes
COMPILE := $(BIN)/uv pip compile --quiet --no-config --universal --python-version 3.11 --generate-hashes \
	--no-annotate --custom-compile-command 'make lock' --default-index https://pypi.org/simple \
	$(if $(UPGRADE),--upgrade) pyproject.toml

# The program is started hundreds of times by the tests: its modules are compiled once, not each time.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help install demo fmt lint types test test-all test-slow docs snap bench bench-learner lock build check clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "skillopt needs Python 3.11 or newer; set PYTHON=python3.11")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: pyproject.toml | $(BIN)/python
	$(PIP) --editable '.[local]'
	@touch $@

# All but the engine of ALFWorld comes as wheels, so that no code of a package runs at its installation.
$(VENV)/.dev: pyproject.toml requirements-dev.txt requirements-alfworld.txt | $(BIN)/python
	$(LOCKED) --only-binary :all: --requirement requirements-dev.txt
	$(PIP) --no-deps --no-build-isolation --editable .
	$(LOCKED) --no-deps --no-build-isolation --requirement requirements-alfworld.txt || \
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

test: $(VENV)/.dev ## Run the quick tests (some minutes on two cores)
	$(PYTEST) -m 'not slow'

test-all: $(VENV)/.dev ## Run all tests, slow ones with real components included
	$(PYTEST) -m 'slow or not slow'

test-slow: $(VENV)/.dev ## Run the slow tests alone, with real components
	$(PYTEST) -m slow

docs: $(VENV)/.dev ## Check the docs: pages fresh, all snippets and worlds run
	$(PYTEST) tests/docs

snap: $(VENV)/.dev ## Write the generated docs pages, plots and tables anew (some minutes)
	$(BIN)/python docs/generate.py
	$(BIN)/python docs/examples/worlds/run_all.py --full

bench: $(VENV)/.dev ## Measure speed, an hour and a half (QUICK=1: some minutes, writes nothing)
	$(PIP) --requirement bench/requirements.txt
	-$(BIN)/python bench/speed.py $(if $(QUICK),--quick)
	$(BIN)/python docs/generate.py

bench-learner: $(VENV)/.dev ## Measure presets and GEPA in simulated worlds (hours of CPU)
	$(PIP) --requirement bench/requirements.txt
	$(BIN)/python bench/learner.py --jobs 2
	$(BIN)/python docs/generate.py

lock: $(VENV)/.dev ## Fit the lock of packages to pyproject.toml (UPGRADE=1: to the newest releases)
	$(COMPILE) --no-build --extra dev --output-file requirements-dev.txt
	$(COMPILE) --extra alfworld --constraint requirements-dev.txt --output-file requirements-alfworld.txt \
		$$(sed -n 's/^\([a-z0-9][a-z0-9.-]*\)==.*/--no-emit-package \1/p' requirements-dev.txt)

build: $(VENV)/.dev ## Build wheel, sdist and a bill of materials into dist/
	$(BIN)/python -m build --no-isolation
	$(BIN)/python .ci/sbom.py dist

check: lint types test ## Everything a change must pass (docs are among the tests)

clean: ## Remove .venv and build products
	rm -rf $(VENV) dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis
