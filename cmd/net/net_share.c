/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <time.h>

#include "cmd/command.h"
#include "cmd/elevate/privileges.h"
#include "cmd/net/engine_client.h"
#include "cmd/net/store_answer.h"
#include "cmd/options/output_options.h"
#include "cmd/run/profile_file.h"
#include "lib/base/open_file.h"
#include "lib/fleet/server/client.h"
#include "lib/format/format.h"
#include "lib/query/copy_rows.h"

/* Profiles shared by the user, with the tokens to delete them: one file of mode 0600 each. */

struct shared_row {
	char *token; /* name of the profile in the store; all strings are owned */
	char *store, *url, *right, *name, *time;
};

struct shared_list {
	VEC(struct shared_row) rows; /* oldest first */
};

#define FILE_MAX ((size_t)64 << 10)
#define LINE_COUNT 5

static void shared_row_release(struct shared_row *row)
{
	free(row->token);
	free(row->store);
	free(row->url);
	free(row->right);
	free(row->name);
	free(row->time);
	*row = (struct shared_row){0};
}

static void shared_list_release(struct shared_list *l)
{
	vec_for_each(&l->rows, struct shared_row *, row)
		shared_row_release(row);
	vec_release(&l->rows);
}

/* Returns the folder, creating it if `make` is set; NULL without a home. */
static char *folder_path(bool make)
{
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
	char *path;

	if (state && *state == '/')
		path = xasprintf("%s/prof/shared", state);
	else if (home && *home == '/')
		path = xasprintf("%s/.local/state/prof/shared", home);
	else
		return NULL;
	for (char *slash = path + 1; make && (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		mkdir(path, 0700);
		*slash = '/';
	}
	if (make)
		mkdir(path, 0700);
	return path;
}

/* Creates the folder. Fails if nothing can be stored in it. */
static int shared_list_prepare(struct error *err)
{
	_cleanup_free_ char *folder = folder_path(true);

	if (!folder)
		return error_text(err, -ENOENT,
				  "cannot store the deletion token without a home folder");
	if (access(folder, W_OK | X_OK))
		return error_set(err, -errno, "cannot store the deletion token in %s", folder);
	return 0;
}

/* Stores the row; the token is a valid name. */
static int shared_list_add(const struct shared_row *row, struct error *err)
{
	_cleanup_free_ char *folder = folder_path(true);
	_cleanup_free_ char *path = folder ? xasprintf("%s/%s", folder, row->token) : NULL;
	_cleanup_free_ char *text = xasprintf("%s\n%s\n%s\n%s\n%s\n", row->time, row->store,
					      row->url, row->name, row->right);
	_cleanup_close_ int fd = -1;
	ssize_t size = (ssize_t)strlen(text);

	if (!path)
		return error_text(err, -ENOENT, "no home folder");
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0 || fchmod(fd, 0600) || write(fd, text, (size_t)size) != size)
		return error_set(err, -errno, "cannot write %s", path);
	return 0;
}

static void read_row(struct shared_list *l, const char *folder, const char *token)
{
	_cleanup_free_ char *path = xasprintf("%s/%s", folder, token);
	_cleanup_free_ char *text = text_read_file(path, FILE_MAX, NULL);
	char *rest = text, *lines[LINE_COUNT];

	for (size_t i = 0; i < LINE_COUNT; i++) {
		lines[i] = strsep(&rest, "\n");
		if (!lines[i])
			return;
	}
	vec_push(&l->rows, (struct shared_row){
				   .token = xstrdup(token),
				   .time = xstrdup(lines[0]),
				   .store = xstrdup(lines[1]),
				   .url = xstrdup(lines[2]),
				   .name = xstrdup(lines[3]),
				   .right = xstrdup(lines[4]),
			   });
}

ORDER(compare_rows, struct shared_row, strcmp(a->time, b->time))

/* Reads all rows; a missing list is empty. */
static void shared_list_read(struct shared_list *l)
{
	_cleanup_free_ char *path = folder_path(false);
	_cleanup_closedir_ DIR *folder = path ? opendir(path) : NULL;
	const struct dirent *entry;

	while (folder && (entry = readdir(folder))) {
		if (store_token_is_valid(entry->d_name))
			read_row(l, path, entry->d_name);
	}
	vec_sort(&l->rows, compare_rows);
}

static int shared_list_remove(const char *token, struct error *err)
{
	_cleanup_free_ char *folder = folder_path(false);
	_cleanup_free_ char *path = folder ? xasprintf("%s/%s", folder, token) : NULL;

	if (!path || unlink(path))
		return error_set(err, path ? -errno : -ENOENT, "cannot remove %s",
				 path ? path : token);
	return 0;
}

/*
 * prof share: uploads a profile to the front-end's store, where anyone with the address can read
 * it.
 */

#define STORE "https://api.profiler.firefox.com"
#define FRONT_END "https://profiler.firefox.com"
#define ACCEPT "Accept: application/vnd.firefox-profiler+json;version=1.0"
#define STATUS_TOO_LARGE 413

static const char name[] = "share";

