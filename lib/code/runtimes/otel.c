/* SPDX-License-Identifier: MIT */
/*
 * OpenTelemetry's thread context: libraries export a thread-local variable that points to a record
 * with the ids of the span in which the thread works.
 */
#include "lib/code/binary/objects.h"
#include "lib/code/binary/variables.h"
#include "lib/code/runtimes/runtime.h"

#define VARIABLE "otel_thread_ctx_v1"
/* Offsets from the thread pointer are smaller, addresses larger. */
#define OFFSET_MAX ((int64_t)1 << 24)
#define MODULES_MAX ((uint64_t)1 << 16)

static int probe(const struct binary *b, struct runtime_layout *layout, struct error *err)
{
	struct binary_needed needed;
	struct binary_tls tls;
	int code = binary_find_tls(b, VARIABLE, &tls);

	if (code == -ENOENT)
		return 0;
	if (code)
		return error_text(err, code,
				  "OpenTelemetry's thread context: the file does not "
				  "use its own variable");
	binary_find_needed(b, &needed);
	layout->kind = RUNTIME_OTEL;
	layout->otel = (struct otel_layout){
		.offset = tls.offset,
		.slot = tls.slot,
		.slot_kind = tls.kind,
	};
	for (size_t i = 0; i < needed.count; i++)
		layout->otel.is_musl |= text_starts_with(needed.names[i], "libc.musl");
	return 0;
}

static bool is_sane(const struct runtime_layout *layout)
{
	return layout->otel.slot_kind < TLS_SLOT_COUNT && !layout->otel.module;
}

/* Reads what the dynamic linker has stored for this process. */
static int start(struct runtime_layout *layout, uint64_t bias, runtime_read_fn *read, void *ctx,
		 void *process, struct runtime_memory *lasting, struct error *err)
{
	struct otel_layout *own = &layout->otel;
	uint64_t word = 0, place[2] = {0};

	if (own->slot_kind == TLS_SLOT_NONE)
		return 1;
	if (!read(ctx, own->slot + bias, &word, sizeof(word)) || !word)
		return 0;
	if (own->slot_kind == TLS_SLOT_MODULE) {
		own->module = word;
	} else if ((int64_t)word > -OFFSET_MAX && (int64_t)word < OFFSET_MAX) {
		own->offset = (int64_t)word;
	} else if (own->slot_kind == TLS_SLOT_FIXED || !read(ctx, word, place, sizeof(place)) ||
		   !place[0]) {
		return 0;
	} else {
		own->module = place[0];
		own->offset = (int64_t)place[1];
	}
	/* Equal places have equal layouts. */
	own->slot = own->slot_kind = 0;
	if (own->module && own->is_musl)
		return error_text(err, -ENOTSUP,
				  "OpenTelemetry's thread context: musl keeps it "
				  "elsewhere");
	return own->module < MODULES_MAX ? 1 : 0;
}

static void write_version(const struct runtime_layout *layout, char *text, size_t size)
{
	snprintf(text, size, "1");
}

const struct runtime runtime_otel = {
	.kind = RUNTIME_OTEL,
	.name = "OpenTelemetry",
	.probe = probe,
	.is_sane = is_sane,
	.start = start,
	.version = write_version,
};
