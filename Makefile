# `make demo` and `make test` are all a newcomer types; each prepares what it needs.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALL := bin/python -m pip --disable-pip-version-check install --quiet
PIP := $(VENV)/$(INSTALL)
# Nothing but what requirements*.lock names by its hash; pip takes no hashes for the project itself, so that comes second.
LOCKED := $(PIP) --require-hashes --requirement
PROJECT := $(PIP) --no-deps --no-build-isolation --editable .
# A group of pyproject.toml. The pip that comes with Python cannot find hashes among constraints, the one in the lock can.
GROUP := --require-hashes --constraint requirements-dev.lock --group
LOCK := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate \
	--custom-compile-command 'make lock' $(ARGS)
# The site's generator needs none of the project's packages: it reads their source.
DOCS := .venv-docs
# Packages that read our tables in tests: they need other versions of what the project needs.
READERS := .venv-readers
# An environment for another version of Python, as of `make test-python PYTHON=python3.13`.
OTHER := .venv-$(notdir $(PYTHON))
PACKAGES := dialwatch collector evaluator monitor lake runtime
# Set to 1 (as many images of Python do), every program that a test starts would compile all modules anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test test-all test-python screenshots readers mutants lint format docs bench package lock chart clean
.DEFAULT_GOAL := help

.PHONY: help
help:
	@echo "make demo        watch it work on shipped questions (ARGS=--once ends by itself)"
	@echo "make test        the tests that start no process, in a few minutes"
	@echo "make test-all    all tests: with processes, servers, brokers and browsers, and those that take minutes"
	@echo "make test-python PYTHON=python3.13   make test with another version of Python, without models"
	@echo "make screenshots the pictures of the pages in docs/images, of the demo"
	@echo "make readers     the environment of the tests in which aidial-rag-eval, DuckDB and an older deltalake read our tables"
	@echo "make mutants     how many of 100 small bugs in changed lines the tests of their folders find"
	@echo "make lint        formatting, lint, types and import rules"
	@echo "make format      rewrite the code in the project's format"
	@echo "make docs        the site in site/, from docs/; fails on a dead link"
	@echo "make bench       the measurements of docs/benchmarks.md"
	@echo "make package     sdist and wheel in dist/; the demo with the wheel, outside of the checkout"
	@echo "make lock        requirements*.lock from pyproject.toml; ARGS=--upgrade takes newer versions"
	@echo "make chart       the copies and the kept renderings of deploy/helm/dialwatch anew; builds Helm if there is none (needs Go)"
	@echo "make clean       remove what these commands made"

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 15) and "this needs Python 3.11 to 3.14, $(PYTHON) is " + sys.version.split()[0] + "; name another one: make PYTHON=python3.12")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: $(BIN)/python pyproject.toml requirements.lock
	$(LOCKED) requirements.lock
	$(PROJECT)
	@touch $@

$(VENV)/.installed-dev: $(BIN)/python pyproject.toml requirements-dev.lock
	$(LOCKED) requirements-dev.lock
	$(PROJECT)
	@touch $@ $(VENV)/.installed

$(DOCS)/.installed: pyproject.toml requirements-dev.lock
	$(PYTHON) -m venv $(DOCS)
	sed -n '/^pip==/,/[^\\]$$/p' requirements-dev.lock > $(DOCS)/pip.lock
	$(DOCS)/$(INSTALL) --require-hashes --requirement $(DOCS)/pip.lock
	$(DOCS)/$(INSTALL) $(GROUP) docs
	@touch $@

$(READERS)/.installed: requirements-readers.lock tests/evaluator/datasets/blank_language_model.py
	$(PYTHON) -m venv $(READERS)
	$(READERS)/$(INSTALL) --require-hashes --requirement requirements-readers.lock
	$(READERS)/bin/python tests/evaluator/datasets/blank_language_model.py
	@touch $@

demo: $(VENV)/.installed
	$(BIN)/dialwatch demo $(ARGS)

test: $(VENV)/.installed-dev
	$(BIN)/python -m pytest -n auto -m 'not integration and not slow' $(ARGS)

