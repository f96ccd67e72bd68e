# Everything runs in a virtual environment of its own: .venv
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: install demo test check stress fuzz format bench docs clean

install: $(STAMP)

$(STAMP): pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $(STAMP)

demo: install
	$(BIN)/kohort demo --out demo

test: install
	$(BIN)/python -m pytest -n 2

check: install
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports
	$(BIN)/mypy
	$(BIN)/mkdocs build --strict --quiet
	$(BIN)/python -m pytest -n 2

# a cache of compiled code filled by many processes, then used by one
stress: install
	$(BIN)/python tests/kernels/stress.py

# random problems, judged by definition: make fuzz FUZZ='--seed 7 --cases 1000'
fuzz: install
	$(BIN)/python -m fuzz $(FUZZ)

format: install
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs: install
	$(BIN)/mkdocs build --strict

bench: install
	$(BIN)/python -m benchmarks.run

clean:
	rm -rf $(VENV) demo site build dist
