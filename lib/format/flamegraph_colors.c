/* SPDX-License-Identifier: MIT */
#include "lib/format/flamegraph_colors.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/index.h"

/* Standard errors that a difference must exceed: a graph has hundreds of functions. */
#define ERRORS_MIN 3.3
/* Assumed variation of the time of runs, which is unknown. */
#define RUN_NOISE 0.03

#define GREY 0xd0d0d0

/* Front-ends' names of colours, as backgrounds of black text. */
static const struct {
	const char *name;
	uint32_t color;
} kinds[] = {
	{"yellow", 0xf5d547},	{"orange", 0xf29f45},	 {"transparent", 0xdde5ee},
	{"grey", 0xc9c9c9},	{"lightblue", 0x8fc8ee}, {"blue", 0x86abf2},
	{"green", 0x8fce82},	{"red", 0xf0897f},	 {"magenta", 0xe092d6},
	{"purple", 0xb8a0f0},	{"brown", 0xc9a57e},	 {"lightgreen", 0xb5e0a0},
	{"lightred", 0xf5b0a8},
};

static void set(char color[COLOR_SIZE], double red, double green, double blue)
{
	snprintf(color, COLOR_SIZE, "#%02x%02x%02x", (unsigned int)(uint8_t)red,
		 (unsigned int)(uint8_t)green, (unsigned int)(uint8_t)blue);
}

/* Mixes a part of a colour with white. */
static double mix(uint32_t color, int shift, double part)
{
	return 255 - part * (255 - (double)(color >> shift & 0xff));
}

void flamegraph_kind_color(const char *name, bool is_inlined, const char *label,
			   char color[COLOR_SIZE])
{
	uint32_t base = GREY;
	double part = is_inlined ? 0.45 : 1;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strcmp(name, kinds[i].name) == 0)
			base = kinds[i].color;
	}
	if (label)
		part -= 0.2 * (double)(hash_bytes(label, strlen(label), 0) % 100) / 100;
	set(color, mix(base, 16, part), mix(base, 8, part), mix(base, 0, part));
}

void flamegraph_difference_color(const struct time_pair *times, char color[COLOR_SIZE])
{
	double before = times->before * times->scale, change = times->now - before;
	double noise = RUN_NOISE * fmax(before, times->now);
	double variance = times->now + before * times->scale + 2 * noise * noise;
	double pale = 210 - 150 * fmin(1, fabs(change) / fmax(before, times->now));

	if (fabs(change) <= ERRORS_MIN * sqrt(variance))
		set(color, mix(GREY, 16, 1), mix(GREY, 8, 1), mix(GREY, 0, 1));
	else if (change > 0)
		set(color, 255, pale, pale);
	else
		set(color, pale, pale, 255);
}
