# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The stub GPU's programs: nvidia-smi, stub-gpu-ctl and Docker's hook. Python 3.9, standard library only."""
