/* SPDX-License-Identifier: MIT */
#include "cmd/text/record_summary.h"

#include <dirent.h>
#include <linux/openat2.h>
#include <sys/syscall.h>

#include "lib/base/identity.h"
#include "lib/base/open_file.h"
#include "lib/code/binary/binary.h"
#include "lib/model/meaning/origin.h"
#include "lib/model/meaning/titles.h"
#include "lib/model/meaning/thread_times.h"
#include "lib/model/tables/modules.h"
#include "lib/model/tables/profile.h"
#include "lib/recording/meta.h"

#define SMALL_FILE_MAX 65536
#define LIST_MAX ((size_t)16 << 20)
/*
 * Time limit for reading the package lists: ten times as long as usual with some thousand packages.
 */
#define SEARCH_NS 500000000ull
/* Bytes of a list to read at once. */
#define PART_BYTES ((size_t)64 << 10)

/* Folders that link into /usr on systems with a merged /usr. */
static const char *const merged[] = {"/bin/", "/sbin/", "/lib/", "/lib32/", "/lib64/", "/libx32/"};

static bool is_merged_folder(const char *path)
{
	return array_find(merged, it, text_starts_with(path, *it));
}

bool debug_package_may_have(const char *path)
{
	if (text_starts_with(path, "/usr/"))
		return !text_starts_with(path, "/usr/local/");
	return is_merged_folder(path);
}

/* Opens a file below a root, which may be a container's: no link leads out of it. */
static int open_place(const char *root, const char *path, int flags)
{
	_cleanup_close_ int folder = open(*root ? root : "/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct open_how how = {
		.flags = (uint64_t)flags | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};

	return folder < 0 ? -1 : (int)syscall(SYS_openat2, folder, path, &how, sizeof(how));
}

static DIR *open_folder(const char *root, const char *path)
{
	int fd = open_place(root, path, O_RDONLY | O_DIRECTORY);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (fd >= 0 && !dir)
		close(fd);
	return dir;
}

static char *read_text(const char *root, const char *path, size_t max)
{
	_cleanup_close_ int place = open_place(root, path, O_PATH);
	_cleanup_close_ int fd = place < 0 ? -1 : open_regular_place(place);

	return fd < 0 ? NULL : text_read_fd(fd, max, NULL);
}

/* A search for a file in the lists of packages. */
struct search {
	/* Paths between newlines: under / and under /usr; may be NULL. */
	const char *lines[2];
	const char *stem; /* stem of the file name: packages with this prefix come first */
	size_t stem_size;
	uint64_t end; /* deadline, monotonic ns */
	char part[PART_BYTES + 1];
};

static bool has_lines(const struct search *s, size_t size)
{
	return items_find(s->lines, 2, it, *it && memmem(s->part, size, *it, strlen(*it)));
}

/* True if the package's list contains the file. */
static bool lists(struct search *s, int folder, const char *list)
{
	_cleanup_close_ int fd = openat(folder, list,
					O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW | O_NONBLOCK);
	size_t size = 1;
	ssize_t got;

	if (fd < 0)
		return false;
	s->part[0] = '\n';
	while ((got = read(fd, s->part + size, PART_BYTES - size)) > 0) {
		const char *rest;

		size += (size_t)got;
		if (has_lines(s, size))
			return true;
		if (clock_monotonic_ns() > s->end)
			return false;
		/* The last line continues in the next part; no line is as long as a part. */
		rest = memrchr(s->part, '\n', size);
		if (!rest || rest == s->part)
			break;
		size -= (size_t)(rest - s->part);
		memmove(s->part, rest, size);
	}
	s->part[size] = '\n';
	return has_lines(s, size + 1);
}

/*
 * Returns the first package that contains the file, among packages with a similar name or among the
 * others.
 */
static char *find_among(struct search *s, DIR *dir, bool like_file)
{
	const struct dirent *entry;

	rewinddir(dir);
	while ((entry = readdir(dir)) && clock_monotonic_ns() < s->end) {
		const char *name = entry->d_name;

		if (text_ends_with(name, ".list") &&
		    (strncasecmp(name, s->stem, s->stem_size) == 0) == like_file &&
		    lists(s, dirfd(dir), name))
			return xstrndup(name, strlen(name) - strlen(".list"));
	}
	return NULL;
}

/*
 * Returns the Debian package that contains the file, which the caller frees; NULL if it is not
 * found in time.
 */
