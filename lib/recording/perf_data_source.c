/* SPDX-License-Identifier: MIT */
/* Source of records: files written by `perf record`. */
#include "lib/base/open_file.h"
#include "lib/code/binary/binary.h"
#include "lib/code/binary/vdso.h"
#include "lib/recording/perf_data/perf_source.h"
#include "lib/model/tables/profile.h"
#include "lib/recording/recording_facts.h"
#include "lib/recording/source_kind.h"
#include "lib/recording/workplace/lookup.h"
#include "symbolize/module_files.h"

#define SECOND_NS 1000000000ull

struct perf_data {
	struct source source;
	struct perf_source *records;
	struct source_part part;
	/* Users who must be able to read the files named in the recording. */
	struct readers authors;
	struct perf_out facts; /* records of facts in the file itself */
	uint64_t start_ns, realtime_ns, end_ns, count;
	uint64_t from_ns; /* skip samples before this time */
	bool has_ended;
};

/* Opens a file without a build id by its inode and device. */
static int open_by_inode(const struct perf_data *d, const struct perf_mapped *file)
{
	_cleanup_close_ int fd = -1;
	struct stat st;

	if (!file->inode || file->path[0] != '/')
		return -ENOENT;
	fd = readers_open(&d->authors, 0, file->path);
	if (fd < 0)
		return fd;
	if (fstat(fd, &st) || st.st_ino != file->inode || st.st_dev != file->device)
		return -ESTALE;
	return steal_fd(&fd);
}

/* Machines with the same kernel have the same vDSO. */
static int open_vdso(const struct perf_mapped *file)
{
	_cleanup_close_ int fd = vdso_open(NULL);
	struct binary_summary summary = {0};
	bool is_same;

	if (fd < 0 || binary_summarize(fd, &summary, NULL))
		return -ENOENT;
	is_same = file->build_id_size && summary.build_id_size == file->build_id_size &&
		  !memcmp(summary.build_id, file->build_id, file->build_id_size);
	binary_summary_release(&summary);
	return is_same ? steal_fd(&fd) : -ESTALE;
}

static int open_file(void *ctx, const struct perf_mapped *file)
{
	const struct perf_data *d = ctx;
	const struct module_search search = {
		.build_id = file->build_id,
		.build_id_size = file->build_id_size,
		.paths = {file->path},
		.dirs = d->part.dirs,
		.readers = &d->authors,
	};

	if (strcmp(file->path, "[vdso]") == 0)
		return open_vdso(file);
	return file->build_id_size ? module_file_open(&search) : open_by_inode(d, file);
}

static void add_fact(void *ctx, const struct rec *rec)
{
	perf_out_copy(ctx, rec);
}

static void fill_features(struct profile_meta *meta, const struct perf_data *d,
			  const struct perf_origin *origin)
{
	vec_push(&meta->features, xstrdup("stackwalk"));
	vec_push(&meta->features, xstrdup("cpu"));
	vec_for_each(&perf_source_file(d->records)->attrs.rows, const struct perf_attr *, attr)
		vec_push(&meta->features, xstrdup(attr->name));
	if (origin->is_machine)
		vec_push(&meta->features, xstrdup(FEATURE_ALL_PROCESSES));
	vec_push(&meta->filters, xstrdup(meta->product));
}

static void send_begin(struct perf_data *d)
{
	const struct perf_file *file = perf_source_file(d->records);
	const struct perf_features *f = &file->features;
	struct perf_origin origin = perf_source_origin(d->records);
	const char *arch = f->arch ? f->arch : "x86_64";
	struct recording_facts facts = {
		.unwind = origin.has_copies ? RECORDER_UNWIND_AUTO : RECORDER_UNWIND_FP,
		.subject = origin.is_machine ? RECORDING_OF_MACHINE
			   : origin.root_pid ? RECORDING_OF_COMMAND
					     : RECORDING_OF_PROCESSES,
	};
	struct profile_meta *meta = &facts.meta;

	meta->product = xstrdup(origin.name[0] ? origin.name : "perf.data");
	meta->command_line = f->command_line ? xstrdup(f->command_line) : NULL;
	meta->cpu_name = f->cpu_name ? xstrdup(f->cpu_name) : NULL;
	meta->abi = xasprintf("%s-linux", arch);
	if (f->release)
		meta->os = xasprintf("Linux %s %s", f->release, arch);
	meta->root_pid = origin.root_pid;
	meta->logical_cpus = (uint32_t)machine_number(f->cpus_online, MACHINE_CPUS_MAX);
	meta->memory_bytes = machine_number(f->memory_bytes, MACHINE_BYTES_MAX);
	meta->start_ns = d->start_ns;
	meta->start_realtime_ns = d->realtime_ns;
	meta->interval_ns = perf_source_interval(d->records);
	fill_features(meta, d, &origin);
	recording_facts_send_begin(&facts, add_fact, &d->facts);
	recording_facts_release(&facts);
}

