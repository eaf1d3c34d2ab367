#!/bin/sh
# setup.sh: run inside the new file system; makes of it a server that is reached over SSH and nothing else.
set -eu

echo guest > /etc/hostname
echo '/dev/vda / ext4 errors=remount-ro 0 1' > /etc/fstab
install -d -m 0700 /root/.ssh
install -m 0600 /root/authorized_keys /root/.ssh/authorized_keys
rm -f /root/authorized_keys /root/setup.sh

cat > /etc/systemd/network/80-wired.network <<'END'
[Match]
Name=eth*
[Network]
DHCP=ipv4
END
systemctl --quiet enable systemd-networkd ssh
# One user comes in many times at once: Ansible, the tests and a person who looks.
printf 'MaxSessions 64\nMaxStartups 64\nUseDNS no\n' > /etc/ssh/sshd_config.d/tests.conf

# What only costs time where the processor is emulated, or would hold apt's lock in the middle of a test.
systemctl --quiet mask apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer e2scrub_all.timer fstrim.timer \
  systemd-networkd-wait-online.service e2scrub_reap.service getty@tty1.service
# A server that hangs while it goes down shows in the test's time, not in minutes of waiting.
mkdir -p /etc/systemd/system.conf.d
printf '[Manager]\nDefaultTimeoutStopSec=15s\n' > /etc/systemd/system.conf.d/tests.conf
