# Two commands do everything on a machine with Python and make:
#   make demo     the main job on text that every Python carries
#   make test     the tests, on all three backends
# Both create and reuse .venv. BACKEND=tensorflow|jax|torch picks one.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
BACKENDS := jax tensorflow torch
# Extra words for the one pip call that installs torch, for instance an
# index of CPU-only wheels (see README.md).
TORCH_ARGS ?=
PYTEST_ARGS ?=

export TF_CPP_MIN_LOG_LEVEL ?= 2
export PIP_DISABLE_PIP_VERSION_CHECK = 1

.PHONY: demo test lint guides clean test-once $(BACKENDS:%=test-%)

$(VENV)/base: setup.cfg
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

$(VENV)/tensorflow: $(VENV)/base
	touch $@

$(VENV)/jax: $(VENV)/base
	$(BIN)/python -m pip install --quiet --editable '.[jax]'
	touch $@

$(VENV)/torch: $(VENV)/base
	$(BIN)/python -m pip install --quiet torch==2.13.0 $(TORCH_ARGS)
	touch $@

$(VENV)/test: $(VENV)/torch $(VENV)/jax
	$(BIN)/python -m pip install --quiet --editable '.[test,eval]'
	touch $@

# Apache Beam brings an older protobuf: an environment of its own on top of
# the other one, whose packages it sees.
$(VENV)/beam: $(VENV)/base
	$(BIN)/python -m venv $(VENV)/beam_env
	$(BIN)/python -c "import sysconfig; print('import site; site.addsitedir(%r)' \
		% sysconfig.get_path('purelib'))" \
		> $$($(VENV)/beam_env/bin/python -c \
		"import sysconfig; print(sysconfig.get_path('purelib'))")/base.pth
	$(VENV)/beam_env/bin/python -m pip install --quiet apache-beam
	touch $@

# A browser for tests/serving, unless the machine has one.
$(VENV)/browser: $(VENV)/test
	command -v chromium || command -v chromium-browser || \
		command -v google-chrome || \
		$(BIN)/python -m playwright install chromium
	touch $@

demo: $(VENV)/base
	$(MAKE) --no-print-directory $(VENV)/$(or $(BACKEND),tensorflow)
	rm -rf demo_output/$(or $(BACKEND),tensorflow)
	KERAS_BACKEND=$(or $(BACKEND),tensorflow) $(BIN)/keras-bert demo \
		-o demo_output/$(or $(BACKEND),tensorflow)

test: lint $(if $(BACKEND),test-$(BACKEND) test-once,$(BACKENDS:%=test-%) test-once)

lint: $(VENV)/test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

# Text and data do not depend on the backend: those folders run once.
ONCE := tests/tokenizers tests/data tests/tasks tests/serving tests/cli tests/project
EACH := tests/layers tests/training tests/models tests/checkpoints \
	tests/export tests/test_reload.py

test-once: $(VENV)/test $(VENV)/beam $(VENV)/browser
	KERAS_BACKEND=tensorflow $(BIN)/python -m pytest $(ONCE) $(PYTEST_ARGS)

# XLA compiles thousands of tiny programs here: without its optimizations the
# tests under JAX take half the time.
test-jax: export JAX_DISABLE_MOST_OPTIMIZATIONS = 1

test-tensorflow test-jax test-torch: test-%: $(VENV)/test
	KERAS_BACKEND=$* $(BIN)/python -m pytest $(EACH) $(PYTEST_ARGS)

# The guides at the tiny size, as CI runs them.
guides: $(VENV)/jax
	rm -rf demo_output/guides && mkdir -p demo_output/guides
	cd demo_output/guides && for guide in ../../guides/*.py; do \
		echo "$$guide"; \
		KERAS_BERT_TINY=1 ../../$(BIN)/python $$guide || exit 1; done

clean:
	rm -rf $(VENV) demo_output build *.egg-info
