/* SPDX-License-Identifier: MIT */
/*
 * Profile → messages to a collector, which only takes samples: sums by resource, event and stack,
 * in as many requests as they take. Waits are left out: a collector's samples are of CPU time.
 */
#ifndef PROF_LIB_FLEET_COLLECTOR_H
#define PROF_LIB_FLEET_COLLECTOR_H

#include "lib/fleet/fleet_push.h"
#include "lib/fleet/resources.h"
#include "lib/fleet/stack_rows.h"
#include "lib/format/pprof.h"

/* All samples of a resource with the same stack and event. */
struct collector_sum {
	uint32_t resource;
	uint8_t event;
	stack_id stack;
	uint64_t value;
};

/* Samples that are to be sent. */
struct collector {
	const struct engine *engine;
	const struct profile *profile;
	const struct fleet_origin *origin;
	size_t limit; /* bytes of a request, before they are packed */
	struct fleet_resources resources;
	struct stack_rows rows; /* tells waits and guessed stacks apart */
	struct location_table locations;
	VEC(struct collector_sum) sums; /* by resource, then event */
	struct index index;
};

/* Messages of a kind of collector. */
struct collector_form {
	/*
	 * Appends a message of the sums [first, end). 0, or negative with err; -EMSGSIZE: it takes
	 * fewer.
	 */
	int (*write)(struct collector *c, size_t first, size_t end, struct strbuf *out,
		     struct error *err);
	size_t request_bytes;
	bool is_by_resource; /* a request is of one resource: the server takes it, or does not */
	bool is_packed; /* messages have packed parts, and are sent as they are */
};

/*
 * Sends it. Errors are those of fleet_push(); -EREMOTEIO after an answer without an error, too: the
 * collector refuses some of it. pushed->samples says how much it has.
 */
int collector_push(const struct engine *e, const struct profile *p,
		   const struct fleet_origin *origin, struct fleet_pushed *pushed,
		   struct error *err);
/*
 * Reads what a collector of OTLP answers; others answer nothing. Returns the number of profiles
 * that it refuses; `words` gets its reason, printable.
 */
uint64_t collector_refused(const struct strbuf *answer, struct strbuf *words);
/* Returns what is known of a stack, until the next one is asked for. */
const struct stack_row *collector_row(struct collector *c, stack_id stack);
/* Gives each attribute of a resource, its name once: what `add` does with it is the form's. */
void collector_attributes(const struct collector *c, uint32_t resource,
			  void (*add)(void *ctx, const char *key, const char *value), void *ctx);
/* Returns the end of the sums with the resource of the first, at most `end`. */
size_t collector_resource_end(const struct collector *c, size_t first, size_t end);
/* Makes 16 bytes that name a part of a profile: the same when it is sent again. */
#define COLLECTOR_ID_SIZE 16
void collector_id(const struct collector *c, size_t first, uint8_t id[COLLECTOR_ID_SIZE]);

#endif
