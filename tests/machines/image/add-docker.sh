#!/usr/bin/env bash
# add-docker.sh: run inside a container of the bare image; adds Docker as `apt-get install docker.io` leaves it.
set -euo pipefail
export DEBIAN_FRONTEND=noninteractive

candidate() { apt-cache show "$1" >/dev/null 2>&1; }

apt-get update -qq
packages=(docker.io)
# From Debian 13 on the client is a package of its own.
if candidate docker-cli; then packages+=(docker-cli); fi
apt-get install -y -qq --no-install-recommends "${packages[@]}" >/dev/null
rm -f /var/cache/apt/archives/*.deb
