# Two commands do it all: `make run` and `make test`. Each makes .venv, installs what constraints.txt pins, and runs.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
RUN_ARGS ?=
# Which torch: without an NVIDIA GPU a build without CUDA, which spares gigabytes. TORCH_INDEX names an index that has it.
TORCH ?= $(if $(wildcard /dev/nvidiactl),torch,torch==2.13.0+cpu)
TORCH_INDEX ?=
PIP = $(BIN)/python -m pip install --disable-pip-version-check --quiet --constraint constraints.txt
TEST_ARGS ?=
# What Tesseract reads on pages that RapidOCR doesn't: Cyrillic, Greek, Arabic, Hebrew, Korean, Thai, Devanagari; 7 MB.
SCRIPTS := rus ukr ell ara heb kor tha hin

# Two threads on shared cores spin-wait and are 4 to 15 times slower than one.
export OMP_NUM_THREADS ?= 1
export MKL_NUM_THREADS ?= 1
export OPENBLAS_NUM_THREADS ?= 1
export NUMBA_NUM_THREADS ?= 1
export MPLBACKEND ?= Agg

.PHONY: run test coverage lint tests kernels browser docs clean

run: $(STAMP)
	$(BIN)/sdg run $(RUN_ARGS)

test: lint tests

# Each of three processes takes a third of the tests, in order, so that what a file's tests share is made once; the first
# to be through takes from the others.
tests: browser kernels
	$(BIN)/python -m pytest -m "not slow" -n 3 --dist worksteal $(TEST_ARGS)

# The same tests with the lines counted that they run: tracing makes Python about twice as slow.
coverage: TEST_ARGS += --cov --cov-report=term
coverage: lint tests

# Compiled once, before three processes would compile the same.
kernels: $(STAMP)
	$(BIN)/python -c 'from sdg.experiments.workers.compiled import ensure; ensure()'

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Chromium and Tesseract, for tests that use them: installed as root, otherwise the command is printed and they are skipped.
browser:
	@command -v chromium >/dev/null || command -v google-chrome >/dev/null || { \
		set -- apt-get install -y -qq --no-install-recommends chromium chromium-driver fonts-liberation fonts-dejavu-core; \
		if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && apt-get update -qq && "$$@" >/dev/null; then :; \
		else echo "no Chromium: tests in a browser are skipped. To install it: $$*"; fi; }
	@command -v tesseract >/dev/null || { \
		set -- apt-get install -y -qq --no-install-recommends tesseract-ocr $(addprefix tesseract-ocr-,$(SCRIPTS)); \
		if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && apt-get update -qq && "$$@" >/dev/null; then :; \
		else echo "no Tesseract: pages are read in Latin, Chinese and Japanese alone. To install it: $$*"; fi; }

docs: $(STAMP)
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

clean:
	rm -rf $(VENV) build dist *.egg-info .coverage .coverage.* .mypy_cache .ruff_cache .pytest_cache .import_linter_cache

# The stamp is written last, so an interrupted installation is done again; it is quick because pip keeps what is there.
$(STAMP): setup.cfg pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(None if sys.version_info >= (3, 11) else "sdg needs Python 3.11 or newer, this is " + sys.version.split()[0] + ": try make PYTHON=python3.11")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) '$(TORCH)' $(if $(TORCH_INDEX),--extra-index-url '$(TORCH_INDEX)') || echo "pip finds no $(TORCH): taking what it finds instead; make TORCH_INDEX=... names another place"
	$(PIP) --editable '.[dask,dev,docs,hub,mujoco,phone,privacy,ui]'
	touch $(STAMP)
