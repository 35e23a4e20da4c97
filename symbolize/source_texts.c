/* SPDX-License-Identifier: MIT */
#include "symbolize/source_texts.h"

#include <limits.h>
#include <strings.h>
#include <sys/fsuid.h>

/* Maximum number of links on the way to a file. */
#define LINKS_MAX 16

/*
 * Endings for compiled languages, and for interpreted ones whose interpreters report positions to
 * profilers.
 */
static const char *const endings[] = {
	"ada", "adb", "ads", "asm", "bas", "c",	   "c++", "cc",	   "cjs",    "clj",   "cpp", "cr",
	"cs",  "cu",  "cuh", "cxx", "d",   "def",  "erl", "ex",	   "exs",    "f",     "f03", "f08",
	"f77", "f90", "f95", "for", "fs",  "go",   "h",	  "h++",   "hh",     "hpp",   "hs",  "hxx",
	"inc", "inl", "ino", "ipp", "ixx", "jl",   "js",  "jsx",   "java",   "kt",    "l",   "ll",
	"lua", "m",   "mjs", "ml",  "mli", "mm",   "nim", "pas",   "php",    "pl",    "pm",  "pp",
	"py",  "pyx", "rb",  "re",  "rs",  "s",	   "sx",  "scala", "svelte", "swift", "tbl", "tcc",
	"tpp", "ts",  "tsx", "txx", "v",   "vala", "vue", "y",	   "yy",     "zig",
};

static const char *const outcome_texts[SOURCE_OUTCOME_COUNT] = {
	[SOURCE_MISSING] = "not here",
	[SOURCE_FORBIDDEN] = "not readable",
	[SOURCE_NOT_THEIRS] = "not readable by the users who ran it",
	[SOURCE_NO_CODE] = "no source code",
	[SOURCE_TOO_LARGE] = "too large",
	[SOURCE_NO_ROOM] = "beyond the total limit",
	[SOURCE_SILENT] = "on a file system that does not answer",
};

bool source_texts_is_code(const char *path)
{
	const char *ending = strrchr(basename(path), '.'), *folder = NULL;

	/* Headers of the C++ standard library have no ending. ".." could lead elsewhere. */
	if (!ending) {
		for (const char *next; (next = strstr(path, "/include/")); path = next + 8)
			folder = next + 8;
		return folder && !strstr(folder, "/../");
	}
	return array_find(endings, it, strcasecmp(ending + 1, *it) == 0);
}

static int64_t modified_ns(const struct stat *st)
{
	return st->st_mtim.tv_sec * 1000000000ll + st->st_mtim.tv_nsec;
}

const char *source_outcome_text(enum source_outcome outcome)
{
	return outcome_texts[outcome];
}

static bool is_of_kernel(const char *path)
{
	static const char *const folders[] = {"/proc/", "/sys/", "/dev/"};

	return array_find(folders, it, text_starts_with(path, *it));
}

static bool may_lead(const struct readers *readers, const struct stat *link)
{
	if (!link->st_uid || link->st_uid == (uid_t)setfsuid((uid_t)-1))
		return true;
	return readers && vec_find(&readers->rows, it, link->st_uid == it->uid);
}

/*
 * Replaces the first link in an absolute path by its target. Returns NULL if there is no link, or
 * if its owner is not trusted; *is_path distinguishes the two.
 */
static char *follow_link(const struct readers *readers, const char *path, bool *is_path)
{
	_cleanup_free_ char *part = xstrdup(path);
	char target[PATH_MAX];

	*is_path = true;
	for (size_t end = 1; part[end - 1]; end++) {
		struct stat st;
		ssize_t size;
		size_t folder = end;

		if (path[end] && path[end] != '/')
			continue;
		part[end] = '\0';
		if (lstat(part, &st) == 0 && S_ISLNK(st.st_mode)) {
			size = readlink(part, target, sizeof(target) - 1);
			*is_path = size > 0 && may_lead(readers, &st);
			if (!*is_path)
				return NULL;
			target[size] = '\0';
			while (part[folder - 1] != '/')
				folder--;
			return xasprintf("%.*s%s%s", *target == '/' ? 0 : (int)folder, part, target,
					 path + end);
		}
		part[end] = path[end];
	}
	return NULL;
}

/*
 * Resolves all links in a path, so that none is left to follow when opening it. NULL if a link is
 * not trusted.
 */
static char *resolve(const struct readers *readers, const char *path)
{
	char *at = xstrdup(path);

	for (unsigned int links = 0; links < LINKS_MAX; links++) {
		bool is_path = false;
		char *next = is_of_kernel(at) ? NULL : follow_link(readers, at, &is_path);

		if (!next && is_path)
			return at;
		free(at);
		at = next;
		if (!at)
			return NULL;
	}
	free(at);
	return NULL;
}

