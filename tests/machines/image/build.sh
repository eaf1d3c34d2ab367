#!/usr/bin/env bash
# build.sh SUITE ARCHIVE: the file system of a disposable server as a tar archive, from Debian's packages only.
# shellcheck disable=SC2016  # "$1" in a hook is expanded by mmdebstrap's shell, not by this one
set -euo pipefail

suite=$1 archive=$2
here=$(cd "$(dirname "$0")" && pwd)

packages=(
  systemd systemd-sysv dbus          # a server: PID 1 and its bus
  python3 python3-apt                # what Ansible needs there
  openssh-server sudo rsync          # how people get in
  iproute2 iputils-ping procps kmod pciutils ethtool
  curl ca-certificates
)

# Units that would touch the kernel or the hardware of the machine below, or that have no meaning without a console.
masked=(
  systemd-udevd.service systemd-udevd-kernel.socket systemd-udevd-control.socket
  systemd-remount-fs.service dev-hugepages.mount sys-fs-fuse-connections.mount
  sys-kernel-debug.mount sys-kernel-tracing.mount
  getty.target console-getty.service systemd-logind.service
  # Background package runs would hold apt's lock in the middle of a test.
  apt-daily.timer apt-daily-upgrade.timer
)

# Package lists stay in the image: with empty but young lists, apt's cache_valid_time skips the update that is needed.
mmdebstrap --quiet --variant=minbase --skip=cleanup/apt/lists \
  --include="$(IFS=,; echo "${packages[*]}")" \
  --dpkgopt=force-unsafe-io \
  --customize-hook="upload $here/server-init /usr/local/sbin/server-init" \
  --customize-hook='chmod 0755 "$1/usr/local/sbin/server-init"' \
  --customize-hook='mkdir -p "$1/etc/systemd/system/ssh.service.d"' \
  --customize-hook="copy-in $here/ssh-host-keys.conf /etc/systemd/system/ssh.service.d" \
  --customize-hook="chroot \"\$1\" systemctl mask --quiet ${masked[*]}" \
  --customize-hook='rm -f "$1"/etc/ssh/ssh_host_*key* "$1/usr/sbin/policy-rc.d" "$1/etc/dpkg/dpkg.cfg.d/99mmdebstrap"' \
  --customize-hook=': > "$1/etc/machine-id"' \
  "$suite" "$archive"
