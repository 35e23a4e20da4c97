/* SPDX-License-Identifier: MIT */
#include "lib/base/option_value.h"

/* Keeps nanoseconds within the range of timers. */
#define SECONDS_MAX 1e9
#define NS_PER_SECOND 1e9

int option_parse_positive(const char *option, const char *value, double *number, struct error *err)
{
	if (!text_to_double(value, number))
		return error_text(err, -EINVAL, "%s %s: not a number", option, value);
	if (*number <= 0)
		return error_text(err, -EINVAL, "%s %s: must be greater than 0", option, value);
	return 0;
}

/* Cuts the unit off the text. Returns the unit in ns, or `unit_ns` if there is none. */
static double cut_unit(char *text, double unit_ns)
{
	static const struct {
		const char *name;
		double ns;
	} units[] = {{"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"m", 60e9}, {"h", 3600e9}};
	char *unit = text + strspn(text, "0123456789.");

	for (size_t i = 0; unit > text && i < sizeof(units) / sizeof(*units); i++) {
		if (strcmp(unit, units[i].name) == 0) {
			*unit = '\0';
			return units[i].ns;
		}
	}
	return unit_ns;
}

int option_parse_time(const char *option, const char *value, double unit_ns, uint64_t *ns,
		      struct error *err)
{
	_cleanup_free_ char *text = xstrdup(value);
	double number;
	int ret;

	unit_ns = cut_unit(text, unit_ns);
	ret = option_parse_positive(option, text, &number, err);
	if (ret)
		return ret;
	if (number * unit_ns > SECONDS_MAX * NS_PER_SECOND)
		return error_text(err, -EINVAL, "%s %s: must be at most %.0f", option, value,
				  SECONDS_MAX * NS_PER_SECOND / unit_ns);
	*ns = (uint64_t)(number * unit_ns + 0.5);
	if (*ns == 0)
		*ns = 1;
	return 0;
}

int option_parse_size(const char *option, const char *value, const struct size_range *range,
		      uint64_t *size, struct error *err)
{
	if (!text_to_size(value, size))
		return error_text(err, -EINVAL, "%s %s: must be a size such as 512K or 4M", option,
				  value);
	if (*size < range->min || *size > range->max)
		return error_text(err, -EINVAL, "%s %s: must be between %s", option, value,
				  range->text);
	return 0;
}