/*
 * Does the same in the folder `root`, which no link may leave; links outside were followed before.
 */
static enum source_outcome source_text_read_at(const struct readers *readers, int root,
					       const char *path, uint64_t max,
					       struct source_text *source)
{
	_cleanup_close_ int fd = -1;
	struct stat st;

	if (*path != '/')
		return SOURCE_MISSING;
	if (!source_texts_is_code(path))
		return SOURCE_NO_CODE;
	fd = readers_open(readers, root, path);
	if (fd == READERS_REFUSED)
		return SOURCE_NOT_THEIRS;
	if (fd == -EACCES || fd == -EPERM)
		return SOURCE_FORBIDDEN;
	if (fd < 0 || fstat(fd, &st))
		return SOURCE_MISSING;
	if ((uint64_t)st.st_size > max)
		return SOURCE_TOO_LARGE;
	/* Read no more than this size even if the file grows meanwhile. */
	source->text = text_read_fd(fd, (size_t)st.st_size, &source->size);
	source->modified_ns = modified_ns(&st);
	if (!source->text)
		return SOURCE_MISSING;
	if (!memchr(source->text, '\0', source->size))
		return SOURCE_TAKEN;
	free(steal(source->text));
	return SOURCE_NO_CODE;
}

enum source_outcome source_text_read(const struct readers *readers, const char *path, uint64_t max,
				     struct source_text *source)
{
	_cleanup_free_ char *resolved = NULL;

	if (*path != '/')
		return SOURCE_MISSING;
	if (!source_texts_is_code(path))
		return SOURCE_NO_CODE;
	resolved = resolve(readers, path);
	return resolved ? source_text_read_at(readers, 0, resolved, max, source) : SOURCE_FORBIDDEN;
}

/* A source file with functions of the profile. */
struct candidate {
	source_file_id file;
	uint64_t frames;
	int64_t built_ns; /* time of the oldest binary with its code; INT64_MAX: unknown */
	int root; /* open root folder of the process with most of its frames; 0: prof's own root */
	module_id last_module; /* last module whose users were added to the readers */
	struct readers readers;
	char *path;
	enum source_outcome outcome; /* SOURCE_OUTCOME_COUNT: not tried yet */
	struct source_text source;
};

/* Not freed if files were abandoned: threads still use it. */
struct collection {
	struct profile *profile;
	struct sources_options options;
	struct sources_stats *stats;
	struct candidate *rows;
	size_t count;
	uint64_t bytes; /* size of the files taken so far; accessed atomically */
	bool is_stopped; /* accessed atomically */
};

/* A frame in a file, as seen from a root. */
struct sighting {
	source_file_id file;
	int root;
};

/* Uses cached attributes of the file: its server may not respond. */
static int64_t module_time(const struct module *module, const struct file_set *files)
{
	struct statx st;
	int fd = -1;

	if (files && module->file_key != UINT32_MAX && !module_is_kernel(module))
		fd = file_set_find(files, module->file_key);
	if (fd < 0 || statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_MTIME, &st))
		return INT64_MAX;
	return st.stx_mtime.tv_sec * 1000000000ll + st.stx_mtime.tv_nsec;
}

ORDER(compare, struct candidate, COMPARE(b->frames, a->frames) ?: COMPARE(a->file, b->file))

static int root_of(struct profile *p, const struct func *func, const struct file_set *files)
{
	const struct module *module;

	if (!files)
		return 0;
	if (func->module == NO_MODULE)
		return file_set_find_process_root(files,
						  p->source_files.rows.items[func->file].pid);
	module = modules_get(&p->modules, func->module);
	if (module->kind == PROFILE_MODULE_ANON)
		return file_set_find_process_root(files, module->pid);
	return file_set_find_root(files, module->file_key);
}

ORDER(compare_sightings, struct sighting, COMPARE(a->file, b->file) ?: COMPARE(a->root, b->root))

/* Chooses the root with the most frames: containers may have different files at the same path. */
static void choose_roots(struct profile *p, const struct file_set *files, struct candidate *rows)
{
	VEC(struct sighting) seen = {0};
	uint64_t best = 0, count = 0;

	vec_for_each(&p->frames.rows, const struct frame *, frame) {
		const struct func *func = frame->func == NO_FUNC
						  ? NULL
						  : &p->funcs.rows.items[frame->func];
		struct sighting sighting;

		if (!func || func->file == NO_SOURCE_FILE)
			continue;
		sighting.file = func->file;
		sighting.root = root_of(p, func, files);
		vec_push(&seen, sighting);
	}
	vec_sort(&seen, compare_sightings);
	for (size_t i = 0; i < seen.count; i++) {
		const struct sighting *it = &seen.items[i];
		bool is_same_file = i && it[-1].file == it->file;

		count = is_same_file && it[-1].root == it->root ? count + 1 : 1;
		if (!is_same_file)
			best = 0;
		if (count > best) {
			best = count;
			rows[it->file].root = it->root;
		}
	}
	vec_release(&seen);
}

