# SPDX-License-Identifier: MIT
"""Tells what the threads of tests/workloads/idle_pools wait for."""

WAITS_FOR = {
    "pool_cond": "Other",
    "pool_timed": "Other",
    "pool_sem": "Other",
    "pool_call": "Other",
    "pool_mutex": "Lock",
    "own_cond": "Condition",
    "own_sem": "Condition",
    "own_join": "Condition",
    "own_mutex": "Lock",
    "own_rwlock": "Lock",
}


def judge(thread, waits, expect):
    """Takes the functions of judge.py."""
    for name, wanted in WAITS_FOR.items():
        found = {frames[-1]["subcategory"] for _, _, _, frames in waits(thread(name))}
        expect(found == {wanted}, f"{name}: {found}, not {wanted}")
