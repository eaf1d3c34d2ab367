# -*- coding: utf-8 -*-
# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Report kit: self-contained HTML pages with charts, for every report of the collection.

PRIVATE to the collection. Nothing is fetched from anywhere: style and charts are inline,
so a report opens on a machine without a network and can be mailed as one file.

``markup``      escaping; the only module that decides what is trusted
``components``  page, section, table, badge, cards, notices, details
``charts``      grouped bars and lines as inline SVG
``style``       the style sheet, light, dark and print
``benchmark``   the benchmark report, made of the above
"""

from __future__ import annotations
