/* SPDX-License-Identifier: MIT */
#include "cmd/options/live_options.h"

#include <errno.h>
#include <limits.h>

#include "bpf/unwind.h"
#include "cmd/text/unwinding.h"
#include "lib/base/text.h"

/* Beyond these a number of nanoseconds is none that a timer could be set to. */
#define FREQUENCY_MIN_HZ 0.001
#define SECONDS_MAX 1e9
#define NS_PER_SECOND 1e9
#define RING_BYTES_MIN (64u << 10)
#define RING_BYTES_MAX (1ull << 30)
/* One shard and all of them: there are no others. */
#define UNWIND_BYTES_MIN UNWIND_SHARD_BYTES
#define UNWIND_BYTES_MAX ((uint64_t)UNWIND_SHARDS_MAX * UNWIND_SHARD_BYTES)

const char live_options_help[] =
	"  -F, --frequency HZ     samples per second and CPU (default 999)\n"
	"  -i, --interval MS      milliseconds between two samples, instead of -F\n"
	"  -e, --event LIST       also sample these events, or choose the clock: see the man page\n"
	"  -d, --duration S       stop recording after so many seconds\n"
	"  --per-cpu              also show what ran on each CPU, as rows of their own\n"
	"  --ring-size SIZE       of the buffer per CPU, with suffix K, M or G\n"
	"  --unwind METHOD        of user stacks: auto (default), cfi, fp or none\n"
	"  --unwind-memory SIZE   kernel memory that tables for it may take (default 512M)\n"
	"  --no-arguments         leave what programs are executed with out of the profile\n"
	"  --ready-fd N           write a line to descriptor N once recording has begun\n"
	"  --ready-file FILE      write that line to FILE\n";

const char command_options_help[] =
	"  --kill                 with -d: end the command, too, which goes on otherwise\n"
	"  --as-root              under sudo: run the command as root, not as the invoking user\n";

void live_options_init(struct live_options *o)
{
	*o = (struct live_options){.ready_fd = -1};
}

/* A decimal number above 0. */
static int parse_positive(const char *option, const char *value, double *number, struct error *err)
{
	if (!text_to_double(value, number))
		return error_text(err, -EINVAL, "%s %s: not a number", option, value);
	if (*number <= 0)
		return error_text(err, -EINVAL, "%s %s: must be greater than 0", option, value);
	return 0;
}

static int parse_frequency(const char *value, double *hz, struct error *err)
{
	int ret = parse_positive("--frequency", value, hz, err);

	if (!ret && *hz < FREQUENCY_MIN_HZ)
		ret = error_text(err, -EINVAL, "--frequency %s: must be at least %g", value,
				 FREQUENCY_MIN_HZ);
	return ret;
}

/* A time in units of `unit_ns`, at least one nanosecond. */
static int parse_time(const char *option, const char *value, double unit_ns, uint64_t *ns,
		      struct error *err)
{
	double number;
	int ret = parse_positive(option, value, &number, err);

	if (ret)
		return ret;
	if (number * unit_ns > SECONDS_MAX * NS_PER_SECOND)
		return error_text(err, -EINVAL, "%s %s: must be at most %.0f", option, value,
				  SECONDS_MAX * NS_PER_SECOND / unit_ns);
	*ns = (uint64_t)(number * unit_ns + 0.5);
	if (*ns == 0)
		*ns = 1;
	return 0;
}

struct size_range {
	uint64_t min, max;
	const char *text;
};

static int parse_size(const char *option, const char *value, const struct size_range *range,
		      uint64_t *size, struct error *err)
{
	if (!text_to_size(value, size))
		return error_text(err, -EINVAL, "%s %s: not a size such as 512K or 4M", option,
				  value);
	if (*size < range->min || *size > range->max)
		return error_text(err, -EINVAL, "%s %s: must be between %s", option, value,
				  range->text);
	return 0;
}

static int parse_unwind(const char *value, enum recorder_unwind *unwind, struct error *err)
{
	if (unwinding_parse(value, unwind))
		return error_text(err, -EINVAL, "--unwind %s: must be auto, cfi, fp or none",
				  value);
	return 0;
}

static int parse_fd(const char *value, int *fd, struct error *err)
{
	uint64_t number;

	if (!text_to_u64(value, 10, &number) || number > INT_MAX)
		return error_text(err, -EINVAL, "--ready-fd %s: not a descriptor", value);
	*fd = (int)number;
	return 0;
}

int live_options_set(struct live_options *o, int opt, const char *value, struct error *err)
{
	static const struct size_range ring = {RING_BYTES_MIN, RING_BYTES_MAX, "64K and 1G"};
	static const struct size_range unwind = {UNWIND_BYTES_MIN, UNWIND_BYTES_MAX, "4M and 4G"};

	switch (opt) {
	case 'F':
		return parse_frequency(value, &o->frequency_hz, err);
	case 'i':
		return parse_time("--interval", value, NS_PER_SECOND / 1000, &o->interval_ns, err);
	case 'e':
		return event_list_add(&o->events, value, err);
	case 'd':
		return parse_time("--duration", value, NS_PER_SECOND, &o->duration_ns, err);
	case OPT_PER_CPU:
		o->per_cpu = true;
		return 0;
	case OPT_RING_SIZE:
		return parse_size("--ring-size", value, &ring, &o->ring_bytes, err);
	case OPT_UNWIND:
		return parse_unwind(value, &o->unwind, err);
	case OPT_UNWIND_MEMORY:
		return parse_size("--unwind-memory", value, &unwind, &o->unwind_bytes, err);
	case OPT_READY_FD:
		return parse_fd(value, &o->ready_fd, err);
	case OPT_READY_FILE:
		if (!*value)
			return error_text(err, -EINVAL, "--ready-file: the name must not be empty");
		o->ready_path = value;
		return 0;
	case OPT_NO_ARGUMENTS:
		o->no_arguments = true;
		return 0;
	case OPT_KILL:
		o->kill = true;
		return 0;
	case OPT_AS_ROOT:
		o->as_root = true;
		return 0;
	default:
		return -ENOENT;
	}
}

int live_options_check(struct live_options *o, struct error *err)
{
	if (o->frequency_hz > 0 && o->interval_ns)
		return error_text(err, -EINVAL,
				  "--frequency and --interval exclude each other: give one");
	if (o->kill && !o->duration_ns)
		return error_text(err, -EINVAL, "--kill: needs --duration");
	return 0;
}
