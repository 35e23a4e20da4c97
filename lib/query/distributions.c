/* SPDX-License-Identifier: MIT */
#include "lib/query/distributions.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>

/* Some multiples of the root of the largest parameter. */
#define STEPS_MAX 20000
#define BISECTIONS_MAX 200
/* The asymptotic series of trigamma() is exact to double precision from here on. */
#define TRIGAMMA_SERIES_FROM 15

double normal_tail(double z)
{
	return 0.5 * erfc(z / M_SQRT2);
}

/* Lentz's continued fraction; converges fast for x < (a + 1) / (a + b + 2). */
static double beta_fraction(double a, double b, double x)
{
	double c = 1, d = 1 - (a + b) * x / (a + 1), result;

	d = fabs(d) < DBL_MIN ? 1 / DBL_MIN : 1 / d;
	result = d;
	for (int m = 1; m <= STEPS_MAX; m++) {
		double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
		double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
		double step;

		d = 1 / (1 + even * d);
		c = 1 + even / c;
		result *= d * c;
		d = 1 / (1 + odd * d);
		c = 1 + odd / c;
		step = d * c;
		result *= step;
		if (fabs(step - 1) < DBL_EPSILON)
			break;
	}
	return result;
}

double incomplete_beta(double a, double b, double x)
{
	double front;

	if (x <= 0)
		return 0;
	if (x >= 1)
		return 1;
	front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
	if (x < (a + 1) / (a + b + 2))
		return front * beta_fraction(a, b, x) / a;
	return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

double student_tail(double t, double df)
{
	double tail;

	if (df >= DISTRIBUTION_DF_MAX)
		return normal_tail(t);
	/* Near 0, x = df / (df + t²) would lose the digits of t. */
	if (t * t < df)
		tail = 0.5 - 0.5 * incomplete_beta(0.5, df / 2, t * t / (df + t * t));
	else
		tail = 0.5 * incomplete_beta(df / 2, 0.5, df / (df + t * t));
	return t < 0 ? 1 - tail : tail;
}

/* Solves student_tail(t, df) = q for 0 < q <= 1/2 by bisection: slow, and sure. */
static double solve_student_tail(double q, double df)
{
	double low = 0, high = 1;

	while (student_tail(high, df) > q && high < DBL_MAX / 4)
		high *= 2;
	for (int i = 0; i < BISECTIONS_MAX; i++) {
		double middle = low + (high - low) / 2;

		if (middle <= low || middle >= high)
			break;
		if (student_tail(middle, df) > q)
			low = middle;
		else
			high = middle;
	}
	return low + (high - low) / 2;
}

double student_quantile(double p, double df)
{
	return p < 0.5 ? -solve_student_tail(p, df) : solve_student_tail(1 - p, df);
}

double trigamma(double x)
{
	double sum = 0, y;

	for (; x < TRIGAMMA_SERIES_FROM; x++)
		sum += 1 / (x * x);
	y = 1 / (x * x);
	/* Bernoulli numbers: 1/6, -1/30, 1/42, -1/30, 5/66. */
	return sum + 1 / x + y / 2 +
	       y / x * (1. / 6 + y * (-1. / 30 + y * (1. / 42 + y * (-1. / 30 + y * 5. / 66))));
}

double trigamma_inverse(double y)
{
	double low = 0, high = 1;

	while (trigamma(high) > y && high < DBL_MAX / 4)
		high *= 2;
	for (int i = 0; i < BISECTIONS_MAX; i++) {
		double middle = low + (high - low) / 2;

		if (middle <= low || middle >= high)
			break;
		if (trigamma(middle) > y)
			low = middle;
		else
			high = middle;
	}
	return low + (high - low) / 2;
}