static char *find_package(const char *root, const char *path)
{
	_cleanup_closedir_ DIR *dir = open_folder(root, "/var/lib/dpkg/info");
	_cleanup_free_ char *line = xasprintf("\n%s\n", path), *other = NULL;
	struct search s = {.stem = basename(path), .end = clock_monotonic_ns() + SEARCH_NS};

	if (!dir)
		return NULL;
	/* libdw.so.1 is in libdw1, python3.11 in python3.11-minimal. */
	s.stem_size = text_starts_with(s.stem, "lib") ? strcspn(s.stem, ".-") : strlen(s.stem);
	if (is_merged_folder(path))
		other = xasprintf("\n/usr%s\n", path);
	else if (is_merged_folder(path + strlen("/usr")))
		other = xasprintf("\n%s\n", path + strlen("/usr"));
	s.lines[0] = line;
	s.lines[1] = other;
	return find_among(&s, dir, true) ?: find_among(&s, dir, false);
}

/* True if apt has lists of debug packages: of Debian's debian-debug, or of Ubuntu's ddebs. */
static bool has_debug_archive(const char *root)
{
	_cleanup_closedir_ DIR *dir = open_folder(root, "/var/lib/apt/lists");
	const struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		if (strstr(entry->d_name, "-debug_") || text_starts_with(entry->d_name, "ddebs."))
			return true;
	}
	return false;
}

/*
 * Appends the package's name, "bash-dbgsym"; the C library's has an older suffix, and is in the
 * distribution's own archive.
 */
static void add_debian(struct strbuf *out, const char *root, const char *path)
{
	_cleanup_free_ char *package = find_package(root, path);

	if (!package) {
		strbuf_adds(out, "install the -dbgsym package that belongs to its package");
		return;
	}
	package[strcspn(package, ":")] = '\0';
	if (strcmp(package, "libc6") == 0)
		strbuf_adds(out, "install libc6-dbg");
	else
		strbuf_addf(
			out, "install %s-dbgsym%s", package,
			has_debug_archive(root)
				? ""
				: ", after adding the archive of debug packages to apt's sources");
}

/* True if ID or ID_LIKE in os-release contains the name. */
static bool is_like(const char *os_release, const char *name)
{
	for (const char *line = os_release; line; line = strchr(line, '\n')) {
		_cleanup_free_ char *words = NULL;
		char *rest, *word;

		line += *line == '\n';
		if (!text_starts_with(line, "ID=") && !text_starts_with(line, "ID_LIKE="))
			continue;
		rest = words = xstrndup(line, strcspn(line, "\n"));
		while ((word = strsep(&rest, "= \"'"))) {
			if (strcmp(word, name) == 0)
				return true;
		}
	}
	return false;
}

static void add_package(struct strbuf *out, const char *root, const char *path)
{
	_cleanup_free_ char *os_release = read_text(root, "/etc/os-release", SMALL_FILE_MAX);

	if (!os_release)
		return;
	if (is_like(os_release, "debian") || is_like(os_release, "ubuntu"))
		add_debian(out, root, path);
	else if (is_like(os_release, "fedora") || is_like(os_release, "rhel"))
		strbuf_addf(out, "run: sudo dnf debuginfo-install \"$(rpm -qf %s)\"", path);
	else if (is_like(os_release, "suse") || is_like(os_release, "opensuse"))
		strbuf_adds(out, "install the -debuginfo package that belongs to its package");
}

/* Returns a file that lists the distribution's servers, which the caller frees, or NULL. */
static char *find_servers(const char *root)
{
	_cleanup_closedir_ DIR *dir = open_folder(root, "/etc/debuginfod");
	const struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		if (text_ends_with(entry->d_name, ".urls"))
			return xasprintf("/etc/debuginfod/%s", entry->d_name);
	}
	return NULL;
}

char *debug_package_remedy(const char *root, const char *path, bool has_servers)
{
	_cleanup_free_ char *servers = has_servers ? NULL : find_servers(root);
	struct strbuf out = {0};

	add_package(&out, root, path);
	if (!has_servers) {
		strbuf_addf(&out, "%sset DEBUGINFOD_URLS to ", out.size ? ", or " : "");
		if (servers)
			strbuf_addf(&out, "the contents of %s", servers);
		else
			strbuf_addf(&out, "the debuginfod server of %s distribution",
				    *root ? "its" : "your");
	}
	return out.size ? strbuf_take(&out) : NULL;
}