struct share {
	const char *path, *deleted; /* file to share; name or address of a profile to delete */
	const char *store, *front_end;
	struct sanitize_settings sanitize;
	bool full, yes, lists;
	struct profile *profile; /* owned */
	char *body; /* compressed profile; owned */
	size_t size;
};

#define AT(member) OPTION_AT(share, member)

static const struct option_row rows[] = {
	{0, "sanitize", "[=LIST]", "leave out LIST, with the same default as in prof convert",
	 OPTION_CALL, AT(sanitize), .set = sanitize_set},
	{0, "sanitize-key", "FILE", "key of hashed names", OPTION_TEXT, AT(sanitize.key_path)},
	{0, "full", NULL, "leave nothing out", OPTION_FLAG, AT(full)},
	{0, "yes", NULL, "do not ask for confirmation", OPTION_FLAG, AT(yes)},
	{0, "list", NULL, "list the profiles shared from here and not deleted", OPTION_FLAG,
	 AT(lists)},
	{0, "delete", "URL", "delete the profile with this address, or last part of an address",
	 OPTION_TEXT, AT(deleted)},
	{0, "frontend", "URL", "address of the front-end that shows the profile", OPTION_TEXT,
	 AT(front_end)},
	{0},
};

static const struct option_rule rules[] = {
	{"full", "sanitize", NULL, "--full: removes nothing, so @"},
	{0},
};

void share_options(struct option_table *t, void *s)
{
	t->usage =
		"Usage: prof share [OPTION]... FILE\n"
		"       prof share --list | --delete URL\n"
		"Sanitize a profile, show the remaining findings, ask for confirmation, and send it\n"
		"to the Firefox Profiler's store, where everybody who knows its address can see it.\n"
		"\n";
	t->take = command_take_file;
	t->file = &((struct share *)s)->path;
	option_table_add(t, rows, s);
	option_table_add_rules(t, rules);
	option_table_add(t, option_help, NULL);
	t->after =
		"\n"
		"PROF_STORE is the address of a different store, which needs --frontend.\n"
		"Exit status: 0, 125 if a file, the user or the store prevents it, 2 for a usage error.\n";
}

static int check(struct share *s, struct error *err)
{
	if ((s->path != NULL) + (s->deleted != NULL) + s->lists != 1)
		return error_text(err, -EINVAL, "FILE, --list or --delete is required");
	if (!s->full && !s->sanitize.is_asked)
		sanitize_options_default(&s->sanitize);
	s->store = getenv("PROF_STORE");
	if (!s->store || !*s->store)
		s->store = STORE;
	if (!s->front_end)
		s->front_end = FRONT_END;
	return 0;
}

static int load(struct share *s, struct error *err)
{
	struct query_filter filter = QUERY_FILTER_ALL;
	struct narrow_counts counts;
	struct profile_file file;
	int ret = profile_file_load(&file, s->path, NULL, err);

	if (ret)
		return ret;
	filter.all_events = filter.include_idle = true;
	ret = narrow(&s->profile, (const struct profile *const[]){file.profile}, 1, &filter,
		     &counts, err);
	profile_file_release(&file);
	if (ret)
		s->profile = NULL;
	return ret;
}

/* Writes the compressed profile into memory. */
static int write_body(struct share *s, struct error *err)
{
	const struct export_options how = {.all_threads = true};
	uint64_t size;
	_cleanup_close_ int fd = written_file(&format_firefox, s->profile, &how, NULL, true, &size,
					      err);

	s->size = size;
	return fd < 0 ? fd : memory_file_read(fd, "the profile", size, &s->body, err);
}

static void show(const struct share *s)
{
	const struct profile *p = s->profile;
	size_t texts = 0, processes = profile_process_count(p);
	uint64_t samples = profile_sample_count(p);
	char size[32];

	vec_for_each(&p->source_files.rows, const struct source_file *, file)
		texts += file->text != NULL;
	text_format_bytes(size, sizeof(size), s->size);
	command_say_as(
		name, "%s: %" PRIu64 " %s of %zu %s, %zu %s, %zu %s, %zu %s, command line: %s; %s",
		p->meta.product ? p->meta.product : "profile", samples,
		text_counted(samples, "sample", "samples"), processes,
		text_counted(processes, "process", "processes"), p->funcs.rows.count,
		text_counted(p->funcs.rows.count, "function", "functions"),
		p->source_files.rows.count,
		text_counted(p->source_files.rows.count, "source file name", "source file names"),
		texts, text_counted(texts, "source text", "source texts"),
		p->meta.command_line ? p->meta.command_line : "none", size);
}

static int confirm(const struct share *s, struct error *err)
{
	char answer[8] = "";

	if (s->yes)
		return 0;
	if (!isatty(STDIN_FILENO))
		return error_text(err, -EPERM,
				  "cannot ask for confirmation without a terminal: use --yes");
	fprintf(stderr, "Send it to %s, visible to everybody who knows its address? [y/N] ",
		s->store);
	if (fgets(answer, sizeof(answer), stdin) && (*answer == 'y' || *answer == 'Y'))
		return 0;
	return error_text(err, -ECANCELED, "nothing was sent");
}

