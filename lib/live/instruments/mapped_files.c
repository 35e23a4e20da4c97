/* SPDX-License-Identifier: MIT */
/* Large files mapped by programs: reported by a BPF probe, turned into markers here. */
#include "bpf/live_record.h"
#include "lib/live/instruments/marker_instrument.h"
#include "lib/live/process/process_root.h"

struct mapped_files {
	struct live *live;
	uint32_t schema;
	bool is_announced; /* the schema was sent; only profiles with such markers have it */
};

static void begin(void *state, const void *settings)
{
	struct mapped_files *s = state;

	s->schema = instrument_new_schema(s->live);
}

static void take(void *state, const struct rec *rec)
{
	const struct rec_mapped *mapped = (const struct rec_mapped *)rec;
	_cleanup_(strbuf_release) struct strbuf path = {0};
	struct mapped_files *s = state;
	struct marker_record marker = marker_begin(s->schema, rec, NULL);

	if (!s->is_announced)
		marker_announce(s->live, marker_schema(MARKER_FILE_MAPPED), s->schema);
	s->is_announced = true;
	path_names_join(&path, mapped->names, mapped->names_size, rec->flags & PATH_NAMES_CUT);
	marker_set_text(&marker, MAPPED_FILE, marker_text(strbuf_text(&path)));
	marker_set_number(&marker, MAPPED_BYTES, FIELD_BYTES, (uint64_t)mapped->kilobytes << 10);
	marker_send(s->live, &marker);
}

const struct instrument instrument_mapped_files = {
	.name = "mapped files",
	.takes = INSTRUMENT_TAKES(REC_MAPPED),
	.state_size = sizeof(struct mapped_files),
	.begin = begin,
	.take = take,
};
