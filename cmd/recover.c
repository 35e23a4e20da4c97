/* SPDX-License-Identifier: MIT */
/* prof recover: makes profiles from recordings whose recorder was killed. */
#include <dirent.h>
#include <signal.h>
#include <sys/file.h>
#include <time.h>

#include "cmd/command.h"
#include "cmd/options/output_options.h"
#include "cmd/run/profile_file.h"
#include "cmd/run/kept_capture.h"
#include "lib/recording/recording.h"
#include "lib/recording/spool.h"

extern const struct command command_recover;

struct recover {
	struct output_options output;
	struct identity owner; /* the invoking user */
	VEC(const char *) places; /* folders and captures to search */
	const char *path; /* path given by --output; NULL: none */
	bool only_list;
	size_t found, failed;
};

/* A spool found in a folder. */
struct leftover {
	const char *path;
	int fd;
	struct stat st;
	struct recording recording;
	char *target; /* path of the profile */
};

#define AT(member) OPTION_AT(recover, member)
#define GIVEN(member) OPTION_GIVEN(recover, member)

static const struct option_row rows[] = {
	{0, "list", NULL, "only list what was found", OPTION_FLAG, AT(only_list)},
	{'o', "output", "FILE", "write the profile of one FILE there", OPTION_NAME, AT(output.path),
	 GIVEN(output.path_is_set)},
	{0, "debug-dir", "DIR", "look for .build-id/xx/yyy.debug there; may be repeated",
	 OPTION_CALL, AT(output), .set = output_add_debug_dir},
	{0, "no-symbols", NULL, "leave addresses unnamed", OPTION_FLAG, AT(output.no_symbols)},
	{0, "no-cache", NULL, "neither use nor keep what speeds up naming", OPTION_FLAG,
	 AT(output.no_cache)},
	{0, "sources", NULL, "include the text of source files", OPTION_FLAG, AT(output.sources),
	 .is_guarded = true},
	{'v', "verbose", NULL, "print more messages; twice: all", OPTION_COUNTED,
	 AT(output.verbose)},
	{'q', "quiet", NULL, "report only failures", OPTION_FLAG, AT(output.quiet)},
	{0},
};

static int take(void *ctx, const char *operand, struct error *err)
{
	struct recover *r = ctx;

	if (!*operand)
		return error_text(err, -EINVAL, "the folder name must not be empty");
	vec_push(&r->places, operand);
	return 0;
}

static void make_table(struct option_table *t, void *ctx)
{
	t->take = take;
	t->usage =
		"Usage: prof recover [OPTION]... [DIR|FILE]...\n"
		"Write the profiles of recordings whose recorder was killed, or could not write.\n"
		"\n"
		"While prof records, a hidden file next to the output (.NAME.XXXXXX.capture)\n"
		"holds the data recorded so far. recover looks for such files in DIR, by default\n"
		"here and in ~/.local/state/prof. Each becomes a profile next to it, with the\n"
		"name the recording would have used, and is then removed; a newer file is never\n"
		"replaced. A FILE with a different name stays.\n"
		"\n";
	option_table_add(t, rows, ctx);
	option_table_add_rules(t, output_rules);
	option_table_add(t, option_common, NULL);
	t->after = "\n"
		   "Exit status: 0, also if nothing was found; 125 if a file cannot be used; 2 for "
		   "wrong\n"
		   "use.\n";
}

static void describe(const struct leftover *l)
{
	const struct recording_facts *facts = &l->recording.facts;
	const struct profile_meta *meta = &l->recording.profile->meta;
	time_t start = (time_t)(meta->start_realtime_ns / 1000000000);
	struct tm when;
	char text[32] = "unknown time";

	if (localtime_r(&start, &when))
		strftime(text, sizeof(text), "%F %T", &when);
	command_say("%s: %s, from %s, %.1f s, %s", l->path, meta->product, text,
		    (double)(facts->info.end_ns - meta->start_ns) / 1e9,
		    l->recording.counts.is_complete ? "complete" : "cut");
}

