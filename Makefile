# `make demo` and `make test` are all a newcomer types; each prepares what it needs.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet
# Nothing but what requirements*.lock names by its hash; pip takes no hashes for the project itself, so that comes second.
LOCKED := $(PIP) --require-hashes --requirement
PROJECT := $(PIP) --no-deps --no-build-isolation --editable .
LOCK := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate \
	--custom-compile-command 'make lock' $(ARGS)
# The site's generator needs none of the project's packages: it reads their source.
DOCS := .venv-docs
# aidial-rag-eval needs other versions of what the project needs.
AIDIAL := .venv-aidial
# The last deltalake before 1.0, and DuckDB with its delta extension.
READERS := .venv-readers
# An environment for another version of Python, as of `make test-python PYTHON=python3.13`.
OTHER := .venv-$(notdir $(PYTHON))
PACKAGES := dialwatch collector evaluator monitor lake runtime
# Set to 1 (as many images of Python do), every program that a test starts would compile all modules anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test test-all test-python screenshots aidial readers mutants lint format docs bench package lock chart clean
.DEFAULT_GOAL := help

.PHONY: help
help:
	@echo "make demo        watch it work on shipped questions (ARGS=--once ends by itself)"
	@echo "make test        the tests that start no process, in a few minutes"
	@echo "make test-all    all tests: with processes, servers, brokers and browsers, and those that take minutes"
	@echo "make test-python PYTHON=python3.13   make test with another version of Python, without models"
	@echo "make screenshots the pictures of the pages in docs/images, of the demo"
	@echo "make aidial      the environment of the test in which aidial-rag-eval reads our tables"
	@echo "make readers     the environment of the tests in which DuckDB and an older deltalake read our tables"
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

$(DOCS)/.installed: requirements-docs.lock
	$(PYTHON) -m venv $(DOCS)
	$(DOCS)/bin/python -m pip --disable-pip-version-check install --quiet --require-hashes --requirement requirements-docs.lock
	@touch $@

$(AIDIAL)/.installed: requirements-aidial.lock tests/evaluator/datasets/blank_language_model.py
	$(PYTHON) -m venv $(AIDIAL)
	$(AIDIAL)/bin/python -m pip --disable-pip-version-check install --quiet --require-hashes --requirement requirements-aidial.lock
	$(AIDIAL)/bin/python tests/evaluator/datasets/blank_language_model.py
	@touch $@

$(READERS)/.installed: requirements-readers.lock
	$(PYTHON) -m venv $(READERS)
	$(READERS)/bin/python -m pip --disable-pip-version-check install --quiet --require-hashes --requirement requirements-readers.lock
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

test-all: $(VENV)/.installed-dev $(AXE)/.installed
	$(BIN)/python -m pytest -n auto --dist loadgroup $(ARGS)

aidial: $(AIDIAL)/.installed

readers: $(READERS)/.installed

mutants: $(VENV)/.installed-dev
	$(LOCKED) requirements-mutants.lock
	$(BIN)/python -m tests.mutants $(ARGS)

$(OTHER)/.installed: pyproject.toml requirements-test.lock
	$(PYTHON) -m venv $(OTHER)
	$(OTHER)/bin/python -m pip --disable-pip-version-check install --quiet --require-hashes --requirement requirements-test.lock
	$(OTHER)/bin/python -m pip --disable-pip-version-check install --quiet --no-deps --no-build-isolation --editable .
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
	$(BIN)/python -m benchmarks.parse
	$(BIN)/python -m benchmarks.collector
	$(BIN)/python -m benchmarks.kafka
	$(BIN)/python -m benchmarks.lake
	$(BIN)/python -m benchmarks.idle
	$(BIN)/python -m benchmarks.regression.detection
	$(BIN)/python -m benchmarks.regression.shapes
	$(BIN)/python -m benchmarks.regression.fleet
	$(BIN)/python -m benchmarks.regression.year --deployments 20
	$(BIN)/python -m benchmarks.metrics
	$(BIN)/python -m benchmarks.models
	$(BIN)/python -m benchmarks.judges
	$(BIN)/python -m benchmarks.judge_costs
	$(BIN)/python -m benchmarks.calibration

package: $(VENV)/.installed
	PYTHON=$(PYTHON) .ci/package

lock: $(VENV)/.installed-dev
	$(LOCK) pyproject.toml requirements.in --output-file requirements.lock
	$(LOCK) pyproject.toml requirements.in --extra dev --output-file requirements-dev.lock
	$(LOCK) pyproject.toml requirements.in --extra test --constraint requirements-dev.lock --output-file requirements-test.lock
	cp requirements-dev.lock requirements-models.lock
	$(LOCK) pyproject.toml requirements.in --extra models --output-file requirements-models.lock
	$(LOCK) --group image --output-file requirements-image.lock
	$(LOCK) --group docs --output-file requirements-docs.lock
	$(LOCK) --group aidial --output-file requirements-aidial.lock
	$(LOCK) --group readers --output-file requirements-readers.lock
	$(LOCK) --group mutants --constraint requirements-dev.lock --output-file requirements-mutants.lock

HELM_BIN := $(CURDIR)/.cache/helm
HELM_VERSION := v3.17.3

chart: $(VENV)/.installed-dev
	cp deploy/prometheus/rules/dialwatch.yml deploy/helm/dialwatch/files/rules.yml
	cp deploy/grafana/dialwatch.json deploy/helm/dialwatch/files/dashboard.json
	@PATH="$$PATH:$(HELM_BIN)"; command -v helm >/dev/null || GOBIN=$(HELM_BIN) go install helm.sh/helm/v3/cmd/helm@$(HELM_VERSION)
	PATH="$$PATH:$(HELM_BIN)" $(BIN)/python -m tests.deploy.chart.rendering

clean:
	rm -rf $(VENV) $(DOCS) $(AIDIAL) $(READERS) .venv-python3* site .cache .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