/* Returns the name of the source package, usually that of the package. The caller frees. */
static char *find_source_package(const char *root, const char *package)
{
	_cleanup_free_ char *status = read_text(root, "/var/lib/dpkg/status", LIST_MAX);
	_cleanup_free_ char *wanted = xasprintf("Package: %s\n", package);
	const char *at = status;

	while (at && (at = strstr(at, wanted)) && at > status && at[-1] != '\n')
		at++;
	/* A paragraph ends with an empty line. */
	while (at && (at = strchr(at, '\n')) && *++at != '\n') {
		if (text_starts_with(at, "Source: "))
			return xstrndup(at + 8, strcspn(at + 8, " \n"));
	}
	return xstrdup(package);
}

char *debug_package_sources(const char *root, const char *path)
{
	_cleanup_free_ char *package = NULL, *source = NULL;

	if (!debug_package_may_have(path))
		return NULL;
	package = find_package(root, path);
	if (!package)
		return NULL;
	package[strcspn(package, ":")] = '\0';
	source = find_source_package(root, package);
	return xasprintf("sources of %s are not on this machine: apt source %s", package, source);
}

/* Advice on files of other systems: containers and changed roots. */

enum verdict { SAME_FILE, OTHER_FILE, NOT_KNOWN };

/* Compares the file at the module's path below a root with the recorded one. */
static enum verdict compare(const struct module *module, const char *root, const char *path)
{
	_cleanup_close_ int folder = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	_cleanup_close_ int fd = folder < 0 ? -1 : open_regular_named(folder, path);
	uint8_t build_id[BUILD_ID_MAX];
	struct binary *b = NULL;
	size_t size;

	if (fd == -ENOENT || fd == -ENOTDIR)
		return OTHER_FILE;
	if (fd < 0 || binary_open(&b, fd, NULL))
		return NOT_KNOWN;
	size = binary_build_id(b, build_id);
	binary_free(b);
	if (size == module->build_id_size && memcmp(build_id, module->build_id, size) == 0)
		return SAME_FILE;
	return OTHER_FILE;
}

/* Returns, by stack, whether it has a frame of the module; the caller frees it. */
static bool *find_stacks(const struct profile *p, module_id id)
{
	bool *has = xcalloc(p->stacks.rows.count, sizeof(*has));

	for (size_t i = 0; i < p->stacks.rows.count; i++) {
		const struct stack *stack = &p->stacks.rows.items[i];

		has[i] = p->frames.rows.items[stack->frame].module == id ||
			 (stack->parent != NO_STACK && has[stack->parent]);
	}
	return has;
}

static uint64_t weight_of(const struct profile_thread *thread, const bool *has)
{
	uint64_t weight = 0;

	samples_for_each(&thread->samples, sample) {
		if (!sample->event && sample->stack != NO_STACK && has[sample->stack])
			weight += sample->weight;
	}
	return weight;
}

/* Returns the thread with the most samples in the module; NULL if there is none. */
static const struct profile_thread *find_user(const struct profile *p, module_id id)
{
	_cleanup_free_ bool *has = find_stacks(p, id);
	const struct profile_thread *user = NULL;
	uint64_t most = 0;

	vec_for_each(&p->threads.rows, const struct profile_thread *, thread) {
		uint64_t weight = weight_of(thread, has);

		if (weight > most) {
			most = weight;
			user = thread;
		}
	}
	return user;
}

/* Returns "spin (pid 1 in 4b1a0d8704e5)"; the caller frees. */
static char *describe(const struct profile *p, const struct profile_thread *user)
{
	struct thread_titles titles;
	char *title;

	if (!user || user->process_name == NO_STRING)
		return xstrdup("a process");
	thread_titles_find(&titles, p);
	title = xstrdup(process_title(&titles, (thread_id)(user - p->threads.rows.items)));
	thread_titles_release(&titles);
	return title;
}

/* Returns the remedy in the root of the process if it is alive and the file is there; else NULL. */
static char *remedy_in_root(const struct module *module, const char *path, uint32_t pid,
			    bool has_servers)
{
	/* Reveal nothing of a container that the user could not read. */
	struct identity invoker = identity_of_invoker();
	struct identity before = identity_assume_files(&invoker);
	char *remedy = NULL, root[32];

	snprintf(root, sizeof(root), "/proc/%u/root", pid);
	if (!before.failure && compare(module, root, path) == SAME_FILE)
		remedy = debug_package_remedy(root, path, has_servers);
	identity_restore_files(&before);
	return remedy;
}

