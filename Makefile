# Two commands on a fresh machine with Python 3.11 (or newer), venv, pip and make:
#   make demo    install into .venv, run the demonstration, print the path of its report
#   make test    install what the tests need, run those of a few minutes
# Everything lives in .venv. A stamp is written there only after pip has succeeded, so an
# interrupted installation is taken up again and a finished one is not repeated.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
.NOTPARALLEL:
.DEFAULT_GOAL := help

VENV := .venv
BIN := $(VENV)/bin
PYTHON ?= $(shell command -v python3.11 || command -v python3.12 || command -v python3.13 || command -v python3)
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
WORKERS ?= 2
PYTEST := $(BIN)/python -m pytest -n $(WORKERS)

# Tests and experiments on real data find it here; without it they are skipped (in CI: they fail).
DATA := $(abspath ../shared/data)
ifneq ($(wildcard $(DATA)),)
export SETVEIL_DATA ?= $(DATA)
endif

# Libraries that do the same as some of our checks live in an environment of their own.
PEERS := .venv-peers
ifneq ($(wildcard $(PEERS)/.installed),)
export SETVEIL_PEERS ?= $(abspath $(PEERS))/bin/python
endif

.PHONY: help demo docs screenshots peers test test-ci test-all coverage test-cluster check format bench bench-small experiments figures clean

help: ## list the targets
	@grep -E '^[a-z-]+:.*## ' $(firstword $(MAKEFILE_LIST)) | sed -E 's/:.*## /\t/' | expand -t 14

# A virtual environment that is there and works is kept; a broken one is made anew.
$(VENV)/.made: pyproject.toml
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "setveil needs Python 3.11 or newer; name one: make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@$(BIN)/python -m pip --version > /dev/null 2>&1 || { \
	  echo "making $(VENV) ..."; "$(PYTHON)" -m venv --clear $(VENV); }
	@$(PIP) --upgrade 'pip>=25.1,<27'  # --group needs 25.1
	@touch $@

$(VENV)/.installed: $(VENV)/.made
	@echo "installing setveil ..."
	@$(PIP) --editable .
	@touch $@

$(VENV)/.installed-%: $(VENV)/.installed
	@echo "installing what '$*' needs ..."
	@$(PIP) --editable '.[text,attack,spark,excel]' --group $*
	@touch $@

demo: $(VENV)/.installed ## install, run the demonstration, print the path of its report
	@$(BIN)/setveil demo

docs: $(VENV)/.installed-docs ## write docs/cli.md from the commands, and build the docs as a site
	@$(BIN)/python -m website.cli_pages
	@$(BIN)/python -m website.method_names
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet
	@echo "build/site/index.html"

# Its exit code is the audit's answer: 4 is "publish with care".
screenshots: $(VENV)/.installed ## run the demonstration and take the picture of its report (needs chromium)
	@$(BIN)/setveil demo --quiet > /dev/null || test $$? -eq 4
	@$(BIN)/python -m website.screenshots setveil-demo

# Three tiers; tests/tiers.py says how a test gets into which. Each leaves its durations in build/.
test: $(VENV)/.installed-test $(VENV)/.installed-docs ## the tests of a few minutes: all but the long ones, few examples each
	@$(PYTEST) -m "not slow and not long" --hypothesis-profile quick --junitxml build/test.xml

test-ci: $(VENV)/.installed-test $(VENV)/.installed-docs ## what CI runs: the long tests too, all examples; up to 45 minutes
	@$(PYTEST) -m "not slow" --junitxml build/test-ci.xml

$(PEERS)/.installed: pyproject.toml
	@echo "installing what our checks are compared with ..."
	@"$(PYTHON)" -m venv --clear $(PEERS)
	@$(PEERS)/bin/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1,<27'
	@$(PEERS)/bin/python -m pip install --quiet --disable-pip-version-check --group peers
	@touch $@

peers: $(PEERS)/.installed ## install pycanon and OpenDP beside it; `make test-ci` then compares with them

coverage: $(VENV)/.installed-coverage $(VENV)/.installed-test $(VENV)/.installed-docs ## which lines of src the tests of `make test` run
	@$(PYTEST) -m "not slow and not long" --hypothesis-profile quick --cov --cov-report json:build/coverage.json --cov-report term:skip-covered

test-all: $(VENV)/.installed-test $(VENV)/.installed-docs ## every test, the campaigns of many thousand cases too; hours
	@$(PYTEST) --junitxml build/test-all.xml

test-cluster: $(VENV)/.installed-test ## start a Spark cluster, kill some of it, compare; interrupt a job
	@$(BIN)/python -m pytest -q tests/spark/test_cluster.py tests/spark/test_interrupts.py -k "20000 or interrupt"

check: $(VENV)/.installed-check $(VENV)/.installed-test ## ruff, formatting, mypy strict
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check
	@$(BIN)/mypy

format: $(VENV)/.installed-check ## let ruff fix and format
	@$(BIN)/ruff check --fix
	@$(BIN)/ruff format

bench: $(VENV)/.installed-test ## measure everything; writes docs/performance.md
	@$(BIN)/python -m benchmarks --write docs/performance.md

bench-small: $(VENV)/.installed-test ## the same on small data, in a minute or two
	@$(BIN)/python -m benchmarks --small

experiments: $(VENV)/.installed-test ## the papers' experiments on less data, in minutes; FULL=1 for all of docs/results.md
	@$(BIN)/python -m experiments $(if $(FULL),,--small)

figures: $(VENV)/.installed-test ## count the code: files, lines, noqa, modules that one command touches
	@$(BIN)/python -m benchmarks.house

clean: ## remove the environment and what tools left
	rm -rf $(VENV) $(PEERS) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis setveil-demo
