#!/usr/bin/env bash
# build.sh SUITE PUBLIC_KEY FOLDER: disk.img, vmlinuz and initrd.img of a guest, from Debian's packages only. Needs root.
# shellcheck disable=SC2016  # "$1" in a hook is expanded by mmdebstrap's shell, not by this one
set -euo pipefail

suite=$1 key=$2 folder=$3
here=$(cd "$(dirname "$0")" && pwd)

packages=(
  linux-image-cloud-amd64 initramfs-tools busybox-static   # a kernel of its own
  systemd systemd-sysv systemd-resolved dbus udev
  python3 python3-apt                                      # what Ansible needs there
  openssh-server sudo
  iproute2 procps kmod ethtool ca-certificates
)

mmdebstrap --quiet --variant=minbase --include="$(IFS=,; echo "${packages[*]}")" \
  --aptopt='APT::Install-Recommends "false"' --dpkgopt=force-unsafe-io --dpkgopt=force-confold \
  --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
  --essential-hook='mkdir -p "$1/etc/initramfs-tools/conf.d"' \
  --essential-hook="copy-in $here/modules-list.conf /etc/initramfs-tools/conf.d" \
  --essential-hook="copy-in $here/modules /etc/initramfs-tools" \
  --customize-hook="upload $key /root/authorized_keys" \
  --customize-hook="upload $here/setup.sh /root/setup.sh" \
  --customize-hook='chroot "$1" sh /root/setup.sh' \
  --customize-hook='rm -f "$1/etc/dpkg/dpkg.cfg.d/99mmdebstrap"' \
  "$suite" "$folder/root"

cp "$folder"/root/boot/vmlinuz-* "$folder/vmlinuz"
cp "$folder"/root/boot/initrd.img-* "$folder/initrd.img"
truncate -s 6G "$folder/disk.img"
mke2fs -q -t ext4 -F -L root -E lazy_itable_init=1,lazy_journal_init=1 -d "$folder/root" "$folder/disk.img"
rm -rf "$folder/root"