/*
 * Returns a remedy for a module whose build id differs from that of the file at its path on this
 * machine, which the caller frees; NULL if they are equal. has_servers: DEBUGINFOD_URLS is set.
 */
static char *foreign_file_remedy(const struct profile *p, module_id id, bool has_servers)
{
	const struct module *module = &p->modules.rows.items[id];
	const char *path = strings_get(&p->strings, module->path);
	_cleanup_free_ char *remedy = NULL, *process = NULL;
	const struct profile_thread *user;
	char *text;

	if (!module->build_id_size || compare(module, "/", path) != OTHER_FILE)
		return NULL;
	user = find_user(p, id);
	process = describe(p, user);
	remedy = user ? remedy_in_root(module, path, user->pid, has_servers) : NULL;
	if (remedy)
		text = xasprintf("it is in the container or root of %s, so there %s", process,
				 remedy);
	else
		text = xasprintf(
			"it is a file of %s that differs from the one of that name on this "
			"machine: %sname the folder of its debug files with --debug-dir",
			process,
			has_servers ? ""
				    : "set DEBUGINFOD_URLS to the debuginfod server "
				      "of its distribution, or ");
	text_to_line(text);
	return text;
}

/* Minimum samples that show where time was spent. */
#define FEW_SAMPLES 3
/* Waits of this many intervals are worth a profile even if nothing ran. */
#define MANY_WAITS 50
#define NAMELESS_PERMILLE_MIN 50

static bool has_many_waits(const struct profile *p)
{
	struct wait_sums sums = wait_sums_of(p);

	return sums.blocked + sums.idle + sums.runnable >= MANY_WAITS;
}

void advice_on_samples(const struct outcome *outcome, struct strbuf *out)
{
	static const char *const texts[] = {
		[RECORDING_OF_COMMAND] = "the command hardly ran on a CPU",
		[RECORDING_OF_PROCESSES] = "the attached processes hardly ran on a CPU",
		[RECORDING_OF_MACHINE] = "hardly anything ran on a CPU",
		[RECORDING_OF_FILTERS] = "the selected processes hardly ran on a CPU",
	};
	const struct profile_stats *stats = &outcome->recording->profile->stats;

	if (stats->cpu_samples > FEW_SAMPLES || losses_count(stats, true) > FEW_SAMPLES ||
	    has_many_waits(outcome->recording->profile))
		return;
	strbuf_addf(out, "%s: for more samples ", texts[outcome->recording->facts.subject]);
	if (outcome->recording->facts.info.interval_ns)
		strbuf_addf(out, "raise -F (%.4g Hz now), or ",
			    1e9 / (double)outcome->recording->facts.info.interval_ns);
	strbuf_adds(out, outcome->recording->facts.subject == RECORDING_OF_COMMAND
				 ? "attach to the process that does the work: prof attach -p PID"
				 : "record for longer");
}

static bool is_nameless(const struct profile *p, const struct frame *frame)
{
	if (frame->module == NO_MODULE || frame->kind == PROFILE_FRAME_KERNEL ||
	    module_is_kernel(&p->modules.rows.items[frame->module]))
		return false;
	return !profile_frame_is_named(p, frame);
}

/* Unnamed code that accounts for a stack's time. */
struct nameless {
	module_id module; /* NO_MODULE: no module */
	module_id maker; /* file that made the code; NO_MODULE: unknown, or code of a file */
};

/* True if the frame's time counts for its caller. */
static bool is_callers(const struct profile *p, const struct frame *frame)
{
	if (frame->kind == PROFILE_FRAME_KERNEL || frame->kind == PROFILE_FRAME_LABEL)
		return true;
	return frame->module != NO_MODULE &&
	       (module_is_kernel(&p->modules.rows.items[frame->module]) ||
		is_of_common_library(p, frame->module));
}

/*
 * Returns a row for each stack; the caller frees it. Unnamed files that only pass time through, as
 * libc does below main(), do not count.
 */
static struct nameless *find_nameless(const struct profile *p)
{
	struct nameless *found = xcalloc(p->stacks.rows.count, sizeof(*found));
	_cleanup_free_ module_id *makers = made_code_find_makers(p);

