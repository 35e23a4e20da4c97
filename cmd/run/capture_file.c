/* SPDX-License-Identifier: MIT */
#include "cmd/run/capture_file.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/command.h"
#include "cmd/run/lookup.h"
#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/text.h"
#include "lib/profile/cut_marker.h"
#include "lib/session/session.h"

/* Descriptors that are not for modules. */
#define RESERVED_FILES 64

bool capture_file_is_one(int fd)
{
	char bytes[CAPTURE_MAGIC_SIZE];
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	       pread(fd, bytes, sizeof(bytes), 0) == (ssize_t)sizeof(bytes) &&
	       capture_is_one(bytes, sizeof(bytes));
}

void capture_file_free(struct capture_file *f)
{
	if (!f)
		return;
	if (f->profile)
		profile_free(f->profile);
	recording_facts_release(&f->facts);
	read_contents_release(&f->contents);
	coverage_release(&f->completed.coverage);
	free(f);
}

static char *copy(const char *text)
{
	return text ? xstrdup(text) : NULL;
}

/* The profile's meta is a copy: the facts stay whole. */
static void set_meta(struct profile *p, const struct recording_facts *facts,
		     const struct capture_header *header)
{
	const struct profile_meta *from = &facts->meta;
	struct profile_meta *meta = &p->meta;

	*meta = *from;
	meta->product = xstrdup(from->product ? from->product : "unknown");
	meta->command_line = copy(from->command_line);
	meta->os = copy(from->os);
	meta->distribution = copy(from->distribution);
	meta->abi = copy(from->abi);
	meta->cpu_name = copy(from->cpu_name);
	memset(&meta->features, 0, sizeof(meta->features));
	memset(&meta->filters, 0, sizeof(meta->filters));
	vec_for_each(&from->features, char *const *, text)
		vec_push(&meta->features, xstrdup(*text));
	vec_for_each(&from->filters, char *const *, text)
		vec_push(&meta->filters, xstrdup(*text));
	if (!meta->start_ns) {
		meta->start_ns = header->start_ns;
		meta->start_realtime_ns = header->start_realtime_ns;
	}
}

struct replay {
	struct capture_file *file;
	struct capture_reader *reader;
	struct session *session; /* NULL until the facts of the beginning are there */
};

static void begin(struct replay *r)
{
	r->file->profile = profile_new();
	set_meta(r->file->profile, &r->file->facts, capture_reader_header(r->reader));
	r->session = session_new(r->file->profile);
}

static int replay(struct replay *r, struct error *err)
{
	struct source *source = capture_reader_source(r->reader);
	const struct rec *rec;
	int result;

	while ((result = source_next(source, &rec, err)) > 0) {
		if (rec->kind == REC_META) {
			recording_facts_take(&r->file->facts, (const struct rec_meta *)rec);
			continue;
		}
		if (rec->kind == REC_FILE) {
			read_contents_take(&r->file->contents, (const struct rec_file *)rec);
			continue;
		}
		if (!r->session)
			begin(r);
		if (capture_reader_is_state(r->reader))
			session_feed_state(r->session, rec);
		else
			session_feed(r->session, rec);
	}
	if (!r->session)
		begin(r);
	return result;
}

/* Concludes what only the end of a recording tells, if it was cut. */
static void conclude(struct capture_file *f)
{
	struct recorder_info *info = &f->facts.info;
	const struct profile_meta *meta = &f->profile->meta;

	if (f->facts.has_ended && info->end_ns >= meta->start_ns)
		return;
	*info = (struct recorder_info){
		.cpu_count = meta->logical_cpus,
		.interval_ns = meta->interval_ns,
		.ring_bytes = meta->buffer_bytes,
		.start_ns = meta->start_ns,
		.start_realtime_ns = meta->start_realtime_ns,
		.end_ns = f->counts.end_ns > meta->start_ns ? f->counts.end_ns : meta->start_ns,
	};
}

static int open_reader(struct capture_reader **out, int fd, const struct output_options *output,
		       struct error *err)
{
	int ret = capture_reader_open(out, fd, err);
	uint64_t start;

	if (ret || (!output->from_ns && !output->until_ns))
		return ret;
	start = capture_reader_header(*out)->start_ns;
	ret = capture_reader_select(*out, start + output->from_ns,
				    output->until_ns ? start + output->until_ns : UINT64_MAX, err);
	if (ret)
		capture_reader_free(*out);
	return ret;
}

/* Waits that go on are over at the end of the part. */
static uint64_t end_of_part(const struct capture_file *f, const struct output_options *output)
{
	uint64_t end = f->facts.info.end_ns, until = f->profile->meta.start_ns + output->until_ns;

	return output->until_ns && until < end ? until : end;
}

