# SPDX-License-Identifier: MIT
"""Judges files of this format beside the JSON of the same case, as check_convert.py does."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

import check_convert  # noqa: E402

sys.exit(check_convert.judge_golden(sys.argv[1:]))
