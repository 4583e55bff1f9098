# Every target sets up what it needs; none asks for anything but Python 3.11, make and a C compiler.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV   ?= .venv
BIN    := $(VENV)/bin
PIP    := PIP_CONSTRAINT=constraints.txt $(BIN)/python -m pip install --quiet --disable-pip-version-check
ONLY   ?=

.PHONY: help venv demo test fuzz browser lint package lowest bench reproduce claims docs clean

help: ## this list
	@grep -E '^[a-z]+:.*##' Makefile | sed -E 's/:.*## /\t/' | expand -t 14

$(VENV)/.user: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(PIP) -e '.[plot]'
	@touch $@

$(VENV)/.dev: $(VENV)/.user studies/pyproject.toml
	$(PIP) -e '.[dev]' -e 'studies[all]'
	@touch $@

venv: $(VENV)/.dev ## set up the virtual environment, nothing else

demo: $(VENV)/.user ## a new function with the help of three past runs, and without
	$(BIN)/bers demo

test: $(VENV)/.dev browser ## all tests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python -m pytest -n 2 --dist worksteal

browser: # for the tests of the page; where it cannot be had, they are skipped and say so
	@command -v chromium >/dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && \
	  apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium; } >/dev/null 2>&1 || \
	  echo "Chromium is not installed: the tests of the page in a browser are skipped."

fuzz: $(VENV)/.dev ## odd arguments and damaged files, a hundred times as many as in the tests
	FUZZ=100 $(BIN)/python -m pytest tests/test_fuzz.py

package: ## both distributions: built, checked, and the wheels tried in an environment of their own
	rm -rf build/package
	$(PYTHON) -m venv build/package/tools
	PIP_CONSTRAINT=constraints.txt build/package/tools/bin/python -m pip install --quiet --disable-pip-version-check build twine
	build/package/tools/bin/python -m build --outdir build/package/dist .
	build/package/tools/bin/python -m build --outdir build/package/dist studies
	build/package/tools/bin/python -m twine check --strict build/package/dist/*
	$(PYTHON) -m venv build/package/clean
	PIP_CONSTRAINT=constraints.txt build/package/clean/bin/python -m pip install --quiet --disable-pip-version-check build/package/dist/*.whl
	cd build/package && clean/bin/python -c "import bers; [getattr(bers, name) for name in bers.__all__]" && clean/bin/bers --version && clean/bin/bers-studies --help >/dev/null

lowest: ## the tests of data, model and trust with the oldest dependencies that are promised
	rm -rf build/lowest
	mkdir -p build && $(PYTHON) -m venv build/lowest
	$(PYTHON) .ci/lowest plot constrained sklearn > build/lowest/pins.txt
	PIP_CONSTRAINT=build/lowest/pins.txt build/lowest/bin/python -m pip install --quiet --disable-pip-version-check -e '.[plot,constrained,sklearn]' beartype h5py hypothesis mpmath pandas polars pytest quadprog statsmodels
	build/lowest/bin/python -m pytest -q tests/model tests/trust tests/data --ignore=tests/data/test_minari.py

lint: $(VENV)/.dev ## style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright

bench: $(VENV)/.dev ## speed and memory against named peers; ONLY=name runs one
	$(BIN)/python benchmarks/run.py $(ONLY)

reproduce: $(VENV)/.dev ## all long experiments, for hours; results under runs/
	$(BIN)/bers-studies reproduce
	$(BIN)/bers-studies claims runs
	$(BIN)/bers-studies report runs

claims: $(VENV)/.dev ## the tables of claims in README.md and docs/, made anew from reproductions/
	$(BIN)/bers-studies claims -w README.md -w docs/index.md -w docs/claims.md

docs: $(VENV)/.dev ## the documentation as a site under site/
	PYTHONPATH=docs $(BIN)/zensical build --strict --clean

clean: ## remove the virtual environment and everything built
	rm -rf $(VENV) site .cache build *.egg-info studies/build studies/*.egg-info .pytest_cache .ruff_cache