static int read_all(struct capture_file *f, int fd, const struct output_options *output,
		    struct error *err)
{
	struct replay r = {.file = f};
	int ret = open_reader(&r.reader, fd, output, err);

	if (ret)
		return ret;
	ret = replay(&r, err);
	capture_reader_count(r.reader, &f->counts);
	/* Shows what was read before the disk failed. */
	if (ret && f->counts.records) {
		command_say("%s: the rest is left out", err->text);
		ret = 0;
	}
	if (!ret && !f->counts.records)
		ret = error_text(err, -ENODATA, "the capture holds no record");
	if (!ret) {
		conclude(f);
		session_finish(r.session, end_of_part(f, output));
		f->profile->meta.root_pid = f->facts.meta.root_pid;
		vec_for_each(&f->facts.runs, const struct run_fact *, run)
			run_fact_add_marker(run, f->profile);
	}
	session_free(r.session);
	capture_reader_free(r.reader);
	return ret;
}

static void complete(struct capture_file *f, int fd, const struct output_options *output)
{
	const struct identity owner = identity_of_invoker();
	const char *os = f->facts.meta.os ? f->facts.meta.os : "";
	_cleanup_free_ char *release = lookup_kernel_release(os);
	bool is_root = owner.is_self && geteuid() == 0;
	struct readers authors = {0}, strangers = {0};
	const struct lookup lookup = {
		.profile = f->profile,
		.os = os,
		.dirs = output->debug_dirs.items,
		.readers = is_root ? &authors : NULL,
		.contents = &f->contents,
	};
	struct symbolize_run_options names = {
		.output = output,
		.files = file_set_new(RESERVED_FILES),
		.kernel_symbols = f->facts.kernel,
		.owner = &owner,
		.kernel_release = release ? release : "",
		.fetcher = -1,
	};

	readers_add(&authors, lookup_reader(fd));
	readers_add(&strangers, (struct reader){READER_UNKNOWN, READER_UNKNOWN});
	if (f->facts.kernel)
		kernel_table_seal(f->facts.kernel);
	lookup_files(&lookup, names.files);
	complete_profile(f->profile,
			 &(struct completion){
				 .info = &f->facts.info,
				 .report = &f->facts.report,
				 .unwind = f->facts.unwind,
				 .names = &names,
				 .strangers = is_root ? &strangers : NULL,
			 },
			 &f->completed);
	file_set_free(names.files);
	readers_release(&authors);
	readers_release(&strangers);
}

static void say_damage(const struct capture_file *f, const char *label)
{
	const struct capture_counts *c = &f->counts;
	char size[32];

	if (!c->is_complete)
		command_say("%s: the recording was cut: it ends %.1f s after its start", label,
			    (double)(f->facts.info.end_ns - f->profile->meta.start_ns) / 1e9);
	text_format_bytes(size, sizeof(size), c->skipped_bytes);
	if (c->skipped_bytes)
		command_say("%s: %s are damaged and were left out", label, size);
}

int capture_file_load(struct capture_file **out, int fd, const char *label,
		      const struct output_options *output, struct error *err)
{
	struct capture_file *f = xcalloc(1, sizeof(*f));
	int ret = read_all(f, fd, output, err);

	if (ret) {
		capture_file_free(f);
		return error_wrap(err, "%s", label);
	}
	say_damage(f, label);
	if (!f->counts.is_complete) {
		profile_add_text(f->profile, FACT_CUT_TEXT, NULL,
				 "the recorder did not end by itself");
		cut_marker_add(f->profile, f->facts.info.end_ns);
	}
	complete(f, fd, output);
	*out = f;
	return 0;
}

void capture_file_write_stats(struct capture_file *f, const struct capture_output *written,
			      const struct output_options *output, struct outfile *out)
{
	struct outcome outcome = {
		.profile = f->profile,
		.info = f->facts.info,
		.report = &f->facts.report,
		.counts = written->counts,
		.unwind = f->facts.unwind,
		.subject = f->facts.subject,
		.coverage = &f->completed.coverage,
		.leaves_addresses = output->no_symbols,
		.path = output->path,
		.file_bytes = written->bytes,
		.is_cut = !f->counts.is_complete,
		.finish_ns = written->finish_ns,
		.recorder_cpu_ns = clock_process_cpu_ns(),
	};

	outcome.counts.threads = f->profile->threads.rows.count;
	outcome.counts.processes = profile_process_count(f->profile);
	summary_write_stats(&outcome, out);
}
