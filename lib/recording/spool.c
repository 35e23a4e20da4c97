/* SPDX-License-Identifier: MIT */
#include "lib/recording/spool.h"

#include <elf.h>
#include <limits.h>
#include <pwd.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/sendfile.h>

#include "lib/model/tables/sample_store.h"
#include "lib/stream/record/records.h"

#define COPY_SIZE ((size_t)1 << 30)
#define ASK_NS 200000000ull
/* Maximum number of distinct addresses, above the functions of any kernel. */
#define ADDRESSES_MAX (1u << 20)

static void asked_symbols_release(struct asked_symbols *k)
{
	address_ranges_release(&k->functions);
	kernel_table_free(k->answers);
	index_release(&k->known);
	vec_release(&k->addresses);
}

INDEX_EQUAL(is_equal, struct asked_symbols, addresses, *a == *b)

static void note(struct asked_symbols *k, uint64_t addr)
{
	uint64_t hash = hash_u64(addr);

	if (k->addresses.count >= ADDRESSES_MAX || address_ranges_cover(&k->functions, addr) ||
	    index_find(&k->known, hash, is_equal, k, &addr) != INDEX_NONE)
		return;
	index_add(&k->known, hash, (uint32_t)k->addresses.count);
	vec_push(&k->addresses, addr);
}

/* Kernel frames come first; a return address minus one lies in the call. */
static void note_stack(struct asked_symbols *k, const struct rec_stack *rec)
{
	struct stack_body body = stack_record_body(rec);
	uint32_t depth = body.depth;
	_cleanup_free_ uint64_t *addrs = NULL;
	_cleanup_free_ uint8_t *kinds = NULL;

	if (!rec->kernel_depth)
		return;
	addrs = xcalloc(depth, sizeof(*addrs));
	kinds = xcalloc(depth, sizeof(*kinds));
	depth = stack_body_unpack(&body, 0, addrs, kinds);
	for (uint32_t i = 0; i < depth; i++) {
		if (kinds[i] == FRAME_KERNEL && addrs[i])
			note(k, addrs[i] - 1);
	}
}

static void note_leaf(struct asked_symbols *k, const struct rec_sample *rec)
{
	if (rec->rec.flags & SAMPLE_LEAF_KERNEL)
		note(k, rec->leaf);
}

static void note_marker(struct asked_symbols *k, const struct rec_marker *rec)
{
	const struct rec_marker_stack *stacks = rec_marker_stacks(rec);

	for (unsigned int i = 0; i < rec->stack_count; i++) {
		if (stacks[i].flags & SAMPLE_LEAF_KERNEL)
			note(k, stacks[i].leaf);
	}
}

/* Notes a record's kernel addresses. */
static void asked_symbols_note(struct asked_symbols *k, const struct rec *rec)
{
	switch (rec->kind) {
	case REC_SAMPLE:
	case REC_EVENT: /* begin with a sample */
	case REC_WAIT:
	case REC_ALLOC:
		note_leaf(k, (const struct rec_sample *)rec);
		break;
	case REC_STACK:
		note_stack(k, (const struct rec_stack *)rec);
		break;
	case REC_MARKER:
		note_marker(k, (const struct rec_marker *)rec);
		break;
	case REC_MODULE:
		k->has_image |= ((const struct rec_module *)rec)->kind == MODULE_KERNEL;
		break;
	}
}

struct answer {
	struct asked_symbols *asked;
	uint64_t time;
	record_sink_fn *sink;
	void *ctx;
};

/*
 * Drops functions that overlap an older one: they replaced it after their addresses were sampled.
 */
static void take_answer(void *ctx, const struct kernel_symbol_text *symbol)
{
	const struct answer *a = ctx;
	struct asked_symbols *k = a->asked;

	if (!address_ranges_add(&k->functions, symbol->start, symbol->start + symbol->size))
		return;
	if (!k->answers)
		k->answers = kernel_table_new();
	kernel_table_add(k->answers, symbol->start, symbol->size, symbol->name, symbol->name_size,
			 symbol->module);
	if (a->sink)
		recording_facts_send_kernel_symbol(a->time, symbol, a->sink, a->ctx);
}

/*
 * Looks up the symbols of new addresses, at most a few times a second unless `now` is set. Also
 * passes them to `sink` unless it is NULL.
 */
