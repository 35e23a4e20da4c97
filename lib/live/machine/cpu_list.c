/* SPDX-License-Identifier: MIT */
#include "lib/live/machine/cpu_list.h"

/* Maximum CPU id: record headers have 16 bits, and no kernel is configured for more. */
#define CPU_ID_LIMIT 65536
#define SMALL_FILE_MAX (64u << 10)

/* Parses "7" or "3-5" at *at. */
static bool parse_range(const char **at, const char *end, uint64_t *first, uint64_t *last)
{
	if (!text_scan_decimal(at, end, first))
		return false;
	*last = *first;
	if (*at < end && **at == '-') {
		(*at)++;
		if (!text_scan_decimal(at, end, last))
			return false;
	}
	return *first <= *last && *last < CPU_ID_LIMIT;
}

int cpu_list_parse(const char *text, struct cpu_list *list)
{
	const char *end = text + strlen(text), *at = text;
	VEC(uint32_t) cpus = {0};
	bool valid = false;

	while (end > text && isspace((unsigned char)end[-1]))
		end--;
	for (;;) {
		uint64_t first, last;

		valid = parse_range(&at, end, &first, &last) &&
			(cpus.count == 0 || first > vec_last(&cpus));
		if (!valid)
			break;
		for (uint64_t cpu = first; cpu <= last; cpu++)
			vec_push(&cpus, (uint32_t)cpu);
		if (at == end)
			break;
		valid = *at++ == ',';
		if (!valid)
			break;
	}
	if (!valid) {
		vec_release(&cpus);
		return -EINVAL;
	}
	list->cpus = cpus.items;
	list->count = (uint32_t)cpus.count;
	return 0;
}

int cpu_list_read(const char *name, struct cpu_list *list)
{
	_cleanup_free_ char *path = xasprintf("/sys/devices/system/cpu/%s", name);
	_cleanup_free_ char *text = text_read_file(path, SMALL_FILE_MAX, NULL);

	if (!text)
		return errno ? -errno : -EIO;
	return cpu_list_parse(text, list);
}

bool cpu_list_has(const struct cpu_list *list, uint32_t cpu)
{
	for (uint32_t i = 0; i < list->count; i++) {
		if (list->cpus[i] == cpu)
			return true;
	}
	return false;
}

void cpu_list_release(struct cpu_list *list)
{
	free(list->cpus);
	list->cpus = NULL;
	list->count = 0;
}
