#!/usr/bin/python
# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: server_certificate
short_description: A certificate for a web server, self-signed or one's own
version_added: 1.0.0
description:
  - With O(self_signed=true) makes a self-signed certificate with its key, and makes it anew when little of its validity is
    left, when its names are not the wanted ones, or when key and certificate do not belong together. Nothing happens
    otherwise, whatever the clock says.
  - With O(self_signed=false) changes nothing and checks the pair, so that a web server is never given one that clients
    refuse.
options:
  certificate:
    description: Path of the certificate on the host, in PEM form; a chain is fine, the server's own certificate first.
    type: path
    required: true
  key:
    description: Path of its private key on the host. Written with mode C(0600).
    type: path
    required: true
  names:
    description: Host names and addresses; the first one is the name that clients use.
    type: list
    elements: str
    required: true
  self_signed:
    description: Whether the pair is made here.
    type: bool
    default: true
  valid_days:
    description: Validity of a new self-signed certificate.
    type: int
    default: 397
  renew_days:
    description: A self-signed certificate with fewer days left is made anew; one's own is warned about.
    type: int
    default: 30
requirements:
  - The openssl program on the host.
attributes:
  check_mode:
    description: Can run in check mode and return a prediction of the change.
    support: full
  diff_mode:
    description: Shows names and end of validity, never the key.
    support: full
author:
  - IndiaAI Inference contributors (@indiaai)
"""

EXAMPLES = r"""
- name: A certificate to start with
  indiaai.inference.server_certificate:
    certificate: /etc/indiaai-inference/tls/server.crt
    key: /etc/indiaai-inference/tls/server.key
    names: [llm.example.gov.in, localhost, 127.0.0.1]

- name: Check the department's own pair
  indiaai.inference.server_certificate:
    certificate: /etc/ssl/llm.pem
    key: /etc/ssl/private/llm.key
    names: [llm.example.gov.in]
    self_signed: false
"""

RETURN = r"""
reason:
  description: Why a certificate was made, or null.
  returned: success
  type: str
  sample: it ends in 12 days
not_after:
  description: End of validity, or null before the first one exists in check mode.
  returned: success
  type: str
  sample: "2027-12-01T00:00:00Z"
days_left:
  description: Whole days until then.
  returned: success
  type: int
  sample: 396
fingerprint:
  description: SHA-256 fingerprint, to compare with what a client sees.
  returned: success
  type: str
  sample: "5A:0F:11:22"
names:
  description: Names in the certificate.
  returned: success
  type: list
  elements: str
  sample: [llm.example.gov.in, localhost, 127.0.0.1]