static void asked_symbols_ask(struct asked_symbols *k, struct recorder *recorder, bool now,
			      record_sink_fn *sink, void *ctx)
{
	struct answer answer = {k, clock_monotonic_ns(), sink, ctx};
	size_t count = k->addresses.count - k->asked;
	_cleanup_free_ uint64_t *sorted = NULL;

	/* Respect a kernel that hides symbols: it also hides the address of its image. */
	if (!count || !k->has_image || k->is_hidden || (!now && answer.time - k->asked_ns < ASK_NS))
		return;
	k->asked_ns = answer.time;
	sorted = xmemdup(k->addresses.items + k->asked, count * sizeof(*sorted));
	k->asked = k->addresses.count;
	qsort(sorted, count, sizeof(*sorted), u64_compare);
	if (!recorder_find_symbols(recorder, sorted, count, take_answer, &answer))
		k->is_hidden = true;
}

/*
 * Seals the symbols found and returns them; no more lookups may follow. NULL if the kernel hides
 * its symbols.
 */
static const struct kernel_table *asked_symbols_seal(struct asked_symbols *k)
{
	if (k->answers)
		kernel_table_seal(k->answers);
	return k->answers;
}

#define NAME_TRIES 100
/* Interval of epochs; a reader can start at any of them. */
#define EPOCH_NS 30000000000ull
/* Maximum size of waiting windows, including the files in the first. */
#define WINDOWS_BYTES (KEPT_ALL_MAX + ((uint64_t)32 << 20))

#if defined(__x86_64__)
#define OWN_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define OWN_MACHINE EM_AARCH64
#endif

char *spool_state_folder(const struct identity *owner)
{
	const struct passwd *entry = owner->is_self ? NULL : getpwuid(owner->uid);
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");

	if (!owner->is_self)
		return entry && entry->pw_dir ? xasprintf("%s/.local/state/prof", entry->pw_dir)
					      : NULL;
	if (state && *state == '/')
		return xasprintf("%s/prof", state);
	return home && *home == '/' ? xasprintf("%s/.local/state/prof", home) : NULL;
}

