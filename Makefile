# AM Proxy. `make help` lists what there is.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
ARGS ?=
# One worker more than the two cores that the suite is made for: many tests wait.
WORKERS ?= 3
# Compiled modules are kept, whatever the environment says: the tests start dozens of servers.
export PYTHONDONTWRITEBYTECODE :=

PIP_INSTALL = $(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes
UV_COMPILE = $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--no-header --no-annotate --no-emit-index-url --no-emit-find-links

# What the Node test drives, at the versions of tests/conformance/clients.toml. It is skipped, and says so, where there
# is no node or no package.
NODE_CLIENT := openai zod

.PHONY: help serve test coverage conformance openapi bench soak scan scan-answers bench-peers node-client lint audit format lock clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

serve: $(VENV)/.serve ## run the server; more with ARGS="--port 9000"
	@exec $(BIN)/python -m app serve $(ARGS)

test: $(VENV)/.dev node-client ## every test
	$(BIN)/python -m pytest -n $(WORKERS) $(ARGS)

coverage: $(VENV)/.dev node-client ## every test, and which branches they take: 95 % at least (twice as long)
	$(BIN)/python -m pytest -n $(WORKERS) --cov --cov-branch --cov-fail-under=95 $(ARGS)

conformance: $(VENV)/.dev ## drive the real clients (fetched into .cache) and write docs/conformance.md
	$(BIN)/python -m tests.conformance.run $(ARGS)

openapi: $(VENV)/.dev ## ask whatever /openapi.json allows, thousands of times, and hold the answers against it
	OPENAPI_EXAMPLES=2000 $(BIN)/python -m pytest --timeout=900 --hypothesis-profile=deep tests/acceptance/test_openapi.py $(ARGS)

lint: $(VENV)/.dev ## style, types, import plan, Dockerfile
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m tests.support.advisories
	$(BIN)/hadolint Dockerfile

audit: $(VENV)/.dev ## ask the advisory databases about every pin; this needs the network
	$(BIN)/uv tool run pip-audit --disable-pip --require-hashes -r requirements.lock $(ARGS)

format: $(VENV)/.dev ## let ruff set the code
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

lock: $(VENV)/.dev ## resolve the dependencies anew, within what the lock files already hold
	$(UV_COMPILE) pyproject.toml --extra seal --output-file requirements.lock $(ARGS)
	$(UV_COMPILE) pyproject.toml --all-extras --group pyproject.toml:dev --constraint requirements.lock \
		--output-file requirements-dev.lock $(ARGS)

bench: $(VENV)/.dev ## speed, beside byte copies and other bridges; writes docs/performance.md
	$(BIN)/python -m bench $(ARGS)

soak: $(VENV)/.dev ## ten minutes of hundreds of streams with faults; writes docs/reliability.md
	$(BIN)/python -m tests.chaos.soak $(ARGS)

scan: $(VENV)/.dev ## what the largest requests of every shape cost other callers; writes docs/limits.md
	$(BIN)/python -m tests.support.scan_server $(ARGS)

scan-answers: $(VENV)/.dev ## what every kind of answer costs, and what others notice of it; writes docs/limits.md
	$(BIN)/python -m tests.support.scan_answers $(ARGS)

bench-peers: $(VENV)/.dev ## the other bridges that `make bench` measures, each in a folder of its own
	$(PYTHON) -m venv .cache/bench/litellm-proxy && .cache/bench/litellm-proxy/bin/pip install --quiet "litellm[proxy]==1.106.2"
	$(PYTHON) -m venv .cache/bench/llm-rosetta && .cache/bench/llm-rosetta/bin/pip install --quiet llm-rosetta==0.13.0
	npm install --silent --no-audit --no-fund --prefix .cache/bench/opencodex "@bitkyc08/opencodex@2.63.0"

node-client: $(VENV)/.dev
	@if command -v npm >/dev/null && [ ! -d .cache/npm/node_modules/openai ]; then \
		$(BIN)/python -m tests.conformance.install $(NODE_CLIENT) || echo "the openai package for Node could not be had"; fi

clean: ## remove what make made
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis .coverage .coverage.* htmlcov dist

# A stamp per set: pip runs again only where the lock file has changed. The larger set holds the smaller one.
$(VENV)/.python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "AM Proxy needs Python 3.11 or newer; name one with PYTHON=python3.x"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.serve: $(VENV)/.python requirements.lock
	@echo "installing what AM Proxy needs (once) …"
	$(PIP_INSTALL) -r requirements.lock
	@touch $@

$(VENV)/.dev: $(VENV)/.serve requirements-dev.lock
	@echo "installing what its tests need (once) …"
	$(PIP_INSTALL) -r requirements-dev.lock
	@touch $@