	for (size_t i = 0; i < p->stacks.rows.count; i++) {
		const struct stack *stack = &p->stacks.rows.items[i];
		const struct frame *frame = &p->frames.rows.items[stack->frame];

		found[i] = stack->parent == NO_STACK ? (struct nameless){NO_MODULE, NO_MODULE}
						     : found[stack->parent];
		if (is_nameless(p, frame))
			found[i] = (struct nameless){frame->module, makers[stack->frame]};
		else if (!is_callers(p, frame))
			found[i].module = NO_MODULE;
	}
	return found;
}

struct share {
	size_t row; /* a module, or the number of modules plus 1 + the maker of generated code */
	uint64_t samples, of;
};

static struct share find_worst(const struct profile *p, bool of_waits)
{
	size_t modules = p->modules.rows.count, rows = 2 * modules + 1;
	_cleanup_free_ struct nameless *nameless = find_nameless(p);
	_cleanup_free_ uint64_t *samples = xcalloc(rows, sizeof(*samples));
	struct share worst = {0};

	vec_for_each(&p->threads.rows, const struct profile_thread *, thread) {
		samples_for_each(&thread->samples, sample) {
			const struct nameless *code;

			if (sample->event || sample->stack == NO_STACK ||
			    profile_is_wait(p, sample) != of_waits)
				continue;
			worst.of += sample->weight;
			code = &nameless[sample->stack];
			if (code->module == NO_MODULE)
				continue;
			if (made_code_is(p, code->module))
				samples[modules + (module_id)(code->maker + 1)] += sample->weight;
			else
				samples[code->module] += sample->weight;
		}
	}
	for (size_t i = 0; i < rows; i++) {
		if (samples[i] > worst.samples) {
			worst.samples = samples[i];
			worst.row = i;
		}
	}
	return worst;
}

/* Returns a remedy, which the caller frees; NULL if there is none. */
static char *file_remedy(const struct profile *p, module_id id, const char *path)
{
	const struct module *module = &p->modules.rows.items[id];
	const char *urls = getenv("DEBUGINFOD_URLS");
	bool is_installed = debug_package_may_have(path);
	char *foreign;

	switch (module->reason) {
	case SYMBOLS_NO_DEBUG_FILE:
		foreign = is_installed ? foreign_file_remedy(p, id, urls && *urls) : NULL;
		if (foreign)
			return foreign;
		if (is_installed)
			return debug_package_remedy("", path, urls && *urls);
		if (module->has_symbols)
			return xstrdup(
				"it is not among the symbols: build the file with debug information");
		return xstrdup(
			"it is stripped: build it without stripping, or name the folder of its debug "
			"files with --debug-dir");
	case SYMBOLS_STRIPPED:
		return xstrdup("it is stripped and has no build id: build it without stripping");
	case SYMBOLS_UNASKED:
	case SYMBOLS_FOUND:
	case SYMBOLS_NO_LINES:
		return NULL;
	default:
		return xstrdup(symbol_reason_text(module->reason));
	}
}

void advice_on_names(const struct profile *p, struct strbuf *out)
{
	struct share worst = find_worst(p, false);
	bool of_waits = worst.of <= FEW_SAMPLES && has_many_waits(p);
	_cleanup_(strbuf_release) struct strbuf code = {0}, remedy = {0};
	uint64_t permille;

	if (of_waits)
		worst = find_worst(p, true);
	permille = worst.of ? worst.samples * 1000 / worst.of : 0;
	if (permille < NAMELESS_PERMILLE_MIN)
		return;
	if (worst.row < p->modules.rows.count) {
		const char *path = strings_get(&p->strings, p->modules.rows.items[worst.row].path);
		_cleanup_free_ char *text = file_remedy(p, (module_id)worst.row, path);

		strbuf_addf(&code, "code of %s", path);
		strbuf_adds(&remedy, text ? text : "");
	} else {
		module_id maker = (module_id)(worst.row - p->modules.rows.count - 1);

		made_code_describe(p, maker, &code);
		made_code_advise(p, maker, &remedy);
	}
	if (!remedy.size)
		return;
	strbuf_addf(out,
		    "%" PRIu64 ".%" PRIu64 " %% of the %s go through %s, which has no names: %s",
		    permille / 10, permille % 10, of_waits ? "waits" : "samples",
		    strbuf_text(&code), strbuf_text(&remedy));
}