static int keep(const struct share *s, const char *token, const struct strbuf *answer,
		const char *url, struct error *err)
{
	_cleanup_free_ char *right = xstrndup(strbuf_text(answer),
					      strcspn(strbuf_text(answer), "\r\n"));
	_cleanup_free_ char *file = xstrdup(s->path);
	char date[32] = "";
	time_t now = time(NULL);
	struct tm tm;
	const struct shared_row row = {
		.token = (char *)token,
		.store = (char *)s->store,
		.url = (char *)url,
		.right = right,
		.name = file,
		.time = date,
	};

	text_to_line(file);
	strftime(date, sizeof(date), "%Y-%m-%d %H:%M:%S", localtime_r(&now, &tm));
	return shared_list_add(&row, err);
}

static int refuse(int status, const struct strbuf *answer, struct error *err)
{
	if (status == STATUS_TOO_LARGE)
		return error_text(
			err, -EFBIG,
			"the store does not accept a profile of this size: make it smaller with "
			"prof convert --time or --only-thread");
	return error_text(err, -EIO, "the store rejected the request: status %d %.200s", status,
			  strbuf_text(answer));
}

static int send_profile(const struct share *s, struct error *err)
{
	static const char *const headers[] = {ACCEPT, "Content-Type: application/octet-stream",
					      "Expect:", NULL};
	_cleanup_free_ char *to = xasprintf("%s/compressed-store", s->store);
	_cleanup_free_ char *url = NULL;
	_cleanup_(strbuf_release) struct strbuf answer = {0};
	const struct client_request request = {
		.method = "POST", .url = to, .headers = headers, .body = s->body, .size = s->size};
	char token[STORE_TOKEN_MAX + 1];
	int status = client_send(&request, &answer, err);

	if (status < 0)
		return status;
	if (status < 200 || status > 299)
		return refuse(status, &answer, err);
	if (!store_answer_read(strbuf_text(&answer), answer.size, token))
		return error_text(err, -EBADMSG, "the store's answer does not name the profile");
	url = xasprintf("%s/public/%s", s->front_end, token);
	printf("%s\n", url);
	fflush(stdout);
	return keep(s, token, &answer, url, err);
}

static int share_file(struct share *s, struct error *err)
{
	int ret = load(s, err);

	s->sanitize.checks = !s->full;
	if (!ret && !s->full)
		ret = sanitizing_run(&s->profile, &s->sanitize, name, err);
	if (!ret)
		ret = write_body(s, err);
	if (ret)
		return ret;
	show(s);
	/* Publish nothing that could not be deleted again. */
	return shared_list_prepare(err) ?: confirm(s, err) ?: send_profile(s, err);
}

static int list(void)
{
	struct shared_list l = {0};

	shared_list_read(&l);
	vec_for_each(&l.rows, const struct shared_row *, row)
		printf("%s  %s  %s\n", row->time, row->url, row->name);
	shared_list_release(&l);
	return 0;
}

static int delete_row(const struct shared_row *row, struct error *err)
{
	_cleanup_free_ char *to = xasprintf("%s/profile/%s", row->store, row->token);
	_cleanup_free_ char *right = xasprintf("Authorization: Bearer %s", row->right);
	const char *const headers[] = {ACCEPT, "Content-Type: application/json", right, NULL};
	_cleanup_(strbuf_release) struct strbuf answer = {0};
	const struct client_request request = {.method = "DELETE", .url = to, .headers = headers};
	int status = client_send(&request, &answer, err);

	if (status < 0)
		return status;
	/* It may have been deleted by other means. */
	if ((status < 200 || status > 299) && status != 404)
		return refuse(status, &answer, err);
	command_say_as(name, "deleted %s", row->url);
	return shared_list_remove(row->token, err);
}

static int delete_shared(const struct share *s, struct error *err)
{
	const char *slash = strrchr(s->deleted, '/');
	const char *token = slash ? slash + 1 : s->deleted;
	struct shared_list l = {0};
	int ret = error_text(err, -ENOENT, "%s was not shared from this machine: see --list",
			     s->deleted);

	shared_list_read(&l);
	vec_for_each(&l.rows, const struct shared_row *, row) {
		if (strcmp(row->token, token) == 0)
			ret = delete_row(row, err);
	}
	shared_list_release(&l);
	return ret;
}

int share_run(int argc, char **argv)
{
	struct share s = {0};
	struct error err = {0};
	int ret = command_parse(argc, argv, share_options, &s, &err), status = 0;

	if (!ret)
		ret = check(&s, &err);
	if (ret)
		return command_fail_usage(name, &err);
	ret = drop_privileges(&err) ?: drop_new_privileges(&err);
	if (!ret)
		ret = s.lists ? list() : s.deleted ? delete_shared(&s, &err) : share_file(&s, &err);
	if (ret)
		status = command_fail(name, EXIT_REFUSED, &err);
	if (s.profile)
		profile_free(s.profile);
	free(s.body);
	return status;
}
