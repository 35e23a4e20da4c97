/* SPDX-License-Identifier: MIT */
#include "lib/live/process/proc_maps.h"

#include <string.h>

#include "lib/base/text.h"

static bool expect(const char **at, char c)
{
	return *(*at)++ == c;
}

static bool parse_line(const char *at, const char *end, struct proc_map *map)
{
	uint64_t major, minor;

	if (!text_scan_hex(&at, end, &map->start) || !expect(&at, '-') ||
	    !text_scan_hex(&at, end, &map->end) || !expect(&at, ' '))
		return false;
	if (end - at < 5)
		return false;
	map->executable = at[2] == 'x';
	at += 4;
	if (!expect(&at, ' ') || !text_scan_hex(&at, end, &map->file_offset) || !expect(&at, ' ') ||
	    !text_scan_hex(&at, end, &major) || !expect(&at, ':') ||
	    !text_scan_hex(&at, end, &minor) || !expect(&at, ' ') ||
	    !text_scan_decimal(&at, end, &map->inode))
		return false;
	map->device_major = (uint32_t)major;
	map->device_minor = (uint32_t)minor;
	while (at < end && *at == ' ')
		at++;
	map->path = at;
	return map->end > map->start;
}

bool proc_maps_next(char **text, struct proc_map *map)
{
	while (**text) {
		char *line = *text, *end = strchrnul(line, '\n');

		*text = *end ? end + 1 : end;
		*end = 0;
		if (parse_line(line, end, map))
			return true;
	}
	return false;
}
