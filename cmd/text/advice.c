/* SPDX-License-Identifier: MIT */
#include "cmd/text/advice.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/text/debug_package.h"
#include "cmd/text/foreign_file.h"
#include "lib/recording/loss_counts.h"
#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/languages/language.h"
#include "lib/profile/symbol_reason.h"
#include "lib/profile/wait_sums.h"

/* Too few samples to show where time was spent. */
#define FEW_SAMPLES 3
/* Intervals of waits that are worth a profile, though nothing ran. */
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
		[RECORDING_OF_COMMAND] = "the command was hardly on a CPU",
		[RECORDING_OF_PROCESSES] = "the attached processes were hardly on a CPU",
		[RECORDING_OF_MACHINE] = "hardly anything was on a CPU",
		[RECORDING_OF_FILTERS] = "the selected processes were hardly on a CPU",
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
	return frame->func == NO_FUNC || !p->funcs.rows.items[frame->func].is_named;
}

/* Returns a row that stands for all memory with code generated at run time. */
static module_id first_anonymous(const struct profile *p)
{
	module_id id = 0;

	while (id < p->modules.rows.count && p->modules.rows.items[id].kind != PROFILE_MODULE_ANON)
		id++;
	return id;
}

/*
 * Returns, by stack, the module of the innermost frame without a name, or NO_MODULE; the caller
 * frees.
 */
static module_id *find_nameless(const struct profile *p)
{
	module_id *found = xcalloc(p->stacks.rows.count, sizeof(*found));
	module_id anonymous = first_anonymous(p);

	for (size_t i = 0; i < p->stacks.rows.count; i++) {
		const struct stack *stack = &p->stacks.rows.items[i];
		const struct frame *frame = &p->frames.rows.items[stack->frame];

		if (is_nameless(p, frame))
			found[i] = p->modules.rows.items[frame->module].kind == PROFILE_MODULE_ANON
					   ? anonymous
					   : frame->module;
		else
			found[i] = stack->parent == NO_STACK ? NO_MODULE : found[stack->parent];
	}
	return found;
}

struct share {
	module_id module;
	uint64_t samples, of;
};

static struct share find_worst(const struct profile *p, bool of_waits)
{
	_cleanup_free_ module_id *nameless = find_nameless(p);
	_cleanup_free_ uint64_t *samples = xcalloc(p->modules.rows.count, sizeof(*samples));
	struct share worst = {.module = NO_MODULE};

	vec_for_each(&p->threads.rows, const struct profile_thread *, row) {
		samples_for_each(&row->samples, sample) {
			if (sample->event || sample->stack == NO_STACK ||
			    profile_is_wait(p, sample) != of_waits)
				continue;
			worst.of += sample->weight;
			if (nameless[sample->stack] != NO_MODULE)
				samples[nameless[sample->stack]] += sample->weight;
		}
	}
	for (module_id i = 0; i < p->modules.rows.count; i++) {
		if (samples[i] > worst.samples) {
			worst.samples = samples[i];
			worst.module = i;
		}
	}
	return worst;
}

static const char *program_of(const struct profile *p, uint32_t pid)
{
	vec_for_each(&p->threads.rows, const struct profile_thread *, row) {
		if (row->pid == pid && row->process_name != NO_STRING)
			return strings_get(&p->strings, row->process_name);
	}
	return "";
}

/* Returns the way a program that generates code can report it. */
static const char *jit_remedy(const char *program)
{
	enum language_id language = language_of_program(program);

	if (language != LANGUAGE_NONE)
		return languages[language]->remedy;
	return "see \"Code made at run time\" in: man prof-record";
}

/* Returns a remedy, NULL if none; the caller frees. */
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
		return xstrdup("it is stripped: build it without, or name the folder of its debug "
			       "files by --debug-dir");
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
	_cleanup_free_ char *remedy = NULL;
	const struct module *module;
	bool of_waits = worst.of <= FEW_SAMPLES && has_many_waits(p);
	const char *path;
	uint64_t permille;

	if (of_waits)
		worst = find_worst(p, true);
	if (worst.module == NO_MODULE)
		return;
	permille = worst.samples * 1000 / worst.of;
	if (permille < NAMELESS_PERMILLE_MIN)
		return;
	module = &p->modules.rows.items[worst.module];
	path = strings_get(&p->strings, module->path);
	if (module->kind == PROFILE_MODULE_ANON) {
		remedy = xstrdup(jit_remedy(program_of(p, module->pid)));
		path = "code made at run time";
	} else {
		remedy = file_remedy(p, worst.module, path);
	}
	if (!remedy)
		return;
	strbuf_addf(out,
		    "%" PRIu64 ".%" PRIu64 " %% of the %s go through %s%s, which has no names: %s",
		    permille / 10, permille % 10, of_waits ? "waits" : "samples",
		    module->kind == PROFILE_MODULE_ANON ? "" : "code of ", path, remedy);
}
