# Two commands do it all: `make run` and `make test`. Each makes .venv, installs what constraints.txt pins, and runs.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
RUN_ARGS ?=
TEST_ARGS ?=

# Two threads on shared cores spin-wait and are 4 to 15 times slower than one.
export OMP_NUM_THREADS ?= 1
export MKL_NUM_THREADS ?= 1
export OPENBLAS_NUM_THREADS ?= 1
export NUMBA_NUM_THREADS ?= 1
export MPLBACKEND ?= Agg

.PHONY: run test lint clean

run: $(STAMP)
	$(BIN)/sdg run $(RUN_ARGS)

test: lint
	$(BIN)/python -m pytest -m "not slow" -n 2 --cov --cov-report=term $(TEST_ARGS)

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy sdg
	$(BIN)/lint-imports

clean:
	rm -rf $(VENV) build dist *.egg-info .coverage .coverage.* .mypy_cache .ruff_cache .pytest_cache .import_linter_cache

# The stamp is written last, so an interrupted installation is done again; it is quick because pip keeps what is there.
$(STAMP): setup.cfg pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(None if sys.version_info >= (3, 11) else "sdg needs Python 3.11 or newer, this is " + sys.version.split()[0] + ": try make PYTHON=python3.11")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --disable-pip-version-check --quiet --constraint constraints.txt --editable '.[dev,arm]'
	touch $(STAMP)