static void make_folders(const char *path)
{
	_cleanup_free_ char *part = xstrdup(path);

	for (char *slash = strchr(part + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(part, 0700);
		*slash = '/';
	}
	mkdir(part, 0700);
}

/* Creates ".NAME.XXXXXX.capture" in the folder. Returns 0 or a negative errno. */
static int create(struct spool *s, const char *folder, const char *name)
{
	const int kept = NAME_MAX - (int)sizeof(SPOOL_SUFFIX) - 8;

	s->dir_fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (s->dir_fd < 0)
		return -errno;
	for (int tries = 0; tries < NAME_TRIES; tries++) {
		uint64_t random = clock_monotonic_ns() * 0x9e3779b97f4a7c15ull ^ (uint64_t)getpid();

		free(s->name);
		s->name = xasprintf(".%.*s.%06x%s", kept, name, (unsigned int)(random >> 40),
				    SPOOL_SUFFIX);
		s->fd = openat(s->dir_fd, s->name,
			       O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (s->fd >= 0 || errno != EEXIST)
			break;
	}
	if (s->fd < 0) {
		int ret = -errno;

		close(steal_fd(&s->dir_fd));
		return ret;
	}
	s->path = strcmp(folder, ".")
			  ? xasprintf("%s/%s", strcmp(folder, "/") ? folder : "", s->name)
			  : xstrdup(s->name);
	/* The lock shows prof recover that the recorder is alive. */
	flock(s->fd, LOCK_EX | LOCK_NB);
	return 0;
}

static bool is_beside(const char *path)
{
	struct stat st;

	/* Links in /dev refer to descriptors. */
	return strcmp(path, "-") != 0 &&
	       (lstat(path, &st) != 0 ? errno == ENOENT : S_ISREG(st.st_mode));
}

/* Chooses the same folder for rows of samples that exceed memory. */
static void open_sample_store(const struct spool *s)
{
	int fd = openat(s->dir_fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd >= 0)
		sample_store_set_file(fd, SAMPLE_STORE_MAX);
}

/* Creates a spool where no output lies. Returns 0 or a negative errno. */
static int create_apart(struct spool *s, const char *name)
{
	_cleanup_free_ char *state = spool_state_folder(&s->owner);

	if (!state)
		return -ENOENT;
	make_folders(state);
	return create(s, state, *name && strcmp(name, "-") ? name : "profile");
}

/* Creates the spool in its folder as the owner. */
static int create_somewhere(struct spool *s)
{
	const struct spool_options *o = &s->options;
	const char *path = o->raw_path ? o->raw_path : o->path;
	const char *name = basename(path);
	_cleanup_free_ char *folder = NULL;
	struct stat st;
	int ret = -ENOENT;

	if (o->raw_path && lstat(path, &st) == 0 && !S_ISREG(st.st_mode))
		return S_ISDIR(st.st_mode) ? -EISDIR : -EINVAL;

	if (o->dir)
		return create(s, o->dir, strcmp(name, "-") ? name : "profile");
	if (name == path)
		folder = xstrdup(".");
	else
		folder = xstrndup(path, name == path + 1 ? 1 : (size_t)(name - path - 1));
	if (o->raw_path || (is_beside(path) && !o->no_file))
		ret = create(s, folder, name);
	return !ret || o->raw_path ? ret : create_apart(s, name);
}

static int open_memory(struct spool *s, struct error *err)
{
	s->memory = memfd_create(s->options.window_ns ? "prof-windows" : "prof-last", MFD_CLOEXEC);
	s->fd = s->memory >= 0 ? fcntl(s->memory, F_DUPFD_CLOEXEC, STDERR_FILENO + 1) : -1;
	s->path = xstrdup("memory");
	/* Readers of windows retain the contents. */
	s->contents.is_deferred = !s->options.window_ns;
	return s->fd < 0 ? error_set(err, -errno, "cannot create a file in memory") : 0;
}

static bool is_stream(const struct spool *s)
{
	return s->options.raw_path && strcmp(s->options.raw_path, "-") == 0;
}

static int open_stream(struct spool *s, struct error *err)
{
	s->fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	s->path = xstrdup("standard output");
	return s->fd < 0 ? error_set(err, -errno, "cannot write standard output") : 0;
}

int spool_open(struct spool *s, const struct spool_options *options, const struct identity *owner,
	       struct error *err)
{
	struct identity before;
	int ret;

	s->options = *options;
	if (options->is_off && !options->raw_path && !options->window_ns)
		return 0;
	s->owner = *owner;
	if (options->keep_ns || options->window_ns)
		return open_memory(s, err);
	if (is_stream(s))
		return open_stream(s, err);
	before = identity_assume_files(owner);
	ret = before.failure ? before.failure : create_somewhere(s);
	if (!ret)
		open_sample_store(s);
	identity_restore_files(&before);
	if (options->raw_path)
		return ret ? error_set(err, ret, "cannot write %s", options->raw_path) : 0;
	if (ret && options->dir)
		return error_set(err, ret, "--spool-dir %s: cannot create a capture", options->dir);
	if (ret)
		log_info("no spool, so the recording is lost if prof is killed: %s",
			 strerror(-ret));
	return 0;
}

static void add(void *ctx, const struct rec *rec)
{
	capture_writer_add(((struct spool *)ctx)->writer, rec);
}

int spool_begin(struct spool *s, const struct recording_facts *facts, struct error *err)
{
	struct capture_start start = {
		.start_ns = facts->meta.start_ns,
		.start_realtime_ns = facts->meta.start_realtime_ns,
		.machine = OWN_MACHINE,
	};
	struct capture_writer_options options = {
		.sync = s->options.sync,
		.keep_ns = s->options.keep_ns,
		.keep_bytes = s->options.window_ns ? WINDOWS_BYTES : s->options.keep_bytes,
		.has_windows = s->options.window_ns,
		.block_ns = s->options.block_ns,
	};

	if (s->fd < 0)
		return 0;
	boot_id_read(start.boot_id);
	options.fd = steal_fd(&s->fd);
	s->writer = capture_writer_new(&options, &start, err);
	if (!s->writer && (s->options.raw_path || s->memory >= 0))
		return err->code;
	if (!s->writer) {
		log_warn("%s: %s: the recording is lost if prof is killed", s->path, err->text);
		*err = (struct error){0};
		return 0;
	}
	recording_facts_send_begin(facts, add, s);
	return 0;
}

void spool_add(struct spool *s, const struct rec *rec, const struct file_set *files)
{
	if (s->writer || !s->options.is_unnamed)
		asked_symbols_note(&s->asked_symbols, rec);
	if (!s->writer)
		return;
	if (rec->kind == REC_MODULE)
		kept_contents_add(&s->contents, (const struct rec_module *)rec, files, &s->owner,
				  s->writer);
	if (rec->kind == REC_GONE)
		kept_contents_remove(&s->contents, ((const struct rec_gone *)rec)->module_id);
	capture_writer_add(s->writer, rec);
}

void spool_add_run(struct spool *s, const struct run_fact *run)
{
	if (s->writer)
		recording_facts_send_run(clock_monotonic_ns(), run, add, s);
}

void spool_add_root(struct spool *s, uint32_t pid)
{
	if (s->writer)
		recording_facts_send_root(clock_monotonic_ns(), pid, add, s);
}

/* Warns once that the file is incomplete. */
static void warn(struct spool *s)
{
	struct capture_written now;

	capture_writer_count(s->writer, &now);
	if (s->has_warned || (!now.failure && !now.unwritten_records))
		return;
	s->has_warned = true;
	if (now.failure)
		log_warn("%s: %s: the capture is incomplete, the recording continues", s->path,
			 strerror(-now.failure));
	else
		log_warn("%s: the disk is too slow: parts of the capture are missing", s->path);
}

/*
 * Returns the length of an epoch: a small part of the retained time, as epochs are dropped as a
 * whole.
 */
static uint64_t epoch_ns(const struct spool *s)
{
	if (s->options.keep_ns)
		return s->options.keep_ns / CAPTURE_KEPT_EPOCHS;
	return s->options.epoch_ns ? s->options.epoch_ns : EPOCH_NS;
}

/*
 * True if it is time for an epoch. Windows are aligned to the wall clock, so that they are equal on
 * all machines.
 */
static bool wants_epoch(struct spool *s, uint64_t now)
{
	const struct spool_options *o = &s->options;
	uint64_t window = o->window_ns ? clock_realtime_ns() / o->window_ns : 0;
	bool is_begun = s->window && window != s->window;

	if (!o->window_ns)
		return capture_writer_wants_epoch(s->writer, now, epoch_ns(s),
						  o->epoch_ns || o->keep_ns);
	if (!capture_writer_wants_epoch(s->writer, now, is_begun ? 0 : UINT64_MAX, true)) {
		s->window = s->window ? s->window : window;
		return false;
	}
	s->window = window;
	/* The limit on files applies to each window. */
	s->contents.bytes = 0;
	return true;
}

uint64_t spool_poll(struct spool *s, struct recorder *recorder)
{
	uint64_t now = clock_monotonic_ns(), epoch = 0;

	/* Names must be in the same block as their addresses, which may be the last block. */
	asked_symbols_ask(&s->asked_symbols, recorder,
			  s->writer && capture_writer_is_due(s->writer, now),
			  s->writer ? add : NULL, s);
	if (!s->writer)
		return 0;
	kept_contents_poll(&s->contents, false, recorder_source(recorder)->files, &s->owner,
			   s->writer);
	capture_writer_poll(s->writer, now);
	if (wants_epoch(s, now)) {
		epoch = recorder_begin_epoch(recorder);
		capture_writer_begin_epoch(s->writer, epoch);
	}
	warn(s);
	return epoch;
}

const struct kernel_table *spool_kernel_symbols(struct spool *s, struct recorder *recorder)
{
	asked_symbols_ask(&s->asked_symbols, recorder, true, s->writer ? add : NULL, s);
	return asked_symbols_seal(&s->asked_symbols);
}

bool spool_is_wanted(const struct spool *s)
{
	return s->options.is_kept || s->options.raw_path;
}

void spool_end(struct spool *s, struct recorder *recorder, const struct recorder_info *info,
	       const struct report *report)
{
	if (!s->writer)
		return;
	asked_symbols_ask(&s->asked_symbols, recorder, true, add, s);
	kept_contents_poll(&s->contents, true, recorder_source(recorder)->files, &s->owner,
			   s->writer);
	recording_facts_send_end(info, report, add, s);
	capture_writer_finish(s->writer, true);
	warn(s);
	if (s->contents.left_out)
		log_warn("%s: %u %s too large for the capture", s->path, s->contents.left_out,
			 text_counted(s->contents.left_out, "file that may be gone later is",
				      "files that may be gone later are"));
	capture_writer_count(s->writer, &s->written);
}

void spool_pin(struct spool *s, struct recorder *recorder, const struct recorder_info *info,
	       const struct report *report, struct capture_window *window, int *fd)
{
	struct recorder_info end = *info;

	*fd = s->memory;
	capture_writer_pin(s->writer, window);
	if (window->start_ns > end.start_ns) {
		end.start_realtime_ns += window->start_ns - end.start_ns;
		end.start_ns = window->start_ns;
	}
	window->start_ns = end.start_ns;
	asked_symbols_ask(&s->asked_symbols, recorder, true, add, s);
	kept_contents_repeat(&s->contents, recorder_source(recorder)->files, &s->owner, s->writer);
	recording_facts_send_end(&end, report, add, s);
	/* The facts include the window's times. */
	end.start_ns = window->start_ns;
	capture_writer_pin(s->writer, window);
	window->start_ns = end.start_ns;
}

bool spool_next_window(struct spool *s, const struct recorder_info *info, bool is_end,
		       struct capture_window *window)
{
	if (!s->writer ||
	    !capture_writer_next_window(s->writer, clock_monotonic_ns(), is_end, window))
		return false;
	window->start_ns = MAX(window->start_ns, info->start_ns);
	if (!window->end_ns)
		window->end_ns = info->end_ns;
	window->start_realtime_ns = info->start_realtime_ns + (window->start_ns - info->start_ns);
	return true;
}

uint64_t spool_drop_windows(struct spool *s)
{
	return s->writer ? capture_writer_drop_windows(s->writer) : 0;
}

int spool_commit(struct spool *s, struct error *err)
{
	const char *name = basename(s->options.raw_path);
	struct identity before;
	int ret;

	if (is_stream(s))
		return 0;
	before = identity_assume_files(&s->owner);
	ret = before.failure;
	if (!ret && renameat(s->dir_fd, s->name, s->dir_fd, name) != 0)
		ret = -errno;
	identity_restore_files(&before);
	return ret ? error_set(err, ret, "cannot write %s", s->options.raw_path) : 0;
}

bool spool_stat(const struct spool *s, struct stat *st)
{
	return s->dir_fd >= 0 && fstatat(s->dir_fd, s->name, st, AT_SYMLINK_NOFOLLOW) == 0;
}

bool spool_rescue(struct spool *s)
{
	_cleanup_free_ char *link = NULL, *old_path = NULL;
	const char *path = s->options.raw_path ? s->options.raw_path : s->options.path;
	_cleanup_close_ int from = -1;
	struct identity before;
	ssize_t size = -1;
	off_t at = 0;

	if (!s->writer || s->dir_fd < 0)
		return false;
	link = xasprintf("/proc/self/fd/%d", capture_writer_fd(s->writer));
	from = open(link, O_RDONLY | O_CLOEXEC);
	if (from < 0)
		return false;
	close(steal_fd(&s->dir_fd));
	old_path = steal(s->path);
	before = identity_assume_files(&s->owner);
	if (!before.failure && !create_apart(s, basename(path))) {
		do {
			size = sendfile(s->fd, from, &at, COPY_SIZE);
		} while (size > 0);
	}
	identity_restore_files(&before);
	if (!size)
		return true;
	spool_remove(s);
	free(s->path);
	s->path = steal(old_path);
	return false;
}

void spool_remove(struct spool *s)
{
	struct identity before;

	if (s->dir_fd < 0)
		return;
	before = identity_assume_files(&s->owner);
	if (!before.failure)
		unlinkat(s->dir_fd, s->name, 0);
	identity_restore_files(&before);
}

void spool_release(struct spool *s)
{
	capture_writer_free(s->writer);
	fd_close(s->fd);
	fd_close(s->memory);
	fd_close(s->dir_fd);
	free(s->name);
	free(s->path);
	asked_symbols_release(&s->asked_symbols);
	vec_release(&s->contents.others);
	*s = SPOOL_INIT;
}
