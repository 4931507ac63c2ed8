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

# A copy of tests/wire and tests/judges alone has no lock files, and perhaps no .venv: then PYTHON has the packages.
WIRE_PYTHON := $(if $(wildcard requirements-dev.lock $(BIN)/python),$(BIN)/python,$(PYTHON))

.PHONY: help serve test test-all test-needs test-http wire wire-next programs conformance openapi package build release release-notes bench soak screenshots docs bench-peers lint audit format lock clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

serve: $(BIN)/am-proxy ## run the server; pass flags with ARGS="--port 9000"
	@exec $(BIN)/am-proxy serve $(ARGS)

test: $(VENV)/.dev ## run all tests that need nothing else; what is skipped is for another system
	$(BIN)/python -m pytest -n $(WORKERS) -m "not needs and not apart" $(ARGS)

test-all: programs ## install the other programs that tests need (npm, PyPI), then run all tests, with ten times as many random examples
	EXAMPLES=2000 TURNS=2000 $(BIN)/python -m pytest -n $(WORKERS) $(ARGS)

test-needs: programs ## what test-all has and test has not: tests that need Chromium, Codex, nginx, …
	$(BIN)/python -m pytest -n $(WORKERS) -m needs $(ARGS)

test-http: $(VENV)/.dev ## test a server over HTTP alone: make test-http SERVER='python -m app'
	$(BIN)/python -m pytest -n $(WORKERS) tests/http $(ARGS)

wire: $(if $(wildcard requirements-dev.lock),$(VENV)/.dev) ## compare all that a server says and asks with what is recorded: make wire SERVER=…
	$(WIRE_PYTHON) -m pytest -n 2 --dist loadfile tests/wire $(ARGS)

wire-next: $(VENV)/.dev ## the same with the edition in next/; what it cannot do yet is listed in tests/next/waiting.txt
	SERVER='$(BIN)/python -m next' $(BIN)/python -m pytest -n 2 --dist loadfile tests/wire --waiting tests/next/waiting.txt $(ARGS)

programs: $(VENV)/.dev
	$(BIN)/python -m tests.conformance.install

conformance: programs ## test the real clients (installed in .cache)
	$(BIN)/python -m tests.conformance.run $(ARGS)
	$(BIN)/python -m pytest --timeout=300 tests/docs/test_other_programs.py

openapi: $(VENV)/.dev ## send thousands of random requests that /openapi.json allows, and validate the answers
	OPENAPI_EXAMPLES=2000 $(BIN)/python -m pytest --timeout=900 --hypothesis-profile=deep tests/http/acceptance/test_openapi.py $(ARGS)

package: $(VENV)/.dev ## install the package from the registry, with pip, pipx and uvx, and run it (needs the network)
	$(BIN)/python -m pytest -m "" --timeout=600 tests/packaging $(ARGS)

build: $(VENV)/.dev ## build wheel and sdist into dist, with the locked build backend
	$(BIN)/python -m hatchling build --clean

release: ## date the unreleased section of the changelog and set the version: make release VERSION=1.2.3
	@$(PYTHON) -m tests.support.changelog release "$(VERSION)"

release-notes: ## print the section of the changelog for the current version
	@$(PYTHON) -m tests.support.changelog notes

lint: $(VENV)/.dev ## check style, types, import plan, Dockerfile, workflows, known bad releases
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m tests.support.advisories
	$(BIN)/hadolint Dockerfile
	$(BIN)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(BIN)/check-jsonschema --builtin-schema custom.github-workflows-require-timeout .github/workflows/*.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.github-issue-forms .github/ISSUE_TEMPLATE/[!c]*.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.github-issue-config .github/ISSUE_TEMPLATE/config.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.dependabot .github/dependabot.yml
	$(BIN)/zizmor --offline --quiet .github

audit: $(VENV)/.dev ## check every pinned dependency against advisory databases (needs the network)
	$(BIN)/uv tool run pip-audit --disable-pip --require-hashes -r requirements.lock $(ARGS)

format: $(VENV)/.dev ## format the code with ruff
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

lock: $(VENV)/.dev ## update the lock files; versions that are already locked are kept
	$(UV_COMPILE) pyproject.toml --output-file requirements.lock $(ARGS)
	$(UV_COMPILE) pyproject.toml --all-extras --group pyproject.toml:dev --constraint requirements.lock \
		--output-file requirements-dev.lock $(ARGS)

bench: $(VENV)/.dev ## measure the speed, compared with byte copies and other bridges; writes docs/performance.md
	$(BIN)/python -m bench $(ARGS)

soak: $(VENV)/.dev ## run hundreds of streams with faults for ten minutes; writes docs/reliability.md
	$(BIN)/python -m tests.chaos.soak $(ARGS)

screenshots: $(VENV)/.dev ## take the pictures of the inspector in docs/images, with Chromium
	$(BIN)/python -m tests.next.inspector.screenshots

docs: $(VENV)/.dev ## build the documentation as a site in the folder site; a broken link is an error
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --config-file docs/site/mkdocs.yml $(ARGS)
	@echo "open site/index.html in a browser"

bench-peers: $(VENV)/.dev ## install the other bridges that `make bench` measures, each in its own folder
	$(PYTHON) -m venv .cache/bench/litellm-proxy && .cache/bench/litellm-proxy/bin/pip install --quiet "litellm[proxy]==1.106.2"
	$(PYTHON) -m venv .cache/bench/llm-rosetta && .cache/bench/llm-rosetta/bin/pip install --quiet llm-rosetta==0.13.0
	npm install --silent --no-audit --no-fund --prefix .cache/bench/opencodex "@bitkyc08/opencodex@2.63.0"

clean: ## remove everything that make created
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis dist site

# The command, for any folder. In a checkout the name am_proxy leads to the folder app.
$(BIN)/am-proxy: $(VENV)/.serve Makefile
	@echo '$(CURDIR)/deploy/checkout' > "$$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/am-proxy.pth"
	@printf '#!/bin/sh\nexec "%s" -P -m am_proxy "$$@"\n' '$(CURDIR)/$(BIN)/python' > $@
	@chmod +x $@
	@echo "To use am-proxy from any folder: $(CURDIR)/$@"

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
