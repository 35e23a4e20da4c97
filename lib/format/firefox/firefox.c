/* SPDX-License-Identifier: MIT */
#include "lib/format/format.h"

#include <elf.h>

#include "lib/format/firefox/version.h"
#include "lib/format/firefox/read/firefox_read.h"
#include "lib/format/firefox/write/firefox_write.h"

const char *const firefox_places[FIREFOX_PLACE_COUNT] = {
	"marker-chart", "marker-table",	   "timeline-overview", "timeline-memory",
	"timeline-ipc", "timeline-fileio", "timeline-network"};

const char *const firefox_personal[FIREFOX_PERSONAL_COUNT] = {"url", "private-browsing",
							      "extension-id", "preference-value"};

static const struct {
	const char *arch;
	uint16_t machine;
} machines[] = {{"x86_64", EM_X86_64}, {"x86", EM_386}, {"arm64", EM_AARCH64}, {"arm", EM_ARM}};

const char *firefox_arch(uint16_t machine)
{
	for (size_t i = 0; i < sizeof(machines) / sizeof(*machines); i++) {
		if (machines[i].machine == machine)
			return machines[i].arch;
	}
	return NULL;
}

uint16_t firefox_machine(const char *arch)
{
	for (size_t i = 0; i < sizeof(machines) / sizeof(*machines); i++) {
		if (strcmp(arch, machines[i].arch) == 0)
			return machines[i].machine;
	}
	return EM_NONE;
}

/* Accepts any JSON object with that member somewhere: only reading determines its kind. */
static bool firefox_matches(const char *text, size_t size)
{
	static const char member[] = "\"meta\"";
	size_t at = 0;

	while (at < size && strchr(" \t\r\n", text[at]) && text[at])
		at++;
	return at < size && text[at] == '{' && memmem(text, size, member, sizeof(member) - 1);
}

const struct format format_firefox = {
	.name = "firefox",
	.is_timeline = true,
	.suffixes = (const char *const[]){".json", NULL},
	.has_comparison = true,
	.matches = firefox_matches,
	.is_asked_last = true,
	.read = firefox_read,
	.write = firefox_write,
};

const struct format format_gecko = {
	.name = "gecko",
	.is_timeline = true,
	.suffixes = (const char *const[]){".gecko.json", NULL},
	.matches = gecko_matches,
	.read = gecko_read,
	.write = gecko_write,
};
