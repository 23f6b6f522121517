# Needs make, python3 (3.11 or later) and python3-venv, nothing else: .venv is built by itself on first use and
# brought up to date when pyproject.toml changes. Another Python: make PYTHON=python3.13. More workers: make JOBS=8.

PYTHON ?= python3
JOBS ?= 2

VENV := .venv
BIN := $(VENV)/bin
RUN := $(VENV)/.ready-to-run
DEV := $(VENV)/.ready-to-develop
DOCS := $(VENV)/.ready-for-docs
PIP_INSTALL = $(BIN)/python -m pip install -qq --disable-pip-version-check --editable
CODE := src tests benchmarks examples docs fuzz same

.PHONY: demo test properties guides docs check same format fuzz bench reference calibrations reproduction clean help
.DEFAULT_GOAL := help

help: ## Say what can be made.
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1 - \2/p' $(MAKEFILE_LIST)

demo: $(RUN) ## Plan DLRM on 32 servers with 4 interfaces of 100 Gb/s each, and draw a report of it.
	@mkdir -p out
	@$(BIN)/topoopt plan dlrm --servers 32 --degree 4 --bandwidth 100Gbps --out out/plan.json
	@$(BIN)/topoopt report out/plan.json --out out/report.html

# Tests start hundreds of processes: each would parse the package again where no bytecode may be written.
test guides properties fuzz same: export PYTHONDONTWRITEBYTECODE =

test: $(DEV) ## Run the tests, the doctests, the examples and the commands of the README.
	@$(BIN)/python -m pytest --quiet -m "not long" --numprocesses $(JOBS) --dist worksteal --durations 10

properties: $(DEV) ## Try each property on 500 random examples; print how to repeat a violation. EXAMPLES=… SEED=…
	@$(BIN)/python -m pytest -m hypothesis --examples $(or $(EXAMPLES),500) $(if $(SEED),--hypothesis-seed $(SEED)) \
		--numprocesses $(JOBS) --dist worksteal tests

guides: $(DEV) ## Run every command that the guides show.
	@TOPOOPT_BIN=$(abspath $(BIN)) $(BIN)/python -m pytest --quiet tests/docs

docs: $(DOCS) ## Build the site of guides and reference into out/docs; a warning or a broken link is an error.
	@$(BIN)/python -m sphinx --quiet --jobs $(JOBS) --fail-on-warning --keep-going --builder html docs out/docs
	@echo "The site is out/docs/index.html."

check: $(DEV) ## Lint, formatting, types and the layers of the packages.
	@$(BIN)/ruff check $(CODE)
	@$(BIN)/ruff format --check $(CODE)
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo

format: $(DEV) ## Bring the code into shape.
	@$(BIN)/ruff check --fix $(CODE)
	@$(BIN)/ruff format $(CODE)

fuzz: $(DEV) ## Spoil files and flags in 10,000 ways; each must end in an answer or in one line. CASES=… SEED=…
	@$(BIN)/python -m fuzz.run --jobs $(JOBS) --cases $(or $(CASES),10000) --seed $(or $(SEED),1)
	@$(BIN)/python -m fuzz.second $(or $(SEED),1) 30
	@$(BIN)/python -m fuzz.kills --kills $(or $(KILLS),100) --seed $(or $(SEED),1)

same: $(DEV) ## Compare the answers of hundreds of commands with those of the commit in same/BASE. BASE=… ONLY=…
	@$(BIN)/python -m same.run --jobs $(JOBS) $(if $(BASE),--base $(BASE)) $(if $(ONLY),--only "$(ONLY)")

bench: $(DEV) ## Measure the hot loops; print figures and ratios to the originals.
	@$(BIN)/python -m benchmarks.run

reference: $(DEV) ## Replay the authors' runs and write docs/simulators.md.
	@$(BIN)/python -m benchmarks.reference

calibrations: $(RUN) ## Fit the shipped calibrations of step times again.
	@$(BIN)/python -m benchmarks.calibrations

reproduction: $(RUN) ## Make the figures of the paper again and write docs/reproduction.md.
	@$(BIN)/topoopt reproduce all --quick --out out/reproduction --pictures none --page docs/reproduction.md

clean: ## Remove all that was built, .venv included.
	rm -rf $(VENV) dist build out docs/outside docs/reference .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find src tests benchmarks examples docs -name __pycache__ -type d -prune -exec rm -rf {} +

# An interrupted or foreign .venv without a working pip is built again. The guards speak one line each
# ($(error) does), and only when an environment is really to be built.
$(RUN): pyproject.toml
	$(guard)
	@test -e $@ || echo "Building $(VENV), once: a minute or two."
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv --clear $(VENV)
	@$(PIP_INSTALL) ".[figures,sweep]"
	@touch $@

$(DEV): $(RUN)
	@$(PIP_INSTALL) ".[dev]"
	@touch $@

$(DOCS): $(RUN)
	@$(PIP_INSTALL) ".[docs]"
	@touch $@

ask = $(shell $(PYTHON) -c '$(1)' 2>/dev/null)
has_python = $(call ask,print("yes"))
has_version = $(call ask,import sys; print("yes" if sys.version_info >= (3, 11) else ""))
has_venv = $(call ask,import venv; import ensurepip; ensurepip.version(); print("yes"))
version = $(call ask,import platform; print(platform.python_version()))

define guard
$(if $(has_python),,$(error $(PYTHON) is missing: run "sudo apt install python3 python3-venv"))
$(if $(has_version),,$(error $(PYTHON) is $(version) but topoopt needs 3.11 or later: run "sudo apt install python3.11 python3.11-venv" and "make PYTHON=python3.11"))
$(if $(has_venv),,$(error python3-venv is missing: run "sudo apt install $(if $(filter python3,$(PYTHON)),python3-venv,$(notdir $(PYTHON))-venv)"))
endef
