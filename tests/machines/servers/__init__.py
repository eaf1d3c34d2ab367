"""Disposable servers: containers that behave as servers (systemd, sshd, a Docker daemon of their own)."""
