# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What we did to the GPUs since this boot. NVML cannot be asked whether a clock is locked, so it is written down.

The file is in /run; the boot's id in it guards against a /run that survived (a container).
"""

from __future__ import annotations

import json
import os

from . import atomic
from . import gpu_bus
from . import paths


class Record:
    """{uuid: applied} as gpu_policy has it. A file that cannot be read counts as empty: then everything is set once more."""

    def __init__(self, path=paths.GPU_RECORD, boot_id=None):
        self.path = path
        self.boot_id = gpu_bus.boot_id() if boot_id is None else boot_id
        self.gpus = self._load()

    def _load(self):
        try:
            with open(self.path, encoding="utf-8") as handle:
                found = json.load(handle)
            return dict(found["gpus"]) if found["boot_id"] == self.boot_id else {}
        except (OSError, ValueError, KeyError, TypeError):
            return {}

    def of(self, uuid):
        """What we did to one GPU; changing it changes the record."""
        return self.gpus.setdefault(uuid, {})

    def save(self):
        """Write it down. OSError."""
        gpus = {uuid: applied for uuid, applied in self.gpus.items() if applied}
        if not gpus and not os.path.exists(self.path):
            return
        os.makedirs(os.path.dirname(self.path), 0o755, exist_ok=True)
        atomic.write(self.path, json.dumps({"boot_id": self.boot_id, "gpus": gpus}, indent=1, sort_keys=True) + "\n", 0o644)

    def distrust(self):
        """The driver may have been unloaded meanwhile, so locks have to be made again. Nothing is forgotten. OSError."""
        for applied in self.gpus.values():
            for done in applied.values():
                done["stale"] = True
        self.save()
