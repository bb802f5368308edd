# make help lists the targets. A target is rebuilt only if one of its inputs has changed.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-builtin-rules

VERSION := $(shell sed -n 's/^version = "\(.*\)"$$/\1/p' pyproject.toml)
# The versions of Spark and Scala that jars are built for: of the planner, and of append ingestion.
listed = $(foreach minor,$(shell sed -n 's/^$(1) = (\(.*\))/\1/p' python/zonemap/common/version.py | tr -d '",'), \
  $(minor)_$(if $(filter 3.%,$(minor)),2.12,2.13))
BUILT := $(foreach of,$(call listed,SPARK_MINORS),dist/zonemap-spark-$(of)-$(VERSION).jar) \
  $(foreach of,$(call listed,INGEST_MINORS),dist/zonemap-ingest-spark-$(of)-$(VERSION).jar)
WHEEL := dist/zonemap-$(VERSION)-py3-none-any.whl
VENV := .venv
BIN := $(VENV)/bin
JARS := build/jars
REPORTS := build/reports
DBT := build/dbt
# What runs the product, without the tools of the tests.
READY = $(BIN)/.wheel $(JARS)/.fetched
# Spark classes that the JVMs of tests/ share, see tests/support/archive.py. Without them, tests run but take longer.
ARCHIVE := build/spark-classes.jsa
# Hadoop's local file system for the tests, without a process for each file, and without defaults of YARN and MapReduce.
QUICK_FILES := build/quick-files.jar
# The first Iceberg runtime in dev/jars.txt.
ICEBERG := $(shell sed -n 's/^org.apache.iceberg:iceberg-spark-runtime-4.1_2.13://p' dev/jars.txt | head -n 1)
ICEBERG_JAR := $(JARS)/iceberg-spark-runtime-4.1_2.13-$(ICEBERG).jar
SQLITE_JAR := $(JARS)/sqlite-jdbc-$(shell sed -n 's/^org.xerial:sqlite-jdbc://p' dev/jars.txt).jar