AXE := tests/dialwatch/browser/axe/node_modules

$(AXE)/.installed: tests/dialwatch/browser/axe/package-lock.json
	cd $(dir $(AXE)) && npm ci --silent --no-audit --no-fund --ignore-scripts
	@touch $@

screenshots: $(VENV)/.installed-dev
	DIALWATCH_SCREENSHOTS=1 $(BIN)/python -m pytest tests/dialwatch/browser/test_screenshots.py $(ARGS)

# Integration tests mostly wait for processes that they started: two at a time more than there are processors.
WORKERS = $(shell $(BIN)/python -c "import os; print(os.cpu_count() + 2)")

test-all: $(VENV)/.installed-dev $(AXE)/.installed
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup $(ARGS)

readers: $(READERS)/.installed

mutants: $(VENV)/.installed-dev
	$(BIN)/python -m tests.mutants $(ARGS)

$(OTHER)/.installed: pyproject.toml requirements.lock requirements-dev.lock
	$(PYTHON) -m venv $(OTHER)
	$(OTHER)/$(INSTALL) --require-hashes --requirement requirements.lock
	$(OTHER)/$(INSTALL) $(GROUP) test
	$(OTHER)/$(INSTALL) --no-deps --no-build-isolation --editable .
	@touch $@

test-python: $(OTHER)/.installed
	$(OTHER)/bin/python -m pytest -n auto -m 'not integration and not slow' $(ARGS)

lint: $(VENV)/.installed-dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/deptry .
	$(BIN)/hadolint deploy/Dockerfile deploy/kubernetes/Dockerfile

format: $(VENV)/.installed-dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs: $(DOCS)/.installed
	$(DOCS)/bin/zensical build --clean --strict
	@! grep --recursive --extended-regexp --only-matching --include='*.html' \
		'<(script|link|img|iframe)[^>]* (src|href)="(https?:)?//[^"]*' site || (echo "the site loads something from elsewhere" && false)

bench: $(VENV)/.installed-dev
	$(BIN)/python -m benchmarks.collector.parse
	$(BIN)/python -m benchmarks.collector.steps
	$(BIN)/python -m benchmarks.collector.kafka
	$(BIN)/python -m benchmarks.lake.opening
	$(BIN)/python -m benchmarks.lake.idle
	$(BIN)/python -m benchmarks.regression.detection
	$(BIN)/python -m benchmarks.regression.shapes
	$(BIN)/python -m benchmarks.regression.fleet
	$(BIN)/python -m benchmarks.regression.year --deployments 20
	$(BIN)/python -m benchmarks.evaluator.metrics
	$(BIN)/python -m benchmarks.evaluator.models
	$(BIN)/python -m benchmarks.evaluator.judges
	$(BIN)/python -m benchmarks.evaluator.judge_costs
	$(BIN)/python -m benchmarks.evaluator.calibration

package: $(VENV)/.installed
	PYTHON=$(PYTHON) .ci/package

lock: $(VENV)/.installed-dev
	$(LOCK) pyproject.toml requirements.in --all-extras --group dev --output-file requirements-dev.lock
	$(LOCK) pyproject.toml requirements.in --constraint requirements-dev.lock --output-file requirements.lock
	$(LOCK) --group readers --output-file requirements-readers.lock

HELM_BIN := $(CURDIR)/.cache/helm
HELM_VERSION := v3.17.3

chart: $(VENV)/.installed-dev
	cp deploy/prometheus/rules/dialwatch.yml deploy/helm/dialwatch/files/rules.yml
	cp deploy/grafana/dialwatch.json deploy/helm/dialwatch/files/dashboard.json
	@PATH="$$PATH:$(HELM_BIN)"; command -v helm >/dev/null || GOBIN=$(HELM_BIN) go install helm.sh/helm/v3/cmd/helm@$(HELM_VERSION)
	PATH="$$PATH:$(HELM_BIN)" $(BIN)/python -m tests.deploy.chart.rendering

clean:
	rm -rf $(VENV) $(DOCS) $(READERS) .venv-python3* site .cache .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