"""

import datetime
import os
import shutil
import tempfile

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.indiaai.inference.plugins.module_utils import _certificate
from ansible_collections.indiaai.inference.plugins.module_utils._host import atomic


def look(module, certificate, key):
    """(what the certificate says or None, whether the key belongs to it)."""
    if not (os.path.exists(certificate) and os.path.exists(key)):
        return None, False
    rc, text, dummy = module.run_command(
        ["openssl", "x509", "-in", certificate, "-noout", "-subject", "-issuer", "-enddate", "-fingerprint", "-sha256",
         "-ext", "subjectAltName"])
    if rc != 0:
        return None, False
    try:
        found = _certificate.parse_x509(text)
    except ValueError:
        return None, False
    rc, public, dummy = module.run_command(["openssl", "x509", "-in", certificate, "-noout", "-pubkey"])
    # -passin: a key with a passphrase is refused instead of asking for it
    rc_key, from_key, dummy = module.run_command(["openssl", "pkey", "-in", key, "-pubout", "-passin", "pass:"])
    return found, rc == 0 and rc_key == 0 and public.strip() == from_key.strip()


def make(module, names):
    """Write a new pair."""
    folder = tempfile.mkdtemp(dir=module.tmpdir)
    paths = {name: os.path.join(folder, name) for name in ("config", "key", "certificate")}
    try:
        atomic.write(paths["config"], _certificate.openssl_config(names), mode=0o600)
        rc, out, err = module.run_command(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-sha256",
             "-days", str(module.params["valid_days"]), "-config", paths["config"],
             "-keyout", paths["key"], "-out", paths["certificate"]], umask=0o077)
        if rc != 0:
            module.fail_json(msg="openssl could not make the certificate: %s" % (err or out).strip())
        for name, mode in (("key", 0o600), ("certificate", 0o644)):
            target = module.params[name]
            os.makedirs(os.path.dirname(target), 0o755, exist_ok=True)
            with open(paths[name], "rb") as handle:
                atomic.write(target, handle.read(), mode=mode, uid=0, gid=0)
    finally:
        shutil.rmtree(folder)


def describe(found, now):
    """The part of the result that comes from the certificate."""
    if found is None:
        return {"not_after": None, "days_left": None, "fingerprint": None, "names": []}
    return {"not_after": found["not_after"].strftime("%Y-%m-%dT%H:%M:%SZ"), "fingerprint": found["fingerprint"],
            "days_left": _certificate.days_left(found, now), "names": found["names"]}


def diff_text(found, names=None):
    """One line for the diff."""
    if names is not None:
        return "self-signed certificate for %s\n" % ", ".join(names)
    return "" if found is None else "certificate for %s until %s\n" % (", ".join(found["names"]), found["not_after"])


def self_signed(module, names, now):
    """Make the pair when it does not serve."""
    certificate, key = module.params["certificate"], module.params["key"]
    if not shutil.which("openssl"):
        if module.check_mode:
            module.exit_json(changed=True, reason="openssl is not installed yet", **describe(None, now))
        module.fail_json(msg="Found: no openssl on the host. Wanted: the package openssl, to make a certificate.")
    found, matches = look(module, certificate, key)
    reason = _certificate.renewal_reason(found, matches, names, module.params["renew_days"], now)
    diff = {"before": diff_text(found), "after": diff_text(None, names) if reason else diff_text(found)}
    changed = reason is not None
    if not changed and os.stat(key).st_mode & 0o777 != 0o600:
        changed, reason = True, "the key was readable by others than root"
        if not module.check_mode:
            os.chmod(key, 0o600)
    elif changed and not module.check_mode:
        make(module, names)
        found, matches = look(module, certificate, key)
    module.exit_json(changed=changed, reason=reason, diff=diff, **describe(found, now))


def own(module, names, now):
    """Check a pair that somebody else provides."""
    certificate, key = module.params["certificate"], module.params["key"]
    absent = [path for path in (certificate, key) if not os.path.isfile(path)]
    if absent:
        module.fail_json(msg="Found: no file %s on the host. Wanted: certificate and key in PEM form in "
                             "nginx_tls_certificate and nginx_tls_certificate_key." % ", ".join(absent))
    if module.check_mode and not shutil.which("openssl"):
        module.exit_json(changed=False, reason=None, **describe(None, now))
    found, matches = look(module, certificate, key)
    if found is None:
        module.fail_json(msg="Found: %s is no certificate in PEM form. Correct nginx_tls_certificate." % certificate)
    if not matches:
        module.fail_json(msg="Found: %s does not belong to %s (or has a passphrase). Wanted: the key of this certificate, "
                             "without one, in nginx_tls_certificate_key." % (key, certificate))
    left = _certificate.days_left(found, now)
    if left < 0:
        module.fail_json(msg="Found: %s ended on %s. Wanted: a certificate that is valid." % (certificate, found["not_after"]))
    if left < module.params["renew_days"]:
        module.warn("%s ends in %d days, on %s." % (certificate, left, found["not_after"]))
    if not _certificate.covers(found, names[0]):
        module.warn("%s is for %s; clients that use %s will refuse it."
                    % (certificate, ", ".join(found["names"]) or "no name", names[0]))
    if os.stat(key).st_mode & 0o077:
        module.warn("%s can be read by others than its owner; chmod 600 it." % key)
    module.exit_json(changed=False, reason=None, **describe(found, now))


def main():
    module = AnsibleModule(
        argument_spec={
            "certificate": {"type": "path", "required": True},
            "key": {"type": "path", "required": True, "no_log": False},
            "names": {"type": "list", "elements": "str", "required": True},
            "self_signed": {"type": "bool", "default": True},
            "valid_days": {"type": "int", "default": 397},
            "renew_days": {"type": "int", "default": 30},
        },
        supports_check_mode=True,
    )
    names = _certificate.unique(module.params["names"])
    if not names:
        module.fail_json(msg="Found: no name for the certificate. Wanted: at least one host name or address in names.")
    now = datetime.datetime.now(datetime.timezone.utc)
    if module.params["self_signed"]:
        self_signed(module, names, now)
    own(module, names, now)


if __name__ == "__main__":
    main()