REQUIREMENTS := dev/requirements.txt $(wildcard tests/requirements.txt benchmarks/requirements.txt)
JVM_SOURCES := $(shell find jvm -path '*/src/main/*' -type f 2>/dev/null) build.sbt $(wildcard project/*.*)
PYTHON_SOURCES := $(shell find python/zonemap -type f -not -path '*/__pycache__/*') \
  pyproject.toml hatch_build.py README.md LICENSE NOTICE

# sbt, pip and Maven run in parallel
MAKEFLAGS += --jobs=3

.PHONY: help setup jars jar wheel demo test test-jvm test-matrix test-python publish-local release-check campaign docs docs-site lint check format bench-planning bench-matrix bench-aggregates bench-dml bench-scale bench-kernel bench-pruning bench-footers bench-keys bench-tpch bench-tpcds bench-atlas bench-strategies bench-stream bench-report clean tools demo-ingest demo-serve soak-ingest bench-ingest guards bench-pyiceberg bench-serve bench-load soak faults simulate soundness

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  %-12s %s\n", $$1, $$2}'

setup: $(READY) $(DBT)/.installed ## everything demo and test need: .venv, jars, the built wheel

jars: $(JARS)/.fetched ## fetch the jars of dev/jars.txt into build/jars

jar: $(BUILT) ## build the jars of the Spark extension and of append ingestion into dist, for each minor of Spark

wheel: $(WHEEL) ## build the Python wheel, with the jars inside, into dist

publish-local: $(BUILT) ## a Maven repository of the jars, POMs, sources and licence for each minor of Spark (build/maven)
	dev/sbt publishJars

release-check: setup publish-local ## a dry run of a release in new environments: the wheel and the Maven artifacts, each prunes a query
	$(BIN)/python dev/release_check.py

demo: $(READY) ## real flights in Iceberg: queries with the index off and on (build/demo/report.html)
	PYTHONPATH=examples $(BIN)/python -m demo --dir build/demo --iceberg $(ICEBERG_JAR)

demo-ingest: $(READY) ## eight processes append real flights through a queue, two are killed, and the table is counted (2 minutes)
	PYTHONPATH=examples $(BIN)/python -m demo_ingest --dir build/demo-ingest --iceberg $(ICEBERG_JAR) --sqlite $(SQLITE_JAR)

demo-serve: $(READY) ## PyIceberg and Spark without our jar plan through `zonemap serve`, beside their own plans (a minute)
	PYTHONPATH=examples $(BIN)/python -m demo_serve --dir build/demo-serve --iceberg $(ICEBERG_JAR)

soak-ingest: setup ## processes that append and commit are killed and stopped, and keys expire, beside maintenance: ROUNDS=n SEED=s
	cd tests && ZONEMAP_TEST_JARS="$${ZONEMAP_TEST_JARS:-$(CURDIR)/$(JARS)}" ../$(BIN)/python -m ingest.soak --folder ../build/soak --rounds $(or $(ROUNDS),50) $(if $(SEED),--seed $(SEED))

soak: setup ## one driver with queries, a stream, maintenance and several maintainers at once, rows against stock: MINUTES=n SEED=s
	cd tests && ZONEMAP_TEST_JARS="$${ZONEMAP_TEST_JARS:-$(CURDIR)/$(JARS)}" ../$(BIN)/python -m soak --folder ../build/soak-product --minutes $(or $(MINUTES),60) $(if $(SEED),--seed $(SEED))

faults: ## every fault at every call of a store, processes that halt, maintainers that meet (about 15 minutes)
	ZONEMAP_FAULTS=all dev/sbt "iceberg/testOnly zonemap.iceberg.faults.*"

simulate: ## seeds of the simulation of ingest; a run of the same commit goes on where it was stopped: SEEDS=n FROM=s JOBS=j
	dev/sbt 'set ingest / Test / javaOptions -= "-XX:TieredStopAtLevel=1"' \
	  "ingest/Test/runMain zonemap.ingest.sim.Simulate $(or $(FROM),0) $(or $(SEEDS),1000000) build/simulation-$$(git rev-parse --short HEAD:jvm).journal $(or $(JOBS),2)"

test: setup $(ARCHIVE) ## all tests, against the built wheel and its jar; the last line counts them
	rm -rf $(REPORTS)
	$(BIN)/python dev/run_tests.py jvm python
	$(BIN)/python dev/count_tests.py $(REPORTS)

test-matrix: setup ## suites of tests/ on each Spark and Iceberg: SPARK=4.0 RUNTIME=1.12.0 FEATURE=Joins; writes docs/reference/compatibility.md
	$(if $(SPARK:3.5=),,dev/sbt spark35/test)
	$(BIN)/python dev/test_matrix.py $(if $(SPARK),--spark $(SPARK)) $(if $(RUNTIME),--iceberg $(RUNTIME)) $(if $(FEATURE),--feature "$(FEATURE)")

test-jvm: $(BIN)/.requirements ## the Scala tests only
	rm -rf $(REPORTS)
	$(BIN)/python dev/run_tests.py jvm
	$(BIN)/python dev/count_tests.py $(REPORTS)

test-python: setup $(ARCHIVE) ## the Python and end-to-end tests only
	rm -rf $(REPORTS)
	$(BIN)/python dev/run_tests.py python
	$(BIN)/python dev/count_tests.py $(REPORTS)

campaign: setup $(QUICK_FILES) ## random tables and queries with the product on and off: CHECKS=n SEED=s JOBS=j; REPORT=1 prints totals; ROUND=r CHECK=c repeats one
	cd tests && ZONEMAP_TEST_JARS="$${ZONEMAP_TEST_JARS:-$(CURDIR)/$(JARS)}" ../$(BIN)/python -m campaign --folder ../build/campaign --checks $(or $(CHECKS),2000) --jobs $(or $(JOBS),2) \
	  $(if $(SEED),--seed $(SEED)) $(if $(REPORT),--report) $(if $(ROUND),--round $(ROUND)) $(if $(CHECK),--check $(CHECK))

guards: setup ## switch off each safety check in turn and run the test that must then fail: ONLY=ids or rules, JOBS=j, PENDING=1
	$(BIN)/python dev/guards/run.py --jars "$${ZONEMAP_TEST_JARS:-$(CURDIR)/$(JARS)}" --jobs $(or $(JOBS),1) --baseline \
	  $(if $(ONLY),--only "$(ONLY)") $(if $(PENDING),--pending)

lint: $(BIN)/.requirements ## check style and types, and that the benchmarks compile
	dev/lint

check: $(BIN)/.requirements ## the loop while working: lint, compile, unit tests near what differs from main (about 3 minutes)
	$(BIN)/python dev/check.py

format: $(BIN)/.requirements ## format all sources
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	dev/sbt scalafmtAll benchmarks/scalafmtAll

docs: soundness | tools ## write the generated pages of docs/reference
	dev/sbt "house/Test/runMain zonemap.docs.ReferencePages docs/reference"

soundness: $(BIN)/.requirements ## write the lines of the soundness rules that name their code
	$(BIN)/python dev/guards/code_lines.py

comma := ,
# `make bench-<suite> QUICK=1`: small sizes and few runs, within five minutes; the result stays in build/bench.
result = $(if $(QUICK),build/bench/$(1)-quick.json,benchmarks/$(2))
work = build/bench/$(1)$(if $(QUICK),-quick)
# Adds the machine and the commit to a result of a JVM suite; the Python suites do this themselves.
provenance = "$$(dev/find-python.sh)" benchmarks/provenance.py $(1)

docs-site: $(BIN)/.requirements ## the documentation as a site (build/site/index.html); a link that leads nowhere is an error
	$(BIN)/sphinx-build --quiet --fail-on-warning --keep-going -c docs/site -b html . build/site

bench-planning: ## stock against index planning, 100,000 and 1,000,000 files (about 15 minutes on 2 cores)
	dev/sbt "planningBenchmark/run $(call work,planning) $(call result,planning,planning/results/planning.json) 3 $(if $(QUICK),1000 20000,100000 1000000)"
	$(call provenance,$(call result,planning,planning/results/planning.json))

bench-matrix: ## planning with files, columns, deletes or the state of the index varied (about an hour, half of it for tables that are kept)
	dev/sbt "planningBenchmark/runMain zonemap.benchmarks.planning.PlanningMatrix $(call work,matrix) $(call result,matrix,planning/results/matrix.json) $(if $(QUICK),1 1000 1 100,3 1000000 1 100 1000 10000 100000 1000000 2700000)"
	$(call provenance,$(call result,matrix,planning/results/matrix.json))

bench-aggregates: ## planning of COUNT, MIN and MAX, stock against the index, 100,000 and 1,000,000 files (about 8 minutes)
	dev/sbt "planningBenchmark/runMain zonemap.benchmarks.planning.AggregatePlanning $(call work,aggregates) $(call result,aggregates,planning/results/aggregates.json) $(if $(QUICK),5 20000,3 100000 1000000)"
	$(call provenance,$(call result,aggregates,planning/results/aggregates.json))

bench-dml: ## planning of UPDATE, DELETE and MERGE, stock against the index, 100,000 files (about 4 minutes)
	dev/sbt "planningBenchmark/runMain zonemap.benchmarks.planning.CommandPlanning $(call work,dml) $(call result,dml,planning/results/dml.json) $(if $(QUICK),3 20000,5 100000)"
	$(call provenance,$(call result,dml,planning/results/dml.json))

bench-scale: ## one driver of 4 GB over metadata of 1,000,000 and 10,000,000 files: build, plans, COUNT, commits (about an hour)
	dev/sbt -Dzonemap.heap=4g "planningBenchmark/runMain zonemap.benchmarks.planning.Scale $(call work,scale) $(call result,scale,planning/results/scale.json) $(if $(QUICK),3 20000,5 1000000 10000000)"
	$(call provenance,$(call result,scale,planning/results/scale.json))

bench-kernel: ## JMH: one predicate over the codes of 2,700,000 and 27,000,000 files, time and allocations (about 20 minutes)
	mkdir -p build/bench
	dev/sbt "jmhBenchmark/Jmh/run -prof gc -rf json -rff build/bench/kernel.json $(if $(QUICK),-p files=262144 -wi 2 -i 2 -w 1 -r 1,-p files=2700000$(comma)27000000)"
	"$$(dev/find-python.sh)" benchmarks/jmh/keep.py build/bench/kernel.json $(call result,kernel,jmh/results/kernel.json)
	$(call provenance,$(call result,kernel,jmh/results/kernel.json))

bench-pruning: setup ## files read by Iceberg, by the index, and at best, for each class of queries (about 15 minutes)
	cd benchmarks && PYTHONPATH=../examples ../$(BIN)/python -m pruning ../$(call work,pruning) ../$(call result,pruning,pruning/results/pruning.json) ../$(ICEBERG_JAR) $(if $(QUICK),quick)

bench-tpch: setup ## the 22 queries of TPC-H, tables ordered by time, by key, and shuffled (about 20 minutes)
	$(BIN)/pip install --quiet --disable-pip-version-check -r benchmarks/tpch/requirements.txt
	cd benchmarks && PYTHONPATH=../examples ../$(BIN)/python -m tpch ../$(call work,tpch) ../$(call result,tpch,tpch/results/tpch.json) ../$(ICEBERG_JAR) $(if $(QUICK),0.01 quick,1)

bench-tpcds: setup ## the 103 statements of TPC-DS, facts ordered by date, and partitioned by month (about 40 minutes)
	test -d build/tpcds/env || "$$(dev/find-python.sh)" -m venv build/tpcds/env
	build/tpcds/env/bin/pip install --quiet --disable-pip-version-check -r benchmarks/tpcds/requirements.txt
	dev/fetch-jars.sh build/tpcds/jars benchmarks/tpcds/jars.txt
	rm -rf $(call work,tpcds)
	build/tpcds/env/bin/python benchmarks/tpcds/generate.py $(call work,tpcds)/generated $(if $(QUICK),0.01,1)
	cd benchmarks && PYTHONPATH=../examples ../$(BIN)/python -m tpcds ../$(call work,tpcds) ../$(call result,tpcds,tpcds/results/tpcds.json) ../$(ICEBERG_JAR) ../build/tpcds/jars/spark-sql_2.13-*-tests.jar $(if $(QUICK),quick)

bench-footers: ## the footers of 1,000 imported files as evidence: requests, time and CPU, local and at 27 ms a request (2 minutes)
	dev/sbt "planningBenchmark/runMain zonemap.benchmarks.planning.Footers $(call work,footers) $(call result,footers,planning/results/footers.json) $(if $(QUICK),200 1,1000 5)"
	$(call provenance,$(call result,footers,planning/results/footers.json))

bench-keys: ## an index of keys beside bloom filters: bits, files of an absent key, CPU and requests (about 10 minutes)
	dev/sbt "planningBenchmark/runMain zonemap.benchmarks.planning.Keys $(call work,keys) $(call result,keys,planning/results/keys.json) $(if $(QUICK),100x50000 2000x2500,100x50000 1000x50000 20000x2500 4000x50000)"
	$(call provenance,$(call result,keys,planning/results/keys.json))

bench-atlas: setup ## the query of Netflix's Atlas table over metadata of 2,700,000 files, and over rows (about 25 minutes)
	dev/sbt "planningBenchmark/runMain zonemap.benchmarks.planning.AtlasTable $(call work,atlas)/db/atlas $(if $(QUICK),50000,2700000)"
	cd benchmarks && PYTHONPATH=../examples ../$(BIN)/python -m atlas ../$(call work,atlas) ../$(call result,atlas,atlas/results/atlas.json) ../$(ICEBERG_JAR)

bench-pyiceberg: setup ## plans of readers without Spark over metadata of 100,000 files: the index, PyIceberg, Polars (about 10 minutes)
	$(BIN)/pip install --quiet --disable-pip-version-check -r benchmarks/readers/requirements.txt
	dev/sbt "planningBenchmark/runMain zonemap.benchmarks.planning.AtlasTable $(call work,readers)/db/atlas $(if $(QUICK),10000,100000)"
	cd benchmarks && ../$(BIN)/python -m readers ../$(call work,readers) ../$(call result,readers,readers/results/readers.json) ../$(ICEBERG_JAR) $(if $(QUICK),2)

bench-serve: setup ## plans over the REST protocol, metadata of 20,000 and 100,000 files: the index, a server without one, PyIceberg (10 minutes)
	for files in $(if $(QUICK),2000,20000 100000); do \
	  dev/sbt "planningBenchmark/runMain zonemap.benchmarks.planning.AtlasTable $(call work,serve)/$$files/db/atlas $$files byEngine"; done
	cd benchmarks && PYTHONPATH=../examples ../$(BIN)/python -m serve ../$(call work,serve) ../$(call result,serve,serve/results/serve.json) ../$(ICEBERG_JAR) $(if $(QUICK),5 2000,20 20000 100000)

bench-strategies: ## seven ways to keep an index beside a stream (about an hour)
	dev/sbt "strategiesBenchmark/run $(call work,strategies) $(call result,strategies,strategies/results/strategies.json) $(if $(QUICK),20000 1000:2,430000 1000:30 100000:30 1000000:30)"
	$(call provenance,$(call result,strategies,strategies/results/strategies.json))

bench-stream: ## a stream of 43,000 records a second and queries beside it, with the index and without (about 10 minutes)
	dev/sbt "strategiesBenchmark/runMain zonemap.benchmarks.strategies.PacedStream $(call work,stream) $(call result,stream,strategies/results/stream.json) $(if $(QUICK),15 1000,30 1000 100000 1000000)"
	$(call provenance,$(call result,stream,strategies/results/stream.json))

bench-ingest: jars ## many writers of one table: direct commits against the queue, a soak, a streaming query (about an hour; SOAK=minutes)
	dev/sbt "ingestBenchmark/run $(call work,ingest) $(call result,ingest,ingest/results/ingest.json) $(JARS) $(if $(QUICK),quick,full) $(SOAK)"
	$(call provenance,$(call result,ingest,ingest/results/ingest.json))

bench-load: ## 64 query threads on 200 tables under a small cap, beside stock; re-executed DataFrames, sessions (about 25 minutes)
	dev/sbt "loadBenchmark/run $(call work,load) $(call result,load,load/results/load.json) $(if $(QUICK),quick,full)"
	$(call provenance,$(call result,load,load/results/load.json))

bench-report: | tools ## docs/benchmarks.md, docs/stream.md and their plots, from the committed results
	$(BIN)/pip install --quiet --disable-pip-version-check -r benchmarks/report/requirements.txt
	cd benchmarks && ../$(BIN)/python -m report ../docs

clean: ## delete everything that was built or fetched
	rm -rf $(VENV) build dist target jvm/*/target project/target project/project

tools:
	@dev/check-tools.sh

$(DBT)/.installed: dev/requirements-dbt.txt | tools
	"$$(dev/find-python.sh)" -m venv $(DBT)
	$(DBT)/bin/pip install --quiet --disable-pip-version-check --only-binary :all: -r $<
	touch $@

$(BIN)/.requirements: $(REQUIREMENTS) | tools
	"$$(dev/find-python.sh)" -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check $(addprefix -r ,$(REQUIREMENTS))
	touch $@

$(JARS)/.fetched: dev/jars.txt dev/fetch-jars.sh | tools
	dev/check-tools.sh --maven
	dev/fetch-jars.sh $(JARS)
	touch $@

$(QUICK_FILES): $(shell find tests/support/java -name '*.java') $(wildcard tests/support/hadoop/*.xml) $(BIN)/.requirements
	mkdir -p build/quick-files
	javac --release 17 -cp "$$(ls $(VENV)/lib/python3*/site-packages/pyspark/jars/hadoop-client-api-*.jar)" \
	  -d build/quick-files $(filter %.java,$^)
	jar --create --file $@ -C build/quick-files zonemap $(foreach file,$(filter %.xml,$^),-C $(dir $(file)) $(notdir $(file)))

$(ARCHIVE): $(BIN)/.requirements $(JARS)/.fetched $(QUICK_FILES) tests/support/archive.py
	-cd tests && ZONEMAP_TEST_JARS="$${ZONEMAP_TEST_JARS:-$(CURDIR)/$(JARS)}" ../$(BIN)/python -m support.archive ../$@

$(BUILT) &: $(JVM_SOURCES) | tools
	dev/sbt insight/assembly ingestSpark/assembly insight40/assembly ingestSpark40/assembly insight35/assembly
	mkdir -p dist
	cp $(foreach jar,$(notdir $(BUILT)),$$(find jvm -name $(jar))) dist

$(WHEEL): $(BUILT) $(PYTHON_SOURCES) $(BIN)/.requirements
	$(BIN)/pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation --wheel-dir dist .
	touch $@

$(BIN)/.wheel: $(WHEEL) $(BIN)/.requirements
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --force-reinstall $(WHEEL)
	touch $@
