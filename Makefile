# tenora: every target makes .venv and installs what it needs; a repeat does only what has changed.
#   make demo        train a network on real handwritten digits
#   make test        the test suite, at most 25 minutes on 2 cores (ORACLE=0: without PyTorch)
#   make check-all   every job of ci/, each job's last green date into docs/figures.md
#   make bench       the speed ratios against NumPy and PyTorch
#   make conformance judge the backends and renew the reports beside their manifests (those that are stale)
#   make mutants     seeded faults that the conformance suite has to find, in docs/mutants.md; at most 8 hours
#   make wheels      the sdists, and the wheels built from them, in dist/
#   make build       rebuild the native modules after a change of C++
#   make format      ruff and clang-format over everything

PYTHON ?= python3
ORACLE ?= 1
VENV := .venv
PY := $(VENV)/bin/python
STAMPS := $(VENV)/stamps
# --no-build-isolation: the build tools live in .venv, so a rebuild reuses build/ and is quick.
PIP := $(PY) -m pip --disable-pip-version-check
EDITABLE := $(PIP) install -q --no-build-isolation --no-deps -e
export ORACLE
# ccache then serves every clone of the repository on this machine.
export CCACHE_BASEDIR ?= $(CURDIR)
export CCACHE_NOHASHDIR ?= 1
export PATH := $(CURDIR)/$(VENV)/bin:$(PATH)
export CMAKE_BUILD_PARALLEL_LEVEL ?= $(shell nproc 2>/dev/null || echo 2)

native = $(shell find $(1) -name '*.cpp' -o -name '*.h' -o -name CMakeLists.txt -o -name pyproject.toml 2>/dev/null | grep -v '/build/')
CORE_SOURCES := CMakeLists.txt pyproject.toml $(call native,core)
# A backend with a pyproject.toml of its own is a distribution of its own.
BACKENDS := $(patsubst backends/%/pyproject.toml,%,$(wildcard backends/*/pyproject.toml))
ifneq ($(ORACLE),0)
ORACLE_STAMP := $(STAMPS)/oracle.installed
endif

.PHONY: setup build demo test check-all bench conformance mutants wheels format clean
.DELETE_ON_ERROR:
.SECONDARY:

setup: $(STAMPS)/core $(BACKENDS:%=$(STAMPS)/backend-%) $(STAMPS)/conformance

build: setup

$(STAMPS)/venv: ci/bootstrap
	PYTHON=$(PYTHON) bash ci/bootstrap $(VENV)
	@mkdir -p $(STAMPS) && touch $@

# A list that has not changed is not installed again: pyproject.toml changes more often than it.
$(STAMPS)/%.txt: pyproject.toml ci/requirements.py $(STAMPS)/venv
	@$(PY) ci/requirements.py $(subst +, ,$*) > $@.new
	@cmp -s $@.new $@ && rm $@.new || mv $@.new $@

$(STAMPS)/%.installed: $(STAMPS)/%.txt
	@cmp -s $< $@ || $(PIP) install -q -r $<
	@cp $< $@

DEPENDENCIES := $(STAMPS)/build+run+test+dev.installed

$(STAMPS)/core: $(DEPENDENCIES) $(CORE_SOURCES)
	$(EDITABLE) .
	@touch $@

$(STAMPS)/backend-%: $(STAMPS)/core
	$(EDITABLE) backends/$*
	@touch $@

$(STAMPS)/conformance: $(STAMPS)/core conformance/pyproject.toml
	$(EDITABLE) conformance
	@touch $@

$(foreach b,$(BACKENDS),$(eval $(STAMPS)/backend-$(b): $(call native,backends/$(b))))

demo: setup $(STAMPS)/demo.installed
	$(PY) examples/digits.py

test: setup $(ORACLE_STAMP)
	$(PY) ci/run_jobs.py test

check-all: setup $(STAMPS)/oracle.installed $(STAMPS)/demo.installed
	$(PY) ci/run_jobs.py check-all

bench: setup $(STAMPS)/oracle.installed
	$(PY) -m bench

conformance: setup
	$(PY) ci/renew_reports.py $(BACKEND)

mutants: setup
	PYTHONPATH=conformance $(PY) -m mutants run --jobs $(CMAKE_BUILD_PARALLEL_LEVEL)

wheels: setup
	$(PY) ci/wheels.py

format: $(DEPENDENCIES)
	$(PY) -m ruff check --fix --exit-zero -q .
	$(PY) -m ruff format -q .
	git ls-files -co --exclude-standard '*.cpp' '*.h' | xargs -r $(VENV)/bin/clang-format -i

clean:
	rm -rf build dist .mypy_cache .ruff_cache .pytest_cache $(STAMPS)/core $(STAMPS)/backend-* $(STAMPS)/conformance
