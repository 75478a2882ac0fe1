# Lapwing: all commands for developers. `make help` lists them.
#
# All targets use one virtual environment, .venv, but those that test other versions. Stamp files in
# it record what has been installed; they depend on pyproject.toml and constraints.txt, so a second
# call installs nothing.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
OLDEST := .venv-oldest
NEWEST := .venv-newest
ARGS   ?=
DEVICE ?= cuda

# The constraints also apply to the build environment, so that hatchling is pinned as well
# (older versions of pip read PIP_CONSTRAINT there, newer ones PIP_BUILD_CONSTRAINT).
INSTALL := -m pip install --quiet --disable-pip-version-check
PIP := PIP_CONSTRAINT=constraints.txt PIP_BUILD_CONSTRAINT=constraints.txt \
       $(BIN)/python $(INSTALL) -c constraints.txt

# One process per CPU with one thread each: on small problems more threads only cost time.
PYTEST := -m pytest -n auto --dist worksteal
SINGLE := OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1

.DEFAULT_GOAL := help
.PHONY: help demo test gpu-test test-oldest test-newest coverage lint format types imports house bench fuzz mutants papers peers docs hooks clean

help:  ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-11s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

demo: $(VENV)/.stamp-demo  ## Install the package and run the demonstration
	$(BIN)/lapwing demo $(ARGS)

test: $(VENV)/.stamp-dev  ## Run the whole test suite (ARGS="-k graph -x" goes to pytest)
	$(SINGLE) $(BIN)/python $(PYTEST) $(ARGS)

gpu-test: $(VENV)/.stamp-gpu  ## Install torch and run the tests of devices on a GPU (DEVICE=cuda)
	LAPWING_TEST_DEVICE=$(DEVICE) $(BIN)/python $(PYTEST) tests/arrays/test_device.py tests/contract $(ARGS)

test-oldest: $(OLDEST)/.stamp-dev  ## Run the suite with the lowest versions of pyproject.toml
	$(SINGLE) $(OLDEST)/bin/python $(PYTEST) $(ARGS)

test-newest: $(NEWEST)/.stamp-venv  ## Run the suite with the newest versions (PYTHON=python3.13)
	$(NEWEST)/bin/python $(INSTALL) --upgrade --upgrade-strategy eager -e ".[test]"
	$(SINGLE) $(NEWEST)/bin/python $(PYTEST) $(ARGS)

coverage: $(VENV)/.stamp-dev  ## Run the test suite and print how much of the package it runs
	$(MAKE) test ARGS="--cov=lapwing --cov-report=xml:build/coverage.xml $(ARGS)"
	$(BIN)/python tools/house.py --coverage build/coverage.xml | tail -n 1

lint: $(VENV)/.stamp-dev  ## Check style and formatting
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: $(VENV)/.stamp-dev  ## Fix style and formatting
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

types: $(VENV)/.stamp-dev  ## Check types
	$(BIN)/mypy src benchmarks/experiments

imports: $(VENV)/.stamp-dev  ## Check that imports run downwards
	$(BIN)/lint-imports --no-logo

house: $(VENV)/.stamp-dev  ## Print MRO depths, lines per module, long functions (ARGS=--check)
	$(BIN)/python tools/house.py $(ARGS)

# The benchmark scripts, without the module they share and those that have a target of their own.
BENCHMARKS = $(filter-out common papers peers,$(basename $(notdir $(wildcard benchmarks/*.py))))

bench: $(VENV)/.stamp-dev  ## Run one benchmark: make bench NAME=knn_graph
	@test -n "$(filter $(NAME),$(BENCHMARKS))" || { \
	    echo 'Choose a benchmark: make bench NAME=knn_graph'; printf '  %s\n' $(sort $(BENCHMARKS)); exit 2; }
	$(BIN)/python benchmarks/$(NAME).py $(ARGS)

fuzz: $(VENV)/.stamp-dev  ## Fit random odd data for a while (ARGS="--seconds 3600 --seed 1")
	$(BIN)/python tools/fuzz.py $(ARGS)

mutants: $(VENV)/.stamp-dev  ## Do tests notice small errors? (ARGS="--count 200 --seed 0")
	$(BIN)/python tools/mutants.py $(ARGS)

papers: $(VENV)/.stamp-dev  ## Repeat the papers' experiments (ARGS="--data FOLDER", ARGS=--help)
	$(BIN)/python benchmarks/papers.py $(ARGS)

peers: $(VENV)/.stamp-dev  ## Compare Lapwing with other libraries (ARGS="--mode standard --jobs 2")
	$(BIN)/python benchmarks/peers.py $(ARGS)

# Warnings are errors: broken links, failing examples, pages that are in no table of contents.
docs: $(VENV)/.stamp-docs  ## Build the site in build/docs: guide, gallery, reference
	$(SINGLE) $(BIN)/python -m sphinx -W --keep-going -q -d build/doctrees $(ARGS) docs build/docs
	@echo 'Open build/docs/index.html'

hooks: $(VENV)/.stamp-dev  ## Install the pre-commit hooks
	$(BIN)/pre-commit install

clean:  ## Remove the environment, caches and build products
	rm -rf $(VENV) $(OLDEST) $(NEWEST) build dist docs/generated .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/.stamp-venv $(OLDEST)/.stamp-venv $(NEWEST)/.stamp-venv:
	@command -v $(PYTHON) >/dev/null || { \
	    echo 'Lapwing needs Python 3.11 or newer, and $(PYTHON) was not found.'; \
	    echo 'Choose one: make PYTHON=/path/to/python3.12 ...'; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	    echo "Lapwing needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) --version 2>&1)."; \
	    echo 'Choose another: make PYTHON=/path/to/python3.12 ...'; exit 1; }
	$(PYTHON) -m venv $(@D)
	@touch $@

$(VENV)/.stamp-demo: pyproject.toml constraints.txt | $(VENV)/.stamp-venv
	$(PIP) -e ".[plot,tables]"
	@touch $@

$(VENV)/.stamp-gpu: pyproject.toml constraints.txt | $(VENV)/.stamp-venv
	$(PIP) -e ".[dev,gpu]"
	@touch $@ $(VENV)/.stamp-dev $(VENV)/.stamp-demo

# dev contains plot and tables, so that the demo needs nothing else afterwards.
$(VENV)/.stamp-dev: pyproject.toml constraints.txt | $(VENV)/.stamp-venv
	$(PIP) -e ".[dev]"
	@touch $@ $(VENV)/.stamp-demo

$(VENV)/.stamp-docs: pyproject.toml constraints.txt | $(VENV)/.stamp-venv
	$(PIP) -e ".[docs]"
	@touch $@ $(VENV)/.stamp-demo

$(OLDEST)/.stamp-dev: pyproject.toml tools/lower_bounds.py | $(OLDEST)/.stamp-venv
	$(OLDEST)/bin/python tools/lower_bounds.py test > $(OLDEST)/constraints.txt
	$(OLDEST)/bin/python $(INSTALL) -c $(OLDEST)/constraints.txt -e ".[test]"
	@touch $@
