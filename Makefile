# The front door of the test suite and the demo; tests/tools/run.py does the work. Recipes need nothing installed beforehand.
RUN := tests/tools/run.sh

.DEFAULT_GOAL := help
.PHONY: help env lint unit gateway molecule site galaxy check test demo demo-down clean distclean

help: ## this text
	@awk -F ':.*## ' '/^[a-z%-]+:.*## / { printf "  make %-18s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: ## a disposable server, badly served, taken over by site.yml; ends with the numbers before and after
	@tests/demo/demo.sh up

demo-down: ## remove all that `make demo` made
	@tests/demo/demo.sh down

test: ## everything
	@$(RUN) test

check: ## lint and unit tests, under five minutes
	@$(RUN) check

lint: ## ansible-lint, changelog, docs, shellcheck, ansible-test sanity, syntax
	@$(RUN) lint

unit: ## unit tests, on each supported ansible-core for which a Python is found
	@$(RUN) unit

gateway: ## tests of the API gateway
	@$(RUN) gateway

molecule: ## every scenario
	@$(RUN) molecule

molecule-%: ## one scenario, for example molecule-default
	@$(RUN) $@

site: ## site.yml on one server with a real engine
	@$(RUN) site

galaxy: ## build the tarball, install it into an empty path, run its playbooks by name
	@$(RUN) galaxy

env: ## only the control environment; prints how to use it
	@$(RUN) env

clean: ## remove servers and other things that tests of this checkout left; caches stay
	@$(RUN) clean

distclean: clean ## remove all servers, the demo, caches, images and the network
	@$(RUN) distclean