/* Files are written to the end, so modification times show which is newer. */
static bool is_free(const struct leftover *l, const char *path)
{
	struct stat st;

	if (lstat(path, &st) != 0)
		return errno == ENOENT;
	return S_ISREG(st.st_mode) && (st.st_mtim.tv_sec < l->st.st_mtim.tv_sec ||
				       (st.st_mtim.tv_sec == l->st.st_mtim.tv_sec &&
					st.st_mtim.tv_nsec <= l->st.st_mtim.tv_nsec));
}

/*
 * True if the capture names a file in its own folder with its own name. Other names are not
 * trusted.
 */
static bool is_own_place(const char *beside, const char *wanted)
{
	const char *name = strrchr(beside, '/'), *other = strrchr(wanted, '/');
	_cleanup_free_ char *folder = name ? xstrndup(beside, (size_t)(name - beside) + 1)
					   : xstrdup(".");
	_cleanup_free_ char *place = xstrndup(wanted, (size_t)(other - wanted) + 1);
	struct stat here, there;

	return strcmp(name ? name + 1 : beside, other + 1) == 0 && stat(folder, &here) == 0 &&
	       stat(place, &there) == 0 && here.st_dev == there.st_dev &&
	       here.st_ino == there.st_ino;
}

static bool is_absent(const char *path)
{
	struct stat st;

	return lstat(path, &st) != 0 && errno == ENOENT;
}

/* Returns the profile's name: ".profile.json.gz.XXXXXX.capture" without the spool's additions. */
static char *name_beside(const char *path)
{
	const char *name = basename(path);
	size_t folder = (size_t)(name - path), size = strlen(name);
	const size_t added = strlen(".XXXXXX" SPOOL_SUFFIX);

	if (*name == '.' && size > added + 1 && text_ends_with(name, SPOOL_SUFFIX)) {
		name++;
		size -= added + 1;
	}
	return xasprintf("%.*s%.*s", (int)folder, path, (int)size, name);
}

/* Chooses the requested path, the recording's, or an unused name in the spool's folder. */
static char *choose_target(const struct recover *r, const struct leftover *l)
{
	const char *wanted = l->recording.facts.output;
	_cleanup_free_ char *beside = name_beside(l->path);
	const char *suffix = format_of_path(beside) ? "" : ".json.gz";

	if (r->path)
		return xstrdup(r->path);
	if (wanted && *wanted == '/' && is_own_place(beside, wanted) && is_free(l, wanted))
		return xstrdup(wanted);
	for (unsigned int n = 1; n < 1000; n++) {
		_cleanup_free_ char *number = n > 1 ? xasprintf("%u.", n) : NULL;
		const char *name = basename(beside);
		char *path = xasprintf("%.*srecovered.%s%s%s", (int)(name - beside), beside,
				       number ? number : "", name, suffix);

		if (is_absent(path))
			return path;
		free(path);
	}
	return NULL;
}

static bool is_spool(const char *name)
{
	return *name == '.' && text_ends_with(name, SPOOL_SUFFIX);
}

/* True for spools, the only files that prof may remove: requested captures and other files stay. */
static bool may_remove(const struct leftover *l)
{
	return is_spool(basename(l->path));
}

/* Arguments of an attempt to write the profile. */
struct recovery {
	struct recover *recover;
	struct leftover *leftover;
};

static int write_to(void *ctx, struct outfile *out, struct error *err)
{
	const struct recovery *w = ctx;
	const struct export_options options = {.cpus = w->leftover->recording.facts.per_cpu};

	return w->recover->output.format->write(w->leftover->recording.profile, &options, out, NULL,
						err);
}

static bool find_capture(void *ctx, struct stat *st)
{
	const struct leftover *l = ((const struct recovery *)ctx)->leftover;

	*st = l->st;
	return may_remove(l);
}

/* Removes the file, whose space is freed only when it is closed. */
static void remove_capture(void *ctx)
{
	struct leftover *l = ((const struct recovery *)ctx)->leftover;

	if (unlink(l->path) != 0)
		command_say("%s: %s", l->path, strerror(errno));
	else
		close(steal_fd(&l->fd));
}

