# Every target makes its own .venv; all it needs is Python 3.11+, make and pip.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
WORKERS ?= 2

.PHONY: demo test check bench format clean

demo: $(READY)
	@$(BIN)/python -m redline demo

test: $(READY)
	$(BIN)/python -m pytest -n $(WORKERS)

check: $(READY)
	$(BIN)/ruff check src tests bench
	$(BIN)/ruff format --check src tests bench
	$(BIN)/mypy
	$(BIN)/python -m pytest tests/test_layers.py

bench: $(READY)
	$(BIN)/python -m bench

format: $(READY)
	$(BIN)/ruff check --fix src tests bench
	$(BIN)/ruff format src tests bench

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis

# Registries limit how fast one may ask: pip retries each download, and the whole step is tried again.
$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit("Redline needs Python 3.11 or newer: make PYTHON=python3.12 …") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)
	@for try in 1 2 3 4 5; do \
	  $(BIN)/python -m pip install --quiet --disable-pip-version-check --retries 8 --timeout 60 -c constraints.txt -e '.[dev]' && break; \
	  [ $$try = 5 ] && exit 1; echo "pip failed, trying again ($$try of 5)"; sleep $$((try * 10)); \
	done
	@touch $(READY)
