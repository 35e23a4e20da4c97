/* SPDX-License-Identifier: MIT */
#include "cmd/text/advice.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/text/common_library.h"
#include "cmd/text/debug_package.h"
#include "cmd/text/foreign_file.h"
#include "lib/recording/loss_counts.h"
#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/base/text.h"
#include "lib/model/languages/language.h"
#include "lib/model/tables/symbol_reason.h"
#include "lib/model/meaning/wait_sums.h"

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

/* Code without names that a stack's time is spent in. */
struct nameless {
	module_id module; /* NO_MODULE: none */
	module_id caller; /* file of the nearest frame with one, the common libraries aside */
};

/* Is its time that of its caller? */
static bool is_callers(const struct profile *p, const struct frame *frame)
{
	if (frame->kind == PROFILE_FRAME_KERNEL || frame->kind == PROFILE_FRAME_LABEL)
		return true;
	return frame->module != NO_MODULE &&
	       (module_is_kernel(&p->modules.rows.items[frame->module]) ||
		is_of_common_library(p, frame));
}

/*
 * Returns a row for each stack; the caller frees. Files that time is only passed through, as libc
 * by main(), lack names that nobody misses.
 */
static struct nameless *find_nameless(const struct profile *p)
{
	struct nameless *found = xcalloc(p->stacks.rows.count, sizeof(*found));

	for (size_t i = 0; i < p->stacks.rows.count; i++) {
		const struct stack *stack = &p->stacks.rows.items[i];
		const struct frame *frame = &p->frames.rows.items[stack->frame];

		found[i] = stack->parent == NO_STACK ? (struct nameless){NO_MODULE, NO_MODULE}
						     : found[stack->parent];
		if (is_nameless(p, frame))
			found[i].module = frame->module;
		else if (!is_callers(p, frame))
			found[i].module = NO_MODULE;
		if (frame->module != NO_MODULE && !is_callers(p, frame) &&
		    p->modules.rows.items[frame->module].kind == PROFILE_MODULE_FILE)
			found[i].caller = frame->module;
	}
	return found;
}

/* Returns the language whose runtime is in a file, by the file's name. */
static enum language_id language_of_file(const char *path)
{
	const char *name = strrchr(path, '/');
	enum language_id language;

	name = name ? name + 1 : path;
	language = language_of_library(name);
	if (language != LANGUAGE_NONE)
		return language;
	return language_of_program(text_starts_with(name, "lib") ? name + 3 : name);
}

/*
 * Returns the language whose compiler made the code: that of the file that called it, as a process
 * may have several. The process's name decides only where no caller is known.
 */
static enum language_id language_of_code(const struct profile *p, const struct nameless *code,
					 const struct profile_thread *thread)
{
	const struct module *caller;

	if (code->caller != NO_MODULE) {
		caller = &p->modules.rows.items[code->caller];
		return language_of_file(strings_get(&p->strings, caller->path));
	}
	if (thread->process_name == NO_STRING)
		return LANGUAGE_NONE;
	return language_of_program(strings_get(&p->strings, thread->process_name));
}

struct share {
	size_t row; /* a module; from their number on, the language of code made at run time */
	uint64_t samples, of;
};

static struct share find_worst(const struct profile *p, bool of_waits)
{
	size_t modules = p->modules.rows.count, rows = modules + LANGUAGE_COUNT;
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
			if (p->modules.rows.items[code->module].kind == PROFILE_MODULE_ANON)
				samples[modules + language_of_code(p, code, thread)] +=
					sample->weight;
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

/* Returns the way a program that generates code can report it, NULL if there is none. */
static const char *jit_remedy(enum language_id language)
{
	if (language != LANGUAGE_NONE && languages[language]->program)
		return languages[language]->remedy;
	return "see \"Code made at run time\" in: man prof-runtimes";
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
	bool of_waits = worst.of <= FEW_SAMPLES && has_many_waits(p);
	_cleanup_free_ char *file = NULL;
	const char *remedy, *path = NULL;
	uint64_t permille;

	if (of_waits)
		worst = find_worst(p, true);
	permille = worst.of ? worst.samples * 1000 / worst.of : 0;
	if (permille < NAMELESS_PERMILLE_MIN)
		return;
	if (worst.row < p->modules.rows.count) {
		path = strings_get(&p->strings, p->modules.rows.items[worst.row].path);
		remedy = file = file_remedy(p, (module_id)worst.row, path);
	} else {
		remedy = jit_remedy((enum language_id)(worst.row - p->modules.rows.count));
	}
	if (!remedy)
		return;
	strbuf_addf(out,
		    "%" PRIu64 ".%" PRIu64 " %% of the %s go through %s%s, which has no names: %s",
		    permille / 10, permille % 10, of_waits ? "waits" : "samples",
		    path ? "code of " : "", path ? path : "code made at run time", remedy);
}
