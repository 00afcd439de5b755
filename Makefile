# Every target sets up what it needs from a bare Python 3.11.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/installed
LIGHT := .venv/installed-light
DOCS := .venv/installed-docs
PIP := $(BIN)/python -m pip install --quiet --constraint constraints.txt

.PHONY: install demo test mutants nightly check bench evidence versions paper docs clean

install: $(STAMP)

$(LIGHT): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(PIP) --editable '.[plots]'
	touch $(LIGHT)

$(STAMP): $(LIGHT) lab/pyproject.toml
	$(PIP) --editable '.[dev]' --editable lab
	touch $(STAMP)

demo: $(LIGHT)  ## simulate, fit, sample, verify and compare, in demo/
	rm -rf demo
	$(BIN)/longsynth demo --out demo

test: install  ## every test
	$(BIN)/python -m pytest --numprocesses 2 --dist loadgroup --quiet

mutants: install  ## deliberate privacy bugs and who catches them; ONLY=noise tries some
	PYTHONPATH=tests $(BIN)/python -m mutants $(ONLY)

SEED ?= $(shell date +%j)
nightly: mutants  ## the long games, fuzzing and kills, over an hour; SEED=n repeats a night
	$(BIN)/python lab/game.py --check
	LONGSYNTH_NIGHTLY=1 $(BIN)/python -m pytest --numprocesses 2 --quiet tests/privacy
	$(BIN)/python tests/fuzz/fuzz.py --inputs 10000 --jobs 2 --seed $(SEED)
	PYTHONPATH=tests $(BIN)/python tests/atomic/kill_campaign.py --kills 200

check: install  ## style, types, import contracts and dependencies
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	$(BIN)/python tools/dependency_audit.py

bench: install  ## ratios against floors measured in the same run
	$(BIN)/python lab/speed.py --out lab/results/speed.json

evidence: install  ## the pages on quality, from what today's code measures; over an hour if nothing is kept
	$(BIN)/python lab/evidence.py --jobs 2

versions: install  ## after moving code: which stored results does today's code still give? a minute
	$(BIN)/python lab/versions.py

STUDY ?= study
paper: install  ## the paper's study, docs/study-results.md and, with LaTeX, its figures as PDF
	$(BIN)/longsynth bench paper --out $(STUDY) --jobs 2 --resume
	$(BIN)/python lab/study.py $(STUDY)
	@if command -v pdflatex >/dev/null; then cd $(STUDY)/paper && \
	  for document in architecture study study; do \
	    pdflatex -interaction=nonstopmode -halt-on-error $$document.tex >/dev/null || exit 1; done; \
	  echo "Open $(STUDY)/paper/study.pdf"; \
	else echo "LaTeX is not installed: $(STUDY)/paper/study.tex was not compiled"; fi

$(DOCS): $(STAMP)
	$(PIP) --editable '.[docs]'
	touch $(DOCS)

docs: $(DOCS)  ## the documentation site, in site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "Open site/index.html"

clean:
	rm -rf .venv site demo dist build
