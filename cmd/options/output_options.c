/* SPDX-License-Identifier: MIT */
#include "cmd/options/output_options.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/cleanup.h"
#include "lib/base/identity.h"
#include "lib/base/log.h"
#include "lib/base/option_value.h"
#include "lib/base/text.h"

static const char help_before_formats[] =
	"  -o, --output FILE      default profile.json.gz; plain if it ends in .json; - is stdout\n"
	"  --format NAME          what to write: ";
static const char help_after_formats[] =
	";\n"
	"                         else what the name of FILE says\n"
	"  --report               print the ten heaviest functions at the end; a profile is kept\n"
	"                         only with --output or --format\n"
	"  --stats FILE           write what was recorded and lost as JSON\n"
	"  --raw FILE             write a capture only, for prof convert; names are found then\n"
	"  --no-spool             keep nothing on the disk meanwhile: a killed prof leaves nothing\n"
	"  --spool-dir DIR        where to keep it; default: beside the output\n"
	"  --keep-capture         keep it after a success, too\n"
	"  --sync                 flush it to the disk once a second\n"
	"  --epoch S              let parts of it be read by themselves, one from each S seconds\n"
	"  --debug-dir DIR        look there for .build-id/xx/yyy.debug; may be repeated\n"
	"  --no-symbols           leave addresses without names\n"
	"  --all-threads          give each thread its row, however many there are\n"
	"  --sources              put the text of source files into the profile\n"
	"  --fail-on-loss         exit with 125 where anything was lost; the profile is kept\n"
	"  -v, --verbose          say more; twice: everything\n"
	"  -q, --quiet            no summary and no progress\n";

void output_options_help(struct strbuf *out)
{
	strbuf_adds(out, help_before_formats);
	format_list(out);
	strbuf_adds(out, help_after_formats);
}

void output_options_init(struct output_options *o)
{
	*o = (struct output_options){.path = "profile.json.gz"};
}

void output_options_release(struct output_options *o)
{
	vec_release(&o->debug_dirs);
}

/* Sets a file name given by the user; "" is refused. */
static int set_name(const char *option, const char *value, const char **name, struct error *err)
{
	if (!*value)
		return error_text(err, -EINVAL, "%s: the name must not be empty", option);
	*name = value;
	return 0;
}

int output_options_set_format(struct output_options *o, const char *option, const char *value,
			      struct error *err)
{
	_cleanup_(strbuf_release) struct strbuf known = {0};

	o->format = format_find(value);
	if (o->format)
		return 0;
	format_list(&known);
	return error_text(err, -EINVAL, "%s %s: no such format; known are: %s", option, value,
			  strbuf_text(&known));
}

int output_options_set(struct output_options *o, int opt, const char *value, struct error *err)
{
	const char *name = NULL;
	int ret = 0;

	switch (opt) {
	case 'o':
		o->path_is_set = true;
		return set_name("--output", value, &o->path, err);
	case OPT_FORMAT:
		return output_options_set_format(o, "--format", value, err);
	case OPT_STATS:
		return set_name("--stats", value, &o->stats_path, err);
	case OPT_RAW:
		return set_name("--raw", value, &o->raw_path, err);
	case OPT_SPOOL_DIR:
		return set_name("--spool-dir", value, &o->spool_dir, err);
	case OPT_NO_SPOOL:
		o->no_spool = true;
		return 0;
	case OPT_KEEP_CAPTURE:
		o->keep_capture = true;
		return 0;
	case OPT_SYNC:
		o->sync = true;
		return 0;
	case OPT_EPOCH:
		return option_parse_time("--epoch", value, 1e9, &o->epoch_ns, err);
	case OPT_DEBUG_DIR:
		ret = set_name("--debug-dir", value, &name, err);
		if (!ret)
			vec_push(&o->debug_dirs, name);
		return ret;
	case OPT_NO_SYMBOLS:
		o->no_symbols = true;
		return 0;
	case OPT_ALL_THREADS:
		o->all_threads = true;
		return 0;
	case OPT_SOURCES:
		o->sources = true;
		return 0;
	case OPT_FAIL_ON_LOSS:
		o->fail_on_loss = true;
		return 0;
	case OPT_REPORT:
		o->report = true;
		return 0;
	case 'v':
		o->verbose++;
		return 0;
	case 'q':
		o->quiet = true;
		return 0;
	default:
		return -ENOENT;
	}
}

