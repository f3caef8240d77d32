# Two commands for a machine that has Python 3.10+ and nothing else: `make demo` and `make test`.
# Everything runs in $(VENV) with the ROS 2 client library from PyPI. A ROS 2 that happens to be sourced is left out
# (mixing its Python packages with the wheels breaks both); under ROS use `colcon build` and `ros2 launch` instead.

PYTHON ?= $(firstword $(foreach p,python3 python3.13 python3.12 python3.11 python3.10,$(shell command -v $(p) >/dev/null 2>&1 && $(p) -c 'import sys, venv, ensurepip; sys.exit(not sys.version_info >= (3, 10))' 2>/dev/null && echo $(p))))
VENV ?= .venv
BIN := $(VENV)/bin
PYTEST_ARGS ?=
BENCH_ARGS ?= --out docs/performance.json --plot docs/images --page benchmarks/README.md

unexport PYTHONPATH AMENT_PREFIX_PATH AMENT_CURRENT_PREFIX COLCON_PREFIX_PATH CMAKE_PREFIX_PATH LD_LIBRARY_PATH
unexport ROS_DISTRO ROS_VERSION ROS_PYTHON_VERSION RMW_IMPLEMENTATION _ROS_WHEELS_BOOTSTRAP_COMPLETE VIRTUAL_ENV
export ROS_AUTOMATIC_DISCOVERY_RANGE ?= LOCALHOST
unexport PYTHONDONTWRITEBYTECODE  # hundreds of nodes and commands that tests start would compile every module anew

.DEFAULT_GOAL := help
.PHONY: help demo test soak bench faults lint docs clean

help:  ## show the targets
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## */  make \1\t/' | expand -t 16

demo: $(VENV)/.demo  ## move a simulated PUMA 560 over real ROS 2 topics; print and plot how it tracked (DEMO_ARGS="--robot panda")
	$(BIN)/rne demo $(DEMO_ARGS)

test: $(VENV)/.test  ## run the whole test suite (PYTEST_ARGS="test/unit -x")
	$(BIN)/python -m pytest $(PYTEST_ARGS)

soak: $(VENV)/.test  ## run what is too long for .ci/run (hours), by hand before an issue is resolved
	$(BIN)/python -m pytest -ra -m soak -n 2 $(PYTEST_ARGS)

bench: $(VENV)/.test  ## compare with Pinocchio and MuJoCo, and write benchmarks/README.md (BENCH_ARGS="calls --quick" does not)
	$(BIN)/python benchmarks $(BENCH_ARGS)

faults: $(VENV)/.test  ## inject faults into running controllers and check their efforts (FAULTS_ARGS="--only process")
	$(BIN)/python test/faults $(FAULTS_ARGS)

lint: $(VENV)/.test  ## ruff and mypy --strict
	$(BIN)/ruff check .
	$(BIN)/mypy

docs: $(VENV)/.docs  ## build the documentation in out/site: open index.html (for its search: python3 -m http.server -d out/site)
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

clean:  ## remove the virtual environment, builds and caches
	rm -rf $(VENV) build install log dist out rne_demo_* guide_*.png *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# the marker files make a second call quick; a change of the requirements makes them old
$(VENV)/.python:
	@test -n "$(PYTHON)" || { echo "No Python 3.10 or newer with the venv module found (Debian, Ubuntu: sudo apt install python3-venv)." >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade pip
	@touch $@

$(VENV)/.demo: $(VENV)/.python setup.py
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[ros,plot,xacro]'
	@touch $@

$(VENV)/.test: $(VENV)/.demo setup.py
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[ros,plot,xacro,test]'
	@touch $@

$(VENV)/.docs: $(VENV)/.demo setup.py
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[ros,plot,xacro,docs]'
	@touch $@
