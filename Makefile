# Everything runs in a virtual environment of its own: .venv. Each target installs what it needs, once, by uv if it is there
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/$(if $(filter Windows_NT,$(OS)),Scripts,bin)
ifneq ($(shell command -v uv 2>/dev/null),)
NEW_VENV = test -x $(BIN)/python || uv venv --quiet --allow-existing --python $(PYTHON) $(VENV)
INSTALL = uv pip install --quiet --python $(BIN)/python
else
# also adds pip to an environment that uv made; compiling what is never imported would take a third of the time
NEW_VENV = test -x $(BIN)/python && $(BIN)/python -c 'import pip' 2>/dev/null || $(PYTHON) -m venv $(VENV)
INSTALL = $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile
endif
# what is installed, one file for each set of packages; dev has all of them
CORE := $(VENV)/.installed-core
STUDIO := $(VENV)/.installed-studio
SITE := $(VENV)/.installed-docs
SPARK := $(VENV)/.installed-spark
DIST := $(VENV)/.installed-dist
TEST := $(VENV)/.installed-test
DEV := $(VENV)/.installed-dev
# compiled Python files make every start faster, and the tests start many processes
unexport PYTHONDONTWRITEBYTECODE
# a worker per core: threads of linear algebra would only be in each other's way
PYTEST := OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n auto
KERNEL_TESTS := $(addprefix tests/algorithms/, again/test_kernels.py alpha_k/test_alpha_k_kernels.py closed_records/test_closed_record_kernels.py \
  clustering/test_cluster_cells.py clustering/test_clustering_kernels.py graph/test_graph_kernels.py items/test_item_kernels.py kernels \
  mondrian/test_mondrian_kernels.py mondrian/test_people_kernels.py proofs/test_proof_kernels.py schemes/test_boxes.py schemes/test_part_costs.py) \
  tests/kernels/test_sorting.py tests/problem/promises

.PHONY: install demo studio compile test test-all test-without-jit spark check lint imports types site dist stress fuzz format bench clean

install: $(DEV)

$(CORE): pyproject.toml
	@$(NEW_VENV)
	$(INSTALL) -e .
	@touch $@

$(VENV)/.installed-%: pyproject.toml
	@$(NEW_VENV)
	$(INSTALL) -e '.[$*]'
	@touch $(CORE) $@

$(DEV): pyproject.toml
	@$(NEW_VENV)
	$(INSTALL) -e '.[dev]'
	@touch $(CORE) $(STUDIO) $(SITE) $(SPARK) $(DIST) $(TEST) $@

# the whole job on built-in records
demo: $(CORE)
	$(BIN)/kohort demo --out demo

# the studio, in the browser, on the same records
studio: $(STUDIO)
	$(BIN)/kohort studio --demo

# everything that runs in this process: no servers, browsers, Spark, site, packages (tests/conftest.py lists the tiers)
test: $(TEST)
	$(BIN)/kohort compile
	$(PYTEST) --quick

# all tests; what is missing for some of them is installed where that is possible
test-all: $(DEV)
	$(BIN)/kohort compile
	-.ci/servers
	$(PYTEST)

# the inner loops as they are written, in Python, against their definitions
test-without-jit: $(TEST)
	NUMBA_DISABLE_JIT=1 $(PYTEST) -W ignore::RuntimeWarning $(KERNEL_TESTS)

# the tests of the engine for many machines, which need Java 17
spark: $(TEST) $(SPARK)
	$(PYTEST) tests/job/spark

# what a change must pass: two quick checks at a time, then the tests
check: $(DEV)
	$(MAKE) --no-print-directory -j 2 lint imports types
	$(MAKE) --no-print-directory test-all

lint: $(DEV)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/vermin --quiet --no-tips --violations --target=3.10- src

imports: $(DEV)
	$(BIN)/lint-imports

types: $(DEV)
	$(BIN)/mypy

# all inner loops for this processor, on all cores; otherwise the first command that needs some does it
compile: $(CORE)
	$(BIN)/kohort compile

# these pages, into the folder site; the tests build them, too
site: $(SITE)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

# a wheel and an archive of the sources, into the folder dist
dist: $(DIST)
	$(BIN)/python -m build --no-isolation --outdir dist

# a cache of compiled code filled by many processes, then used by one
stress: $(TEST)
	$(BIN)/python tests/kernels/stress.py

# random problems, judged by definition: make fuzz FUZZ='--seed 7 --cases 1000' BOUNDS='--cases 1000'
fuzz: $(TEST)
	$(BIN)/python -m fuzz $(FUZZ)
	$(BIN)/python -m fuzz.bounds $(BOUNDS)

format: $(DEV)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# all benchmarks, or some: make bench BENCH='--quick --out after.jsonl'
bench: $(DEV)
	$(BIN)/python -m benchmarks.run $(BENCH)

clean:
	rm -rf $(VENV) demo site build dist
