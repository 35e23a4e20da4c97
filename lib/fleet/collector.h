/* SPDX-License-Identifier: MIT */
/*
 * Converts a profile to messages for a collector, which only accepts samples: sums by resource,
 * event and stack, split into as many requests as needed. A collector's samples are CPU time: waits
 * are an event of their own.
 */
#pragma once

#include "lib/fleet/fleet_push.h"
#include "lib/fleet/fleet_url.h"
#include "lib/fleet/resources.h"
#include "lib/fleet/stack_rows.h"
#include "lib/format/pprof.h"

/* Pseudo event for waits; no event of a profile has this number. */
#define COLLECTOR_WAITS UINT8_MAX

/* Sizes of ids by the W3C's Trace Context, in bytes. */
#define TRACE_ID_SIZE 16
#define SPAN_ID_SIZE 8

/* The span of a trace in which samples were taken. */
struct collector_link {
	uint8_t trace_id[TRACE_ID_SIZE], span_id[SPAN_ID_SIZE];
};

/* All samples of a resource with the same stack, event and link. */
struct collector_sum {
	uint32_t resource;
	uint32_t link; /* number in `links`; 0: none */
	uint8_t event;
	stack_id stack;
	uint64_t value; /* occurrences, bytes or intervals */
};

/* Samples to send. */
struct collector {
	const struct engine *engine;
	const struct profile *profile;
	const struct fleet_origin *origin;
	size_t limit; /* maximum size of a request before compression, bytes */
	struct fleet_resources resources;
	struct stack_rows rows; /* distinguishes waits and guessed stacks */
	struct location_table locations;
	VEC(struct collector_sum) sums; /* sorted by resource, then event; or the reverse */
	struct index index;
	VEC(struct collector_link) links; /* the first is all zeros */
	struct index link_index;
};

/* Message format of a kind of collector. */
struct collector_form {
	/*
	 * Appends a message with the sums [first, end). Returns 0, or a negative errno with err;
	 * -EMSGSIZE: too many sums for a message.
	 */
	int (*write)(struct collector *c, size_t first, size_t end, struct strbuf *out,
		     struct error *err);
	size_t request_bytes;
	bool is_by_resource; /* requests with a single resource, accepted or rejected as a whole */
	/*
	 * Requests with a single event: the rejection of one does not concern the others, of which
	 * an engine may keep those before it.
	 */
	bool is_by_event;
	bool has_links; /* samples may have links */
	bool is_packed; /* parts of messages are compressed, so messages as a whole are not */
};

/*
 * Sends the profile. Errors are those of fleet_push(); also -EREMOTEIO if the answer is a success
 * but the collector rejected some profiles. pushed->samples is the number of samples accepted.
 */
int collector_push(const struct engine *e, const struct profile *p,
		   const struct fleet_origin *origin, struct fleet_pushed *pushed,
		   struct error *err);
/*
 * Parses the answer of an OTLP collector; other collectors' answers are empty. Sets the number of
 * rejected profiles; `words` receives the reason, printable. Returns 0, or -EBADMSG with err if it
 * is not such a message.
 */
int collector_refused(const struct strbuf *answer, uint64_t *refused, struct strbuf *words,
		      struct error *err);
/* Returns the row of a stack, valid until the next call. */
const struct stack_row *collector_row(struct collector *c, stack_id stack);
/* Passes each attribute of a resource to `add`, each name once. */
void collector_attributes(const struct collector *c, uint32_t resource,
			  void (*add)(void *ctx, const char *key, const char *value), void *ctx);
/* Returns the end of the sums with the resource of the first, at most `end`. */
size_t collector_resource_end(const struct collector *c, size_t first, size_t end);
/*
 * Returns a type of profiles, of letters, digits and '_' only, which the caller frees; and the unit
 * of its values. `event` is not the clock.
 */
char *collector_type(const struct profile *p, uint8_t event, const char **unit);
/* Returns the sum in the unit of its type. */
uint64_t collector_value(const struct collector *c, const struct collector_sum *sum);
/* Returns how many of these a sample represents; 1 if each is counted. */
uint64_t collector_period(const struct collector *c, uint8_t event);
/* Replaces all other characters in a copy of the text, which the caller frees. */
char *collector_word(const char *text);
/* Makes a 16-byte id for a part of a profile, the same when it is sent again. */
#define COLLECTOR_ID_SIZE 16
void collector_id(const struct collector *c, size_t first, uint8_t id[COLLECTOR_ID_SIZE]);

/*
 * Messages of OTLP profiles, v1development: a resource for each program of a service, with a
 * profile for each event.
 */

/* The collector named by OpenTelemetry's environment variables, OTEL_EXPORTER_OTLP_…. */

/* The address that stands for this collector. */
#define OTLP_ENVIRONMENT "otlp"
/* Path of requests to collectors. */
#define OTLP_PATH "v1development/profiles"

/*
 * Fills in the address. Variables specific to profiles, OTEL_EXPORTER_OTLP_PROFILES_…, take
 * precedence; the default is http://localhost:4318. Returns -EINVAL if the value of a variable is
 * invalid.
 */
int otlp_environment_read(struct fleet_url *url, struct error *err);

extern const struct collector_form otlp_form;
