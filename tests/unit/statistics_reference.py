#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Prints statistics_reference.h: what scipy and numpy make of the inputs of test_statistics.c.

Run by hand, where scipy is installed; what it printed is committed.
"""

import numpy as np
import scipy
from scipy import optimize, special, stats

ALPHA = 0.05
# CPU times of runs in ms: pairs, then sides of different sizes.
PAIRED_A = [412.1, 398.4, 405.9, 420.3, 401.2, 399.9, 415.0, 404.4]
PAIRED_B = [430.5, 417.9, 421.0, 433.8, 425.1, 409.7, 431.2, 428.8]
UNPAIRED_A = [1003.2, 998.1, 1010.5, 987.4, 1021.9]
UNPAIRED_B = [1042.7, 1011.8, 1055.0]
# Samples of two sides' runs: all, then those of each row.
RUNS = [[1012, 987, 1044, 998, 1021], [1060, 1033, 1081, 1049]]
ROWS = [
    [[203, 168, 252, 179, 230], [291, 255, 320, 272]],
    [[401, 442, 369, 404, 450], [409, 360, 451, 405]],
    [[120, 96, 141, 110, 133], [118, 139, 101, 125]],
    [[51, 49, 50, 52, 50], [53, 50, 55, 52]],
    [[9, 4, 7, 6, 8], [5, 9, 6, 7]],
    [[0, 0, 0, 0, 0], [12, 9, 14, 11]],
]


def number(value):
    return repr(float(value)).replace("inf", "INFINITY")


def table(name, rows):
    print(f"static const double {name}[][{len(rows[0])}] = {{")
    for row in rows:
        print("\t{" + ", ".join(number(value) for value in row) + "},")
    print("};\n")


def paired(a, b):
    logs = np.log(b) - np.log(a)
    test = stats.ttest_1samp(logs, 0)
    return [logs.mean(), *test.confidence_interval(1 - ALPHA), test.df, test.pvalue]


def unpaired(a, b):
    test = stats.ttest_ind(np.log(b), np.log(a), equal_var=False)
    return [
        np.log(b).mean() - np.log(a).mean(),
        *test.confidence_interval(1 - ALPHA),
        test.df,
        test.pvalue,
    ]


def shares():
    """Pearson's dispersion of a binomial model with a share a side; the rest as statistics.h says."""
    runs = [np.array(side, float) for side in RUNS]
    totals = [side.sum() for side in runs]
    df = len(runs[0]) + len(runs[1]) - 2
    per_run = sum(totals) / (df + 2)
    own, units, estimates = [], [], []
    for row in ROWS:
        counts = [np.array(side, float) for side in row]
        sides = [count.sum() / total for count, total in zip(counts, totals)]
        pooled = sum(count.sum() for count in counts) / sum(totals)
        expected = [all_ * share for all_, share in zip(runs, sides)]
        unit = pooled * (1 - pooled)
        chi = sum((((c - e) ** 2) / (n * unit)).sum() for c, e, n in zip(counts, expected, runs))
        own.append(chi / df)
        units.append(unit)
        estimates.append(sides[1] - sides[0])
    own, units, estimates = map(np.array, (own, units, estimates))
    # Wilson and Hilferty's approximation of the ratio that one in a hundred exceeds.
    limit = (1 - 2 / (9 * df) + stats.norm.ppf(0.99) * np.sqrt(2 / (9 * df))) ** 3
    excess = lambda slope: np.minimum(own / (1 + slope * per_run * units), limit).mean() - 1
    slope = optimize.brentq(excess, 0, 100, xtol=1e-16, rtol=1e-15) if excess(0) > 0 else 0
    common = 1 + slope * per_run * units
    ratios = (own / common)[own > 0]
    spread = np.log(ratios).var(ddof=1) - special.polygamma(1, df / 2)
    prior = 20.0
    if spread > 0:
        prior = optimize.brentq(lambda d: special.polygamma(1, d / 2) - spread, 1e-6, 1e6)
        prior = min(prior, 20.0)
    dispersion = np.maximum((prior * common + df * own) / (prior + df), np.maximum(own, 1))
    error = np.sqrt(dispersion * units * (1 / totals[0] + 1 / totals[1]))
    p = 2 * stats.t.sf(abs(estimates) / error, prior + df)
    half = stats.t.ppf(1 - ALPHA / 2, prior + df) * error
    order = np.argsort(p, kind="stable")
    holm = np.empty(len(p))
    holm[order] = np.minimum(np.maximum.accumulate(p[order] * (len(p) - np.arange(len(p)))), 1)
    rows = zip(estimates, estimates - half, estimates + half, own, dispersion, p, holm)
    return [slope, prior], [list(row) for row in rows]


def main():
    print("/* SPDX-License-Identifier: MIT */")
    print(f"/* Printed by statistics_reference.py with scipy {scipy.__version__}. */")
    print("#pragma once\n")
    print("#include <math.h>\n")
    print("/* p, quantile. */")
    chances = [1e-12, 1e-6, 0.001, 0.025, 0.3, 0.5, 0.8, 0.975, 0.99999]
    table("reference_normal", [[p, stats.norm.ppf(p)] for p in chances])
    print("/* t, degrees of freedom, probability above t. */")
    dfs = [1, 2, 2.5, 9, 18.7, 100, 12345.6]
    tails = [[t, df, stats.t.sf(t, df)] for df in dfs for t in (-3, 0, 0.001, 0.5, 2.26, 8, 40)]
    table("reference_student_tail", tails)
    print("/* p, degrees of freedom, quantile. */")
    quantiles = [[p, df, stats.t.ppf(p, df)] for df in dfs for p in (1e-5, 0.1, 0.6, 0.975, 0.9999)]
    table("reference_student_quantile", quantiles)
    print("/* a, b, x, I_x(a, b). */")
    betas = [(0.5, 0.5, 0.3), (2, 3, 0.5), (4.5, 0.5, 0.99), (0.5, 300, 1e-4), (40, 60, 0.45)]
    table("reference_beta", [[a, b, x, special.betainc(a, b, x)] for a, b, x in betas])
    print("/* x, trigamma(x). */")
    xs = [1e-3, 0.2, 1, 4.5, 14.9, 15, 1e4]
    table("reference_trigamma", [[x, special.polygamma(1, x)] for x in xs])
    for name, values in (
        ("paired_a", PAIRED_A),
        ("paired_b", PAIRED_B),
        ("unpaired_a", UNPAIRED_A),
        ("unpaired_b", UNPAIRED_B),
    ):
        table(f"values_{name}", [values])
    print("/* Estimate, limits, degrees of freedom, p. */")
    table("reference_paired", [paired(PAIRED_A, PAIRED_B)])
    table("reference_unpaired", [unpaired(UNPAIRED_A, UNPAIRED_B)])
    prior, rows = shares()
    print("/* Runs of side A, then of side B: all samples, then those of rows. */")
    table("share_weights", [RUNS[0] + RUNS[1]] + [row[0] + row[1] for row in ROWS])
    print(f"#define SHARE_RUNS_A {len(RUNS[0])}")
    print(f"#define SHARE_RUNS_B {len(RUNS[1])}\n")
    print("/* Slope, degrees of freedom. */")
    table("reference_prior", [prior])
    print("/* Estimate, limits, own dispersion, dispersion, p, p by Holm. */")
    table("reference_shares", rows)


main()
