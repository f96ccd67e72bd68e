# Everything runs in a virtual environment of its own: .venv
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# compiled Python files make every start faster, and the tests start many processes
unexport PYTHONDONTWRITEBYTECODE

.PHONY: install demo compile test check lint imports types site stress fuzz format bench clean

install: $(STAMP)

$(STAMP): pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $(STAMP)

demo: install
	$(BIN)/kohort demo --out demo

# the tests of the studio walk through one session, file by file: a process takes whole files, longest first
test: install
	$(BIN)/python -m pytest -n 2 --dist worksteal --ignore=tests/studio
	$(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder tests/studio

# what a change must pass: two quick checks at a time, then the tests
check: install
	$(MAKE) --no-print-directory -j 2 lint imports types
	$(MAKE) --no-print-directory test

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