static const struct readers *users_of(const struct module *module)
{
	return module_is_kernel(module) ? NULL : &module->users;
}

static void add_users(struct candidate *row, const struct readers *users)
{
	for (size_t i = 0; users && i < users->rows.count; i++)
		readers_add(&row->readers, users->rows.items[i]);
}

/* Collects readers: a file named by two modules must be readable by the users of both. */
static void add_readers(struct profile *p, const struct readers *unknown_readers,
			struct candidate *rows)
{
	vec_for_each(&p->funcs.rows, const struct func *, func) {
		const struct readers *users = unknown_readers;
		struct candidate *row;

		if (func->file == NO_SOURCE_FILE)
			continue;
		row = &rows[func->file];
		if (func->module != NO_MODULE && row->last_module == func->module)
			continue;
		row->last_module = func->module;
		if (func->module != NO_MODULE)
			users = users_of(modules_get(&p->modules, func->module));
		else if (p->source_files.rows.items[func->file].users.rows.count)
			continue;
		add_users(row, users);
	}
	for (size_t i = 0; i < p->source_files.rows.count; i++)
		add_users(&rows[i], &p->source_files.rows.items[i].users);
}

/* Makes a candidate of each source file of the profile, the most important first. */
static struct candidate *find_candidates(struct profile *p, const struct sources_options *options)
{
	const struct file_set *files = options->files;
	size_t count = p->source_files.rows.count, module_count = p->modules.rows.count;
	struct candidate *rows = xcalloc(count + 1, sizeof(*rows));
	_cleanup_free_ int64_t *times = xcalloc(module_count + 1, sizeof(*times));

	for (size_t i = 0; i < count; i++)
		rows[i] = (struct candidate){
			.file = (source_file_id)i, .built_ns = INT64_MAX, .last_module = NO_MODULE};
	for (size_t i = 0; i < module_count; i++)
		times[i] = module_time(modules_get(&p->modules, (module_id)i), files);
	vec_for_each(&p->frames.rows, const struct frame *, frame) {
		const struct func *func;

		if (frame->func == NO_FUNC)
			continue;
		func = &p->funcs.rows.items[frame->func];
		if (func->file == NO_SOURCE_FILE)
			continue;
		rows[func->file].frames++;
		if (func->module != NO_MODULE && times[func->module] < rows[func->file].built_ns)
			rows[func->file].built_ns = times[func->module];
	}
	choose_roots(p, files, rows);
	add_readers(p, options->unknown_readers, rows);
	qsort(rows, count, sizeof(*rows), compare);
	return rows;
}

/*
 * Reads a file, and distinguishes one that is too large from one for which there is no more room.
 */
static enum source_outcome read_source(const struct readers *readers, int root, const char *path,
				       const struct sources_options *options, uint64_t room,
				       struct source_text *source)
{
	uint64_t max = room < options->file_bytes ? room : options->file_bytes;
	enum source_outcome outcome = source_text_read_at(readers, root, path, max, source);

	return outcome == SOURCE_TOO_LARGE && room < options->file_bytes ? SOURCE_NO_ROOM : outcome;
}

/* Reads a file in one of the threads. */
static void read_candidate(void *ctx, size_t number)
{
	struct collection *c = ctx;
	struct candidate *row = &c->rows[number];
	uint64_t taken = __atomic_load_n(&c->bytes, __ATOMIC_RELAXED);
	uint64_t room = c->options.total_bytes - taken;
	struct identity before;

	row->outcome = SOURCE_OUTCOME_COUNT;
	if (__atomic_load_n(&c->is_stopped, __ATOMIC_RELAXED))
		return;
	row->outcome = SOURCE_FORBIDDEN;
	before = identity_assume_files(&c->options.owner);
	if (!before.failure)
		row->outcome = read_source(&row->readers, row->root, row->path, &c->options, room,
					   &row->source);
	/* The source may be outside of the process's root, where the program was built. */
	if (row->outcome == SOURCE_MISSING && row->root) {
		readers_add(&row->readers, (struct reader){READER_UNKNOWN, READER_UNKNOWN});
		row->outcome = read_source(&row->readers, 0, row->path, &c->options, room,
					   &row->source);
	}
	identity_restore_files(&before);
}

