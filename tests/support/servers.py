"""Where a disposable server is."""
from __future__ import annotations

import subprocess


def address(container):
    """IP address of a container on the servers' network."""
    form = "{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}"
    return subprocess.run(["docker", "inspect", "-f", form, container], check=True, text=True, capture_output=True).stdout.strip()


def name(host):
    """Name of the container behind testinfra's `host`."""
    return host.backend.name if hasattr(host.backend, "name") else host.backend.host
