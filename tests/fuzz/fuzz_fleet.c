/* SPDX-License-Identifier: MIT */
/*
 * Makes profiles of whatever an engine answers: 56 bytes about the windows, the size of the rows of
 * stacks, these, and the rows of samples.
 */
#include <stdlib.h>

#include "lib/fleet/collector.h"
#include "lib/fleet/fleet_read.h"
#include "lib/format/format.h"

#define WINDOWS_SIZE 56

static bool fleet_matches(const char *text, size_t size)
{
	struct strbuf answer = {(char *)text, size, 0}, words = {0};
	uint64_t refused;

	collector_refused(&answer, &refused, &words, NULL);
	strbuf_release(&words);
	for (size_t i = 0; i < FLEET_LIST_COUNT; i++) {
		struct fleet_cells cells = {0};

		fleet_list_read(&fleet_lists[i], &answer, &cells, NULL);
		fleet_cells_release(&cells);
	}
	return true;
}

static int fleet_read_answers(struct profile **p, const char *text, size_t size,
			      struct import_counts *counts, struct error *err)
{
	struct fleet_answers from = {{(char *)text, WINDOWS_SIZE, 0}, {0}, {0}};
	struct fleet_url url;
	uint32_t stacks;
	int ret;

	if (size < WINDOWS_SIZE + sizeof(stacks))
		return engine_damaged(err);
	memcpy(&stacks, text + WINDOWS_SIZE, sizeof(stacks));
	text += WINDOWS_SIZE + sizeof(stacks);
	size -= WINDOWS_SIZE + sizeof(stacks);
	if (stacks > size)
		stacks = (uint32_t)size;
	from.stacks = (struct strbuf){(char *)text, stacks, 0};
	from.samples = (struct strbuf){(char *)text + stacks, size - stacks, 0};
	if (fleet_url_parse(&url, "clickhouse+http://h/d?service=s", 0, NULL))
		abort();
	ret = fleet_build(p, &url, &from, err);
	fleet_url_release(&url);
	return ret;
}

static const struct format format_fleet = {
	.name = "fleet",
	.matches = fleet_matches,
	.read = fleet_read_answers,
};

#define FOREIGN_FORMAT format_fleet
#include "tests/fuzz/foreign.h"
