# Everything a fresh machine needs: Python 3.11 or newer, and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# stages call `python`: the environment's comes first
export PATH := $(CURDIR)/$(BIN):$(PATH)

.PHONY: repro site quick test test-all chaos lint bench clean environment

repro: $(READY)  ## run the default pipeline and show its table
	@test -s .dvc/tmp/rwlock || rm -f .dvc/tmp/rwlock  # DVC stumbles over an empty one, which a killed DVC may leave
	@awt check  # before DVC, which removes a stage's outs before it runs
	dvc repro
	@echo && cat report/table.txt && echo && echo "page: $(CURDIR)/report/index.html"

site: $(READY)  ## an index page over all experiments that have run, in site/
	awt site

# most of the time goes into compiling, on one core: two files of tests at a time, in order, so that the long ones come first
TWO := -n 2 --dist loadfile --no-loadscope-reorder

quick: $(READY)  ## every experiment that two cores manage, cut down: the paper's figures, small
	python pipelines/quick.py

test: $(READY)  ## the test suite: minutes, one fault of each kind
	python -m pytest -m "not slow" $(TWO)

test-all: $(READY)  ## everything
	python -m pytest $(TWO)

chaos: $(READY)  ## break things on purpose, and show what was seen and lost (docs/reliability.md)
	python -m pytest -m chaos

lint: $(READY)
	ruff check .
	ruff format --check .
	mypy

RIVALS := $(if $(filter attacks training,$(NAME)),$(VENV)/.rivals)
bench: $(READY) $(RIVALS)  ## make bench NAME=kernels
	@test -f benchmarks/$(NAME).py || { echo "make bench NAME=…, one of: $(notdir $(basename $(wildcard benchmarks/*.py)))"; exit 2; }
	python benchmarks/$(NAME).py

# PyTorch and its attacks, which the product itself does not need
$(VENV)/.rivals: benchmarks/rivals.txt $(READY)
	$(BIN)/python -m pip install --quiet --no-deps --requirement benchmarks/rivals.txt
	touch $@

environment: $(READY)

# the lock file has the whole closure by version, so that pip resolves nothing
$(READY): requirements.lock pyproject.toml
	$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 11) and 'awt needs Python 3.11 or newer: make PYTHON=python3.11 …')"
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --no-deps --requirement requirements.lock
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	touch $@

clean:  ## removes what was computed here, environment and store included; DVC's cache stays
	rm -rf $(VENV) .awt artifacts report .mypy_cache .ruff_cache .pytest_cache .hypothesis
