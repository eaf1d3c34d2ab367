# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A self-signed certificate is made anew by what is left of it, never by the date of a run."""

from __future__ import annotations

import datetime

import pytest

from ansible_collections.indiaai.inference.plugins.module_utils import _certificate

OPENSSL = """subject=CN = llm.example.gov.in
issuer=CN = llm.example.gov.in
notAfter=Jan  1 00:00:00 2028 GMT
sha256 Fingerprint=5A:0F:11
X509v3 Subject Alternative Name:
    DNS:llm.example.gov.in, DNS:localhost, IP Address:127.0.0.1, IP Address:0:0:0:0:0:0:0:1
"""
NAMES = ["llm.example.gov.in", "localhost", "127.0.0.1", "::1"]


def utc(*parts):
    return datetime.datetime(*parts, tzinfo=datetime.timezone.utc)


def test_openssl_is_read():
    found = _certificate.parse_x509(OPENSSL)
    assert found["names"] == NAMES and found["fingerprint"] == "5A:0F:11"
    assert found["not_after"] == utc(2028, 1, 1) and found["subject"] == found["issuer"]
    with pytest.raises(ValueError):
        _certificate.parse_x509("unable to load certificate")


@pytest.mark.parametrize("now, matches, names, said", [
    (utc(2026, 12, 1), True, NAMES, None),
    (utc(2027, 12, 1), True, NAMES, None),
    (utc(2027, 12, 3), True, NAMES, "ends in 29 days"),
    (utc(2028, 2, 1), True, NAMES, "ends in -31 days"),
    (utc(2026, 12, 1), False, NAMES, "belong together"),
    (utc(2026, 12, 1), True, NAMES + ["10.0.0.5"], "wanted is"),
])
def test_renewal(now, matches, names, said):
    reason = _certificate.renewal_reason(_certificate.parse_x509(OPENSSL), matches, names, 30, now)
    assert reason is None if said is None else said in reason


def test_no_certificate_is_a_reason():
    assert _certificate.renewal_reason(None, False, NAMES, 30, utc(2026, 1, 1))


def test_names_are_cleaned():
    assert _certificate.unique(["LLM.example.", "", None, "llm.example", "0:0:0:0:0:0:0:1"]) == ["llm.example", "::1"]
    config = _certificate.openssl_config(["llm.example", "10.0.0.1"])
    assert "subjectAltName = DNS:llm.example,IP:10.0.0.1" in config and "CA:FALSE" in config


def test_wildcards_cover_one_label():
    found = {"names": ["*.example.gov.in"]}
    assert _certificate.covers(found, "llm.example.gov.in")
    assert not _certificate.covers(found, "a.llm.example.gov.in") and not _certificate.covers(found, "10.0.0.1")
