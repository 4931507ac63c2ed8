# AM Proxy. `make help` lists the commands.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
ARGS ?=
# Two more workers than the two cores that the suite is made for, because many tests wait.
WORKERS ?= 4
# Compiled modules are always kept, because the tests start dozens of servers.
export PYTHONDONTWRITEBYTECODE :=

PIP_INSTALL = $(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes
UV_COMPILE = $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--no-header --no-annotate --no-emit-index-url --no-emit-find-links

.PHONY: help serve test test-all wire programs conformance bench soak lint format lock

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

serve: $(VENV)/.serve ## run the server; pass flags with ARGS="--port 9000"
	@exec $(BIN)/python -m app serve $(ARGS)

test: $(VENV)/.dev ## run all tests that need nothing else
	$(BIN)/python -m pytest -n $(WORKERS) -m "not needs" $(ARGS)

test-all: programs ## run all tests, also those that need Chromium, Codex, nginx, …, with ten times as many random examples
	EXAMPLES=2000 TURNS=2000 $(BIN)/python -m pytest -n $(WORKERS) $(ARGS)

wire: $(VENV)/.dev ## compare all that a server says and asks with what is recorded: make wire SERVER='python -m app'
	$(BIN)/python -m pytest -n 2 tests/wire $(ARGS)

programs: $(VENV)/.dev ## install the clients that tests drive, in .cache
	$(BIN)/python -m tests.support.install

conformance: programs ## drive nine real clients through seventeen behaviours of each dialect
	$(BIN)/python -m tests.matrix.run $(ARGS)

bench: $(VENV)/.dev ## measure the speed beside byte copies and other bridges
	$(BIN)/python -m bench $(ARGS)

soak: $(VENV)/.dev ## run hundreds of streams with faults for ten minutes, and account for each
	$(BIN)/python -m tests.soak $(ARGS)

lint: $(VENV)/.dev ## check style, types, the order of rooms and the Dockerfile
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/hadolint Dockerfile

format: $(VENV)/.dev ## format the code
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

lock: $(VENV)/.dev ## update the lock files; versions that are already locked are kept
	$(UV_COMPILE) pyproject.toml --output-file requirements.lock $(ARGS)
	$(UV_COMPILE) pyproject.toml --all-extras --group pyproject.toml:dev --constraint requirements.lock \
		--output-file requirements-dev.lock $(ARGS)

# One stamp file for each set: pip runs again only if the lock file has changed. The larger set contains the smaller one.
$(VENV)/.python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "AM Proxy needs Python 3.11 or newer; set it with PYTHON=python3.x"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.serve: $(VENV)/.python requirements.lock
	@echo "installing the dependencies of AM Proxy (once) …"
	$(PIP_INSTALL) -r requirements.lock
	@touch $@

$(VENV)/.dev: $(VENV)/.serve requirements-dev.lock
	@echo "installing the dependencies of its tests (once) …"
	$(PIP_INSTALL) -r requirements-dev.lock
	@touch $@