static void release_candidate(struct candidate *row)
{
	readers_release(&row->readers);
	free(steal(row->path));
}

static void take_candidate(void *ctx, size_t number)
{
	struct collection *c = ctx;
	struct candidate *row = &c->rows[number];
	struct source_text *source = &row->source;

	/* Other files were read meanwhile. */
	if (row->outcome == SOURCE_TAKEN && source->size > c->options.total_bytes - c->bytes) {
		free(steal(source->text));
		row->outcome = SOURCE_NO_ROOM;
	}
	if (row->outcome == SOURCE_OUTCOME_COUNT) {
		release_candidate(row);
		return;
	}
	c->stats->files[row->outcome]++;
	if (row->outcome != SOURCE_TAKEN) {
		log_debug("source %s: %s", row->path, source_outcome_text(row->outcome));
		release_candidate(row);
		return;
	}
	__atomic_store_n(&c->bytes, c->bytes + source->size, __ATOMIC_RELAXED);
	c->stats->bytes = c->bytes;
	if (source->modified_ns > row->built_ns) {
		log_debug("source %s: changed after the binary was built", row->path);
		c->stats->newer++;
	}
	source_files_set_text(&c->profile->source_files, row->file, steal(source->text),
			      source->size);
	release_candidate(row);
}

static void abandon_candidate(void *ctx, size_t number)
{
	const struct collection *c = ctx;

	log_debug("source %s: %s", c->rows[number].path, source_outcome_text(SOURCE_SILENT));
	c->stats->files[SOURCE_SILENT]++;
}

static enum workers_wish report_progress(void *ctx, size_t done)
{
	struct collection *c = ctx;
	enum workers_wish wish = c->options.progress(c->options.ctx, done, c->count);

	if (wish != WORKERS_GO_ON)
		__atomic_store_n(&c->is_stopped, true, __ATOMIC_RELAXED);
	return wish;
}

/* Keeps candidates with frames but without a text. */
static void select_candidates(struct collection *c)
{
	const struct profile *p = c->profile;

	for (size_t i = 0; i < p->source_files.rows.count; i++) {
		struct candidate row = c->rows[i];
		const struct source_file *file = &p->source_files.rows.items[row.file];

		if (!row.frames || file->text) {
			release_candidate(&row);
			continue;
		}
		row.path = xstrdup(strings_get(&p->strings, file->path));
		c->rows[c->count++] = row;
	}
}

void sources_collect(struct profile *p, const struct sources_options *options,
		     struct sources_stats *stats)
{
	struct collection *c = xcalloc(1, sizeof(*c));
	struct worker_jobs jobs = {
		.stall_ns = options->stall_ns,
		.run = read_candidate,
		.take = take_candidate,
		.abandon = abandon_candidate,
		.progress = options->progress ? report_progress : NULL,
		.ctx = c,
	};

	*c = (struct collection){.profile = p, .options = *options, .stats = stats};
	c->rows = find_candidates(p, options);
	select_candidates(c);
	jobs.count = c->count;
	/* More threads would read files for which there is no room. */
	if (workers_run(&jobs, 1)) {
		free(c->rows);
		free(c);
	}
}

void sources_describe(const struct sources_stats *stats, struct strbuf *out)
{
	const char *separator = "; left out: ";
	char size[32];

	text_format_bytes(size, sizeof(size), stats->bytes);
	strbuf_addf(out, "%u %s (%s)", stats->files[SOURCE_TAKEN],
		    stats->files[SOURCE_TAKEN] == 1 ? "file" : "files", size);
	if (stats->newer)
		strbuf_addf(out, ", %u newer than the binary", stats->newer);
	for (size_t i = SOURCE_TAKEN + 1; i < SOURCE_OUTCOME_COUNT; i++) {
		if (!stats->files[i])
			continue;
		strbuf_addf(out, "%s%u %s", separator, stats->files[i], source_outcome_text(i));
		separator = ", ";
	}
}

void sources_add_extra(struct profile *p, const struct sources_stats *stats)
{
	profile_add_count(p, FACT_SOURCE_FILES, NULL, stats->files[SOURCE_TAKEN]);
	profile_add_count(p, FACT_SOURCE_BYTES, NULL, stats->bytes);
	profile_add_count(p, FACT_SOURCES_NEWER, NULL, stats->newer);
	for (size_t i = SOURCE_TAKEN + 1; i < SOURCE_OUTCOME_COUNT; i++) {
		if (stats->files[i])
			profile_add_count(p, FACT_SOURCES_LEFT_OUT, source_outcome_text(i),
					  stats->files[i]);
	}
}
