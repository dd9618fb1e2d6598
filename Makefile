# Everything a fresh checkout needs: Python 3.11 or newer, and make. Each target makes its own environment in .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
export UV_PROJECT_ENVIRONMENT := $(VENV)
# The certificates this machine trusts, so that it works behind a company's proxy too.
export UV_SYSTEM_CERTS := 1
export UV_NATIVE_TLS := 1

.PHONY: demo test bench bench-fleet soak extras lint types clean

demo: $(VENV)/.demo ## watch a scripted agent with hooks
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/hookline demo

test: lint types ## lint, strict types, and all tests; those of fleets need `python3 -m soak.server make test`
	@echo "== running the tests"
	@$(BIN)/pytest

bench: $(VENV)/.dev ## print what everything costs, beside a floor measured in the same run; BENCH=--short for a quick look
	@env -u PYTHONDONTWRITEBYTECODE $(BIN)/python -m benchmarks $(BENCH)

bench-fleet: $(VENV)/.dev ## print what a fleet costs, on a PostgreSQL server of its own
	@env -u PYTHONDONTWRITEBYTECODE $(BIN)/python -m benchmarks.fleet $(BENCH)

soak: $(VENV)/.dev ## the long rounds: 20,000 fires of misbehaving hooks, kill -9 at random moments, edits while events fire, long fuzzing
	@$(BIN)/python -m soak
	@$(BIN)/python -m soak.kill
	@$(BIN)/python -m soak.reload
	@$(BIN)/python -m soak.fleet
	@HYPOTHESIS_PROFILE=long $(BIN)/pytest tests/fuzz --timeout 1200

extras: $(VENV)/.dev ## each adapter in an environment with its own extra and no other
	@for extra in $$($(BIN)/python -c 'from hookline.adapters.table import HOSTS; print(*(host.name for host in HOSTS))'); do \
		echo "== trying the extra $$extra alone"; \
		$(BIN)/uv run --quiet --isolated --locked --no-default-groups --extra $$extra \
			--with pytest --with pytest-timeout --with anyio \
			pytest -q tests/adapters/test_contract.py -k "$$extra-" || exit 1; \
	done

lint: $(VENV)/.dev
	@echo "== checking style"
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check --quiet .

types: $(VENV)/.dev
	@echo "== checking types"
	@$(BIN)/mypy

$(VENV)/.demo: $(BIN)/uv pyproject.toml uv.lock
	@echo "== installing hookline and what the demo needs into $(VENV)"
	@$(BIN)/uv sync --quiet --locked --inexact --no-dev --group demo
	@touch $@

$(VENV)/.dev: $(BIN)/uv pyproject.toml uv.lock
	@echo "== installing hookline and its development tools into $(VENV)"
	@$(BIN)/uv sync --quiet --locked --inexact --all-extras
	@touch $@ $(VENV)/.demo

$(BIN)/uv:
	@echo "== making the environment $(VENV) with $$($(PYTHON) --version 2>&1)"
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "Hookline needs Python 3.11 or newer; name one: make PYTHON=python3.12 ..."; exit 1; }
	@$(PYTHON) -m venv --clear $(VENV) \
		|| { echo "Python cannot make an environment; on Debian and Ubuntu: apt-get install python3-venv"; exit 1; }
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check uv

clean: ## remove the environment and all caches
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
