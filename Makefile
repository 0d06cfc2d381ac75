# Two commands for a fresh machine: each makes its own virtual environment, installs this project into it and runs.
#   make demo    compiles, builds and runs a small network that ships with the project
#   make test    the whole test suite
# Parts of it: make unit, tvm, cc, qemu, rtl (CONTRIBUTING.md), and make sweep, the slow tier.
#   make pages   writes the files of docs/ that follow from types and descriptions
#   make site    the documentation as a site, build/site/index.html; a link that leads nowhere fails
# They need Python 3.11-3.13 with its venv module (PYTHON names another one), a C compiler and make.

PYTHON ?= python3
TEST_PROCESSES ?= 2
PYTEST = .venv-test/bin/python -m pytest -n $(TEST_PROCESSES) --dist worksteal

# Many programs import the compiler, and pytest rewrites every test: each module is compiled once, even where the shell
# forbids to write bytecode.
unexport PYTHONDONTWRITEBYTECODE

TIERS := unit tvm cc qemu rtl

.PHONY: demo test $(TIERS) sweep pages site clean

demo: .venv-demo/ready
	.venv-demo/bin/match demo

test: .venv-test/ready
	$(PYTEST)

# Files of a tier are named to pytest, which would else import them all; what needs a simulator is in any of them.
files = $(if $(filter unit tvm cc,$1),$(shell grep -rlE '^pytestmark = .*pytest\.mark\.$1\b' tests --include='test_*.py'))

$(TIERS): .venv-test/ready
	$(PYTEST) $(call files,$@) -m '$@ and not sweep$(if $(filter cc,$@), and not qemu and not rtl)'

sweep: .venv-test/ready
	$(PYTEST) -m sweep

pages: .venv-test/ready
	.venv-test/bin/python -m tests.pages

site: .venv-test/ready
	.venv-test/bin/python -m tests.site

.venv-%/ready: pyproject.toml
	$(PYTHON) -m venv .venv-$*
	.venv-$*/bin/python -m pip install --quiet --editable '.[$*]'
	touch $@

clean:
	rm -rf .venv-demo .venv-test build dist *.egg-info
