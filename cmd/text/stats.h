/* SPDX-License-Identifier: MIT */
/* Values of --stats. */
#ifndef PROF_CMD_TEXT_STATS_H
#define PROF_CMD_TEXT_STATS_H

#include <jansson.h>
#include <stdint.h>

static inline void stats_set(json_t *object, const char *key, uint64_t value)
{
	json_object_set_new(object, key, json_integer((json_int_t)value));
}

/* Stores a time in ms with three decimals. */
static inline void stats_set_ms(json_t *object, const char *key, uint64_t ns)
{
	json_object_set_new(object, key, json_real((double)(ns / 1000) / 1000));
}

#endif
