# Everything runs in a virtual environment of its own: .venv
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# compiled Python files make every start faster, and the tests start many processes
unexport PYTHONDONTWRITEBYTECODE
# a worker per core: threads of linear algebra would only be in each other's way
PYTEST := OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n auto
KERNEL_TESTS := $(addprefix tests/algorithms/, again/test_kernels.py alpha_k/test_alpha_k_kernels.py closed_records/test_closed_record_kernels.py \
  clustering/test_cluster_cells.py clustering/test_clustering_kernels.py graph/test_graph_kernels.py items/test_item_kernels.py kernels \
  mondrian/test_mondrian_kernels.py mondrian/test_people_kernels.py proofs/test_proof_kernels.py schemes/test_boxes.py schemes/test_part_costs.py) \
  tests/kernels/test_sorting.py tests/problem/models

.PHONY: install demo compile test test-all test-without-jit check lint imports types site stress fuzz format bench clean

install: $(STAMP)

$(STAMP): pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $(STAMP)

demo: install
	$(BIN)/kohort demo --out demo

# everything that runs in this process: no servers, browsers, Spark, site, packages (tests/conftest.py lists the tiers)
test: compile
	$(PYTEST) --quick

# all tests; what is missing for some of them is installed where that is possible
test-all: compile
	-.ci/servers
	$(PYTEST)

# the inner loops as they are written, in Python, against their definitions
test-without-jit: install
	NUMBA_DISABLE_JIT=1 $(PYTEST) -W ignore::RuntimeWarning $(KERNEL_TESTS)

# what a change must pass: two quick checks at a time, then the tests
check: install
	$(MAKE) --no-print-directory -j 2 lint imports types
	$(MAKE) --no-print-directory test-all

lint: install
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/vermin --quiet --no-tips --violations --target=3.10- src

imports: install
	$(BIN)/lint-imports

types: install
	$(BIN)/mypy

# all inner loops for this processor, on all cores; otherwise the first command that needs some does it
compile: install
	$(BIN)/kohort compile

# these pages, into the folder site; the tests build them, too
site: install
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

# a cache of compiled code filled by many processes, then used by one
stress: install
	$(BIN)/python tests/kernels/stress.py

# random problems, judged by definition: make fuzz FUZZ='--seed 7 --cases 1000' BOUNDS='--cases 1000'
fuzz: install
	$(BIN)/python -m fuzz $(FUZZ)
	$(BIN)/python -m fuzz.bounds $(BOUNDS)

format: install
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# all benchmarks, or some: make bench BENCH='--quick --out after.jsonl'
bench: install
	$(BIN)/python -m benchmarks.run $(BENCH)

clean:
	rm -rf $(VENV) demo site build dist