static int write_profile(struct recover *r, struct leftover *l, struct error *err)
{
	struct recovery recovery = {.recover = r, .leftover = l};
	const struct full_disk disk = {
		.output = &r->output,
		.owner = &r->owner,
		.write = write_to,
		.find_capture = find_capture,
		.abandon = remove_capture,
		.ctx = &recovery,
	};
	struct outfile *out = NULL;
	int ret;

	l->target = choose_target(r, l);
	if (!l->target)
		return error_text(err, -EEXIST, "%s: no unused file name for the profile", l->path);
	r->output.path = l->target;
	r->output.format = format_of_path(l->target);
	if (!r->output.format)
		r->output.format = FORMAT_DEFAULT;
	ret = output_open(&r->output, &r->owner, &out, err) ?: full_disk_write(&disk, &out, err);
	if (!ret && !r->output.quiet)
		command_say_written(l->target, outfile_size(out), "");
	outfile_free(out);
	return ret ? error_wrap(err, "%s", l->path) : 0;
}

/* True if the recording is empty, so that removing it loses nothing. */
static bool is_nobody(const struct recording *f)
{
	return !f->profile->threads.rows.count && !f->counts.skipped_bytes;
}

/* Removes a spool without usable data. */
static int discard(struct recover *r, const struct leftover *l, struct error *err)
{
	command_say("%s: the recorder was killed before recording began", l->path);
	return r->only_list || unlink(l->path) == 0
		       ? 0
		       : error_set(err, -errno, "cannot remove %s", l->path);
}

/* Returns -ENODATA if there is no usable data. */
static int recover_opened(struct recover *r, struct leftover *l, struct error *err)
{
	int ret;

	if (!l->st.st_size && !may_remove(l))
		return error_text(err, -ENODATA, "%s: not a capture: the file is empty", l->path);
	if (!l->st.st_size)
		return discard(r, l, err);
	ret = profile_file_load_records(&l->recording, &source_capture, l->fd, l->path, &r->output,
					err);
	if (may_remove(l) && (ret == -ENODATA || (!ret && is_nobody(&l->recording))))
		return discard(r, l, err);
	if (ret)
		return ret;
	if (!r->output.quiet || r->only_list)
		describe(l);
	if (r->only_list)
		return 0;
	ret = write_profile(r, l, err);
	if (!ret && l->fd >= 0 && may_remove(l) && unlink(l->path) != 0)
		command_say("%s: %s", l->path, strerror(errno));
	return ret;
}

/*
 * Locks for writing: NFS grants exclusive locks only to writers, and the recorder's excludes any
 * other.
 */
static int lock(int fd)
{
	if (flock(fd, LOCK_EX | LOCK_NB) == 0 ||
	    (errno == EBADF && flock(fd, LOCK_SH | LOCK_NB) == 0))
		return 0;
	return -errno;
}

/* Recovers an open file unless its recorder is alive or has just removed it. */
static int recover_unless_locked(struct recover *r, struct leftover *l, struct error *err)
{
	int ret = lock(l->fd);

	if (ret == -EWOULDBLOCK) {
		command_say("%s: still being recorded", l->path);
		return 0;
	}
	if (ret)
		return error_set(err, ret, "cannot lock %s", l->path);
	if (fstat(l->fd, &l->st) != 0 || !l->st.st_nlink)
		return 0;
	return recover_opened(r, l, err);
}

/*
 * Distrusts names in a folder that others can write to: follows no links, and takes only the user's
 * own files.
 */
static void recover_file(struct recover *r, const char *path)
{
	struct leftover l = {.path = path};
	struct error err = {0};
	int ret = 0;

	r->found++;
	l.fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK);
	if (l.fd < 0 || fstat(l.fd, &l.st) != 0)
		ret = error_set(&err, -errno, "cannot read %s", path);
	else if (!S_ISREG(l.st.st_mode))
		ret = error_text(&err, -EINVAL, "%s: not a regular file", path);
	else if (l.st.st_uid != r->owner.uid)
		ret = error_text(&err, -EPERM, "%s: owned by user %u, who can recover it", path,
				 (unsigned int)l.st.st_uid);
	else
		ret = recover_unless_locked(r, &l, &err);
	if (ret) {
		r->failed++;
		command_fail(command_recover.name, EXIT_REFUSED, &err);
	}
	fd_close(l.fd);
	recording_release(&l.recording);
	free(l.target);
}

