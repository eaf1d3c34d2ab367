# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a server certificate says and whether it still serves. Pure: openssl's output in, decisions out.

This file is private to the collection.
"""

from __future__ import annotations

import datetime
import ipaddress


def is_address(name):
    """Whether a name is an IP address."""
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def canonical(name):
    """One spelling for a name: addresses as Python prints them, host names in lower case."""
    return str(ipaddress.ip_address(name)) if is_address(name) else name.lower().rstrip(".")


def unique(names):
    """The names in their order, empty ones and repetitions left out."""
    result = []
    for name in names:
        name = canonical(str(name).strip()) if name else ""
        if name and name not in result:
            result.append(name)
    return result


def parse_x509(text):
    """Output of `openssl x509 -noout -subject -issuer -enddate -fingerprint -ext subjectAltName` ->
    {"subject", "issuer", "not_after" (datetime, UTC), "fingerprint", "names"}. ValueError when it has no end."""
    result = {"subject": None, "issuer": None, "not_after": None, "fingerprint": None, "names": []}
    for line in text.splitlines():
        label, equals, value = line.partition("=")
        label = label.strip().lower()
        if equals and label in ("subject", "issuer"):
            result[label] = value.strip()
        elif equals and label == "notafter":
            end = datetime.datetime.strptime(" ".join(value.split()), "%b %d %H:%M:%S %Y %Z")
            result["not_after"] = end.replace(tzinfo=datetime.timezone.utc)
        elif equals and label.endswith("fingerprint"):
            result["fingerprint"] = value.strip()
        elif "DNS:" in line or "IP Address:" in line:
            for part in line.split(","):
                name = part.strip().partition(":")[2]
                result["names"].append(canonical(name))
    if result["not_after"] is None:
        raise ValueError("no end of validity in the certificate")
    return result


def days_left(found, now):
    """Whole days until the certificate ends; negative when it has ended."""
    return (found["not_after"] - now).days


def renewal_reason(found, pair_matches, names, renew_days, now):
    """Why a self-signed certificate must be made anew -> text, None while it serves."""
    if found is None:
        return "there is no readable certificate with a key"
    if not pair_matches:
        return "certificate and key do not belong together"
    if sorted(found["names"]) != sorted(names):
        return "it is for %s, wanted is %s" % (", ".join(found["names"]) or "no name", ", ".join(names))
    left = days_left(found, now)
    if left < renew_days:
        return "it ends in %d days" % left
    return None


def covers(found, name):
    """Whether the certificate is valid for this host name or address; one leading wildcard label is understood."""
    name = canonical(name)
    if name in found["names"]:
        return True
    return not is_address(name) and "*." + name.partition(".")[2] in found["names"]


def openssl_config(names):
    """Configuration for `openssl req -x509`: a server's own certificate, not an authority."""
    alternatives = ",".join(("IP:" if is_address(name) else "DNS:") + name for name in names)
    return "\n".join((
        "[req]", "prompt = no", "distinguished_name = dn", "x509_extensions = server", "",
        "[dn]", "CN = %s" % names[0][:64], "",
        "[server]", "basicConstraints = critical, CA:FALSE", "keyUsage = critical, digitalSignature",
        "extendedKeyUsage = serverAuth", "subjectKeyIdentifier = hash", "subjectAltName = %s" % alternatives, "",
    ))