void output_options_end_dirs(struct output_options *o)
{
	vec_push(&o->debug_dirs, NULL);
	o->debug_dirs.count--;
}

static int check_capture(struct output_options *o, struct error *err)
{
	if (o->raw_path && strcmp(o->raw_path, "-") == 0)
		return error_text(err, -EINVAL, "--raw -: must be a file");
	if (o->raw_path && (o->stats_path || o->fail_on_loss))
		return error_text(
			err, -EINVAL,
			"--raw: not with --stats or --fail-on-loss, which need a profile");
	if (o->raw_path && (o->path_is_set || o->format || o->report))
		return error_text(err, -EINVAL,
				  "--raw: writes no profile, so not with --output, --format or "
				  "--report; convert it later");
	if (o->no_spool && (o->raw_path || o->spool_dir || o->keep_capture || o->sync))
		return error_text(err, -EINVAL,
				  "--no-spool: not with --raw, --spool-dir, --keep-capture or "
				  "--sync, which need one");
	if (o->raw_path && o->spool_dir)
		return error_text(err, -EINVAL, "--raw: has a place of its own, so no --spool-dir");
	o->no_file |= o->raw_path != NULL;
	return 0;
}

int output_options_check(struct output_options *o, struct error *err)
{
	int ret = check_capture(o, err);

	if (ret)
		return ret;
	o->no_file |= o->report && !o->path_is_set && !o->format;
	if (!o->format)
		o->format = format_of_path(o->path);
	if (!o->format)
		o->format = FORMAT_DEFAULT;
	if (o->stats_path && strcmp(o->stats_path, "-") == 0)
		return error_text(err, -EINVAL, "--stats -: must be a file");
	if (o->stats_path && !o->no_file && strcmp(o->stats_path, o->path) == 0)
		return error_text(err, -EINVAL, "--stats and --output name the same file: %s",
				  o->path);
	if (o->sources && o->no_symbols)
		return error_text(err, -EINVAL, "--sources: needs what --no-symbols leaves out");
	output_options_end_dirs(o);
	return 0;
}

bool output_is_stdout(const struct output_options *o)
{
	return strcmp(o->path, "-") == 0;
}

void output_check_debug_dirs(const struct output_options *o, const struct identity *owner)
{
	struct identity before;

	if (!o->debug_dirs.count)
		return;
	before = identity_assume_files(owner);
	for (size_t i = 0; !before.failure && i < o->debug_dirs.count; i++) {
		int fd = open(o->debug_dirs.items[i], O_PATH | O_DIRECTORY | O_CLOEXEC);

		if (fd < 0)
			log_warn("--debug-dir %s: %s", o->debug_dirs.items[i], strerror(errno));
		else
			close(fd);
	}
	identity_restore_files(&before);
}

static int check_stdout(struct error *err)
{
	int flags = fcntl(STDOUT_FILENO, F_GETFL);

	if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY)
		error_text(err, -EBADF, "--output -: standard output is closed");
	else if (isatty(STDOUT_FILENO))
		error_text(err, -EINVAL, "--output -: standard output is a terminal");
	else
		return 0;
	error_hint(err, "redirect it to a file or a pipe");
	return -EINVAL;
}

int output_open(const struct output_options *o, const struct identity *owner, struct outfile **out,
		struct error *err)
{
	struct outfile_options options = {
		.path = o->path,
		.fd = -1,
		.gzip = format_is_compressed(o->format, o->path),
		.owner = *owner,
	};

	*out = NULL;
	if (o->no_file)
		return 0;
	if (output_is_stdout(o)) {
		if (check_stdout(err))
			return -EINVAL;
		options.path = "standard output";
		options.fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
		if (options.fd < 0)
			return error_set(err, -errno, "standard output");
	}
	return outfile_open(out, &options, err);
}
