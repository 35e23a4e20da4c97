/* SPDX-License-Identifier: MIT */
/* prof push: sends a profile's samples to an engine that stores those of many machines. */
#include "cmd/command.h"
#include "cmd/options/output_options.h"
#include "cmd/options/pipeline_options.h"
#include "cmd/run/fleet_engine.h"
#include "cmd/run/profile_file.h"
#include "lib/fleet/engine_kind.h"
#include "lib/recording/meta.h"
#include "lib/recording/recording.h"

static const char name[] = "push";

struct push_command {
	struct output_options output; /* settings for reading a capture */
	const char *path, *address;
	struct push_options who;
};

#define AT(member) OPTION_AT(push_command, member)

static const struct option_row rows[] = {
	{0, "debug-dir", "DIR", "captures: look for programs and .build-id/xx/yyy.debug there",
	 OPTION_CALL, AT(output), .set = output_add_debug_dir},
	{'q', "quiet", NULL, "print only errors", OPTION_FLAG, AT(output.quiet)},
	{0},
};

static int take(void *ctx, const char *operand, struct error *err)
{
	struct push_command *c = ctx;

	return command_take_file(c->path ? &c->address : &c->path, operand, err);
}

static void make_table(struct option_table *t, void *ctx)
{
	struct push_command *c = ctx;

	t->usage = "Usage: prof push [OPTION]... FILE URL\n"
		   "Send a profile's samples to an engine that stores samples of many machines.\n"
		   "\n";
	t->take = take;
	option_table_add(t, push_options_who, &c->who);
	option_table_add(t, rows, c);
	option_table_add(t, option_common, NULL);
	t->after =
		"\n"
		"URL is clickhouse+http[s]://[USER@]HOST[:PORT]/DATABASE[?password-file=FILE]\n"
		"or, for a collector, "
		"otlp+http[s]://[USER@]HOST[:PORT][/PATH][?password-file=FILE],\n"
		"the same with otlp+grpc[s], or otlp for the one in OTEL_EXPORTER_OTLP_ENDPOINT;\n"
		"pyroscope+http[s]:// and parca+http[s]:// are for Pyroscope and Parca.\n"
		"'prof fleet init URL' creates the tables of ClickHouse.\n"
		"Exit status: 0, 125 if the file or the engine prevents it, 2 for a usage error.\n";
}

static uint64_t lost_samples(const struct profile_file *file)
{
	const char *text = profile_fact(file->profile, FACT_LOST_SAMPLES, NULL);
	uint64_t lost = 0;

	if (file->recording)
		return losses_count(&file->profile->stats, true);
	return text && text_to_u64(text, 10, &lost) ? lost : 0;
}

/* A profile of the whole machine contains many services: one per process. */
static const char *fallback_of(const struct profile *p)
{
	const char *product = p->meta.product;

	if (product && strcmp(product, META_ALL_PROCESSES) == 0)
		return NULL;
	return product ? product : "unknown_service";
}

static int push(struct push_command *c, const struct fleet_engine *e, struct error *err)
{
	char host[256] = "";
	const char *shown;
	struct profile_file file;
	struct fleet_pushed pushed;
	struct fleet_origin origin = {.host = c->who.host ? c->who.host : host};
	int ret = profile_file_load(&file, c->path, &c->output, err);

	if (ret)
		return ret;
	gethostname(host, sizeof(host) - 1);
	origin.service = c->who.service;
	origin.fallback = fallback_of(file.profile);
	shown = origin.service ? origin.service : origin.fallback;
	shown = shown ? shown : "all services";
	origin.labels = c->who.labels.items;
	origin.lost = lost_samples(&file);
	ret = fleet_push(&e->engine, file.profile, &origin, &pushed, err);
	if (ret)
		ret = error_wrap(err, "%s", file.label);
	else if (!c->output.quiet && !pushed.windows)
		command_say_as(name, "the engine already has all samples");
	else if (!c->output.quiet && engine_kind_is_collector(e->url.kind))
		command_say_as(name, "sent %" PRIu64 " %s of %s", pushed.samples,
			       text_counted(pushed.samples, "sample", "samples"), shown);
	else if (!c->output.quiet)
		command_say_as(name, "sent %" PRIu64 " %s with %" PRIu64 " %s of %s%s",
			       pushed.windows, text_counted(pushed.windows, "window", "windows"),
			       pushed.samples, text_counted(pushed.samples, "sample", "samples"),
			       shown, pushed.known ? "; the engine already has the others" : "");
	profile_file_release(&file);
	return ret;
}

static int run(int argc, char **argv)
{
	struct push_command c = {.output = {.no_limit = true}};
	struct fleet_engine e = {0};
	struct error err = {0};
	int ret, status = 0;

	push_options_init(&c.who);
	ret = command_parse(argc, argv, make_table, &c, &err) ?: push_options_check(&c.who, &err);
	output_options_end_dirs(&c.output);
	if (!ret && !c.address)
		ret = error_text(&err, -EINVAL, "a file or an engine's address is missing");
	if (!ret)
		ret = fleet_engine_open(&e, c.address, &err);
	if (!ret && e.url.is_filtered)
		ret = error_text(
			&err, -EINVAL,
			"the engine's address: the only key allowed here is password-file");
	if (ret)
		status = ret == -EINVAL || ret == -ECANCELED
				 ? command_fail_usage(name, &err)
				 : command_fail(name, EXIT_REFUSED, &err);
	if (!ret && push(&c, &e, &err))
		status = command_fail(name, EXIT_REFUSED, &err);
	fleet_engine_release(&e);
	push_options_release(&c.who);
	output_options_release(&c.output);
	return status;
}

const struct command command_push = {
	.name = name,
	.summary = "send a profile's samples to an engine for many machines",
	.options = make_table,
	.run = run,
};