/* Sends the events' names and the counts of records not shown. */
static void send_end(struct perf_data *d)
{
	const struct perf_file *file = perf_source_file(d->records);
	struct recorder_info info = {
		.cpu_count = file->features.cpus_online,
		.interval_ns = perf_source_interval(d->records),
		.start_ns = d->start_ns,
		.start_realtime_ns = d->realtime_ns,
		.end_ns = d->end_ns,
	};
	_cleanup_(strbuf_release) struct strbuf names = {0}, left_out = {0};
	struct report report = {0};

	vec_for_each(&file->attrs.rows, const struct perf_attr *, attr) {
		if (attr->event != UINT32_MAX)
			strbuf_addf(&names, "%s%s", names.size ? ", " : "", attr->name);
	}
	perf_file_say_left_out(file, &left_out);
	facts_text(&report.facts, FACT_EVENT, NULL, strbuf_text(&names));
	if (left_out.size)
		facts_text(&report.facts, FACT_LEFT_OUT_RECORDS, NULL, strbuf_text(&left_out));
	recording_facts_send_end(&info, &report, add_fact, &d->facts);
	report_release(&report);
}

static bool is_left_out(const struct perf_data *d, const struct rec *rec)
{
	bool is_sample = rec->kind == REC_SAMPLE || rec->kind == REC_EVENT ||
			 rec->kind == REC_MARKER || rec->kind == REC_WAIT || rec->kind == REC_RUN;

	return is_sample && rec->time < d->from_ns;
}

static int next(struct source *source, const struct rec **rec, struct error *err)
{
	struct perf_data *d = (struct perf_data *)source;

	while (true) {
		int ret;

		*rec = perf_out_next(&d->facts);
		if (*rec)
			return SOURCE_RECORD;
		if (d->has_ended)
			return SOURCE_END;
		ret = source_next(perf_source_records(d->records), rec, err);
		if (ret < 0)
			return ret;
		if (ret == SOURCE_END || (*rec)->time > d->end_ns) {
			d->has_ended = true;
			send_end(d);
		} else if (!is_left_out(d, *rec)) {
			d->count++;
			return SOURCE_RECORD;
		}
	}
}

/*
 * perf records the time of day only with -k; otherwise derive it from the file's modification time,
 * which is the end of the recording.
 */
static void find_realtime(struct perf_data *d, int fd)
{
	const struct perf_features *f = &perf_source_file(d->records)->features;
	struct stat st;

	if (f->realtime_ns) {
		d->realtime_ns = f->realtime_ns + (d->start_ns - f->clock_ns);
	} else if (!fstat(fd, &st)) {
		uint64_t written = (uint64_t)st.st_mtim.tv_sec * SECOND_NS +
				   (uint64_t)st.st_mtim.tv_nsec;
		uint64_t length = d->end_ns - d->start_ns;

		d->realtime_ns = written > length ? written - length : 0;
	}
}

static void select_part(struct perf_data *d)
{
	uint64_t until = d->start_ns + d->part.until_ns;

	d->from_ns = d->start_ns + d->part.from_ns;
	if (d->part.until_ns && until < d->end_ns)
		d->end_ns = until;
}

static bool matches(int fd)
{
	return perf_file_is_one(fd);
}

static int open_perf_data(void **state, int fd, const struct source_part *part, struct error *err)
{
	static const struct source_ops ops = {.next = next};
	struct perf_data *d = xcalloc(1, sizeof(*d));
	const struct perf_source_options options = {
		.open_file = open_file,
		.ctx = d,
		.max_event = EVENT_COUNTS_MAX - 1,
		.branches = part->branches,
	};
	const struct perf_file *file;
	int ret = perf_source_open(&d->records, fd, &options, err);

	if (ret) {
		free(d);
		return ret;
	}
	file = perf_source_file(d->records);
	d->source.ops = &ops;
	d->part = *part;
	d->start_ns = file->start_ns;
	d->end_ns = file->end_ns;
	readers_add(&d->authors, lookup_reader(fd));
	find_realtime(d, fd);
	select_part(d);
	send_begin(d);
	*state = d;
	return 0;
}

static struct source *source(void *state)
{
	return state;
}

static void start(const void *state, uint64_t *start_ns, uint64_t *realtime_ns)
{
	const struct perf_data *d = state;

	*start_ns = d->start_ns;
	*realtime_ns = d->realtime_ns;
}

static void count(const void *state, struct source_counts *counts)
{
	const struct perf_data *d = state;
	const struct perf_file *file = perf_source_file(d->records);
	_cleanup_(strbuf_release) struct strbuf left_out = {0};

	*counts = (struct source_counts){
		.records = d->count,
		.skipped_bytes = file->damaged_bytes,
		.end_ns = d->end_ns,
		.is_complete = !file->is_cut,
	};
	perf_file_say_left_out(file, &left_out);
	snprintf(counts->left_out, sizeof(counts->left_out), "%s", strbuf_text(&left_out));
}

static void close_perf_data(void *state)
{
	struct perf_data *d = state;

	perf_source_free(d->records);
	readers_release(&d->authors);
	vec_release(&d->facts.words);
	free(d);
}

const struct source_kind source_perf_data = {
	.name = "perf.data",
	.matches = matches,
	.open = open_perf_data,
	.source = source,
	.start = start,
	.count = count,
	.close = close_perf_data,
};