static void recover_folder(struct recover *r, const char *folder, DIR *dir)
{
	const struct dirent *entry;

	while ((entry = readdir(dir))) {
		_cleanup_free_ char *path = NULL;

		if (!is_spool(entry->d_name))
			continue;
		path = xasprintf("%s/%s", strcmp(folder, "/") ? folder : "", entry->d_name);
		recover_file(r, strncmp(path, "./", 2) ? path : path + 2);
	}
}

/* Recovers a path; a missing folder counts as empty unless `must_exist` is set. */
static void recover_path(struct recover *r, const char *path, bool must_exist)
{
	_cleanup_closedir_ DIR *dir = opendir(path);
	struct error err = {0};

	if (dir && r->path) {
		r->failed++;
		error_text(&err, -EISDIR, "--output: %s is a folder, not a capture", path);
		command_fail(command_recover.name, EXIT_REFUSED, &err);
	} else if (dir) {
		recover_folder(r, path, dir);
	} else if (errno == ENOTDIR) {
		recover_file(r, path);
	} else if (must_exist) {
		r->failed++;
		error_set(&err, -errno, "cannot read %s", path);
		command_fail(command_recover.name, EXIT_REFUSED, &err);
	}
}

static int recover_all(struct recover *r)
{
	struct identity before = identity_assume_files(&r->owner);
	/* Recordings made through sudo lack the user's environment. */
	const struct identity by_sudo = {.uid = r->owner.uid, .gid = r->owner.gid};
	_cleanup_free_ char *state = spool_state_folder(&r->owner);
	_cleanup_free_ char *other = spool_state_folder(&by_sudo);
	struct error err = {0};

	if (before.failure) {
		identity_restore_files(&before);
		error_set(&err, before.failure, "cannot read files as user %u", r->owner.uid);
		return command_fail(command_recover.name, EXIT_REFUSED, &err);
	}
	vec_for_each(&r->places, const char **, place)
		recover_path(r, *place, true);
	if (!r->places.count) {
		recover_path(r, ".", true);
		if (state)
			recover_path(r, state, false);
		if (other && (!state || strcmp(other, state) != 0))
			recover_path(r, other, false);
	}
	identity_restore_files(&before);
	if (!r->found && !r->failed && !r->output.quiet)
		command_say("no interrupted recording found");
	return r->failed ? EXIT_REFUSED : 0;
}

/* Returns -ECANCELED if --help was printed. */
static int parse(struct recover *r, int argc, char **argv, struct error *err)
{
	int ret = command_parse(argc, argv, make_table, r, err);

	if (ret)
		return ret;
	if (r->output.path_is_set)
		r->path = r->output.path;
	if (r->path && r->places.count != 1)
		return error_text(err, -EINVAL, "--output: needs exactly one capture");
	return output_options_check(&r->output, err);
}

static volatile sig_atomic_t finish_now;

static void hurry(int signal)
{
	finish_now = 1;
}

/* Lets the first signal end naming, and the next one the process. */
static void watch_signals(void)
{
	const struct sigaction action = {.sa_handler = hurry, .sa_flags = SA_RESETHAND};
	const int signals[] = {SIGINT, SIGTERM};
	struct sigaction before;
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++) {
		sigaddset(&set, signals[i]);
		if (sigaction(signals[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
			sigaction(signals[i], &action, NULL);
	}
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

static int run(int argc, char **argv)
{
	struct recover r = {.owner = identity_of_invoker()};
	struct error err = {0};
	int ret, status = 0;

	output_options_init(&r.output);
	ret = parse(&r, argc, argv, &err);
	/* Listing needs no names. */
	r.output.no_symbols |= r.only_list;
	r.output.finish_now = &finish_now;
	watch_signals();
	status = ret ? command_fail_usage(command_recover.name, &err) : recover_all(&r);
	vec_release(&r.places);
	output_options_release(&r.output);
	return status;
}

const struct command command_recover = {
	.name = "recover",
	.summary = "write the profile of a recorder that was killed",
	.options = make_table,
	.run = run,
};
