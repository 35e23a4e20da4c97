/* SPDX-License-Identifier: MIT */
#include "symbolize/symbolize_profile.h"

#include <pthread.h>

#include "lib/model/meaning/origin.h"
#include "lib/model/tables/expand_inlines.h"
#include "symbolize/answers.h"
#include "symbolize/demangle.h"
#include "symbolize/module_files.h"
#include "symbolize/symbolizer.h"

/*
 * Names addresses of one module: opens the symbolizers for its kind, queries them in turn, and
 * frees them. Jobs can run in parallel, even on parts of one module: each opens its own
 * symbolizers.
 */

/* The kernel's symbols: those passed in, or else its list, which is read once, on first use. */
struct kernel_list {
	pthread_mutex_t lock;
	const struct kernel_table *given; /* kernel symbols that were passed in; NULL: none */
	int fd; /* borrowed; -1: not available */
	bool was_read;
	struct kernel_table *table; /* NULL: not available */
};

#define KERNEL_LIST_INIT(symbols) \
	((struct kernel_list){.lock = PTHREAD_MUTEX_INITIALIZER, .given = (symbols), .fd = -1})

/* Borrowed; nobody may change it meanwhile. */
struct name_task {
	/*
	 * Lacks the kernel's symbols. rvas: those of all parts of the module; NULL if this is the
	 * only part.
	 */
	struct symbolizer_input input;
	struct kernel_list *kernel;
	struct name_cache *cache; /* may be NULL */
	const struct place *places; /* sorted by address */
	size_t count;
	/* Called between batches; true stops, and the rest stays unnamed. */
	bool (*should_stop)(void *ctx);
	void *ctx;
};

/* Number of addresses between two calls of should_stop(). */
#define BATCH 256
#define MAX_SYMBOLIZERS 4

/* In the order of queries. */
static const struct symbolizer_ops *const for_files[] = {
	&symbolizer_elf, &symbolizer_dwarf, &symbolizer_go, &symbolizer_fde, NULL,
};
static const struct symbolizer_ops *const for_kernel[] = {
	&symbolizer_kernel,
	&symbolizer_dwarf,
	NULL,
};
/* The module's file replaces a kernel that cannot be queried. */
static const struct symbolizer_ops *const for_kernel_modules[] = {
	&symbolizer_kernel,
	&symbolizer_elf,
	&symbolizer_dwarf,
	NULL,
};
static const struct symbolizer_ops *const for_nothing[] = {NULL};

static const struct symbolizer_ops *const *symbolizers_for(const struct module *module)
{
	if (module && module->kind == PROFILE_MODULE_KERNEL_MODULE)
		return for_kernel_modules;
	if (!module || module_is_kernel(module))
		return for_kernel;
	if (module->kind == PROFILE_MODULE_FILE || module->kind == PROFILE_MODULE_VDSO)
		return for_files;
	return for_nothing;
}

static const struct kernel_table *kernel_list_get(struct kernel_list *list)
{
	struct error err = {0};

	if (list->given)
		return list->given;
	pthread_mutex_lock(&list->lock);
	if (!list->was_read && list->fd >= 0 && kallsyms_read(&list->table, list->fd, &err) != 0)
		log_debug("kernel symbols: %s", err.text);
	list->was_read = true;
	pthread_mutex_unlock(&list->lock);
	return list->table;
}

/* Places with the same address. */
struct group {
	size_t first, count;
};

struct groups {
	VEC(struct group) rows;
	VEC(uint64_t) rvas; /* addresses of the places */
};

static size_t open_symbolizers(const struct name_task *task, const struct groups *groups,
			       struct symbolizer **symbolizers)
{
	const struct symbolizer_ops *const *all = symbolizers_for(task->input.module), *const * ops;
	struct symbolizer_input input = task->input;
	size_t count = 0;

	if (!input.rvas) {
		input.rvas = groups->rvas.items;
		input.rva_count = groups->rvas.count;
	}
	if (all == for_kernel || all == for_kernel_modules)
		input.kernel_symbols = kernel_list_get(task->kernel);
	for (ops = all; *ops && count < MAX_SYMBOLIZERS; ops++) {
		struct error err = {0};
		int ret;

		if (all == for_kernel_modules && (*ops)->reads_symbols && count)
			continue;
		ret = (*ops)->open(&symbolizers[count], &input, &err);

		if (ret == 0)
			count++;
		else
			log_debug("%s: %s: %s", input.path, (*ops)->name, err.text);
		if (ret == 0)
			input.has_symbols |= (*ops)->reads_symbols;
	}
	symbolizers[count] = NULL;
	return count;
}

/* Collects the addresses that no earlier profile has named; adds the names of the others. */
static void find_new(const struct name_task *task, uint64_t module, struct groups *groups,
		     struct answers *names)
{
	for (size_t next = 0, first; next < task->count;) {
		struct answer answer = {0};
		uint64_t rva = task->places[next].rva;

		for (first = next; next < task->count && task->places[next].rva == rva;)
			next++;
		if (module && name_cache_find(task->cache, module, rva, &answer)) {
			answers_add(names, &answer, first, next - first);
			continue;
		}
		vec_push(&groups->rows, (struct group){first, next - first});
		vec_push(&groups->rvas, rva);
	}
}

static void name_batch(const struct name_task *task, uint64_t module,
		       struct symbolizer *const *symbolizers, const struct group *groups,
		       const uint64_t *rvas, size_t count, struct answers *names)
{
	struct answer answers[BATCH] = {0};

	for (; *symbolizers; symbolizers++)
		(*symbolizers)->ops->lookup(*symbolizers, rvas, count, answers);
	for (size_t i = 0; i < count; i++) {
		answers_add(names, &answers[i], groups[i].first, groups[i].count);
		if (module)
			name_cache_add(task->cache, module, rvas[i], &answers[i]);
	}
}

static void note_outcome(const struct name_task *task, size_t symbolizers, struct answers *names)
{
	const struct module *module = task->input.module;
	const char *path = module_files_debug_path(task->input.files);

	if (!module)
		return;
	/* Maps of names, if any, were used already. */
	if (module->kind == PROFILE_MODULE_CODE_DUMP)
		names->reason = SYMBOLS_FOUND;
	else if (module->kind == PROFILE_MODULE_ANON)
		names->reason = module->reason == SYMBOLS_FOUND ? SYMBOLS_FOUND
								: SYMBOLS_NO_CODE_MAP;
	/* No file describes code that the kernel generated. */
	else if (module->kind == PROFILE_MODULE_KERNEL_DYNAMIC && symbolizers)
		names->reason = SYMBOLS_FOUND;
	else if (module_is_kernel(module) && !symbolizers)
		names->reason = module->reason ? module->reason : SYMBOLS_KERNEL_HIDDEN;
	else
		names->reason = module_files_reason(task->input.files);
	names->has_symbols = module_files_has_symbols(task->input.files);
	names->debug_path = path ? xstrdup(path) : NULL;
}

/* Adopts the outcome of an earlier profile if all names come from it. */
static bool take_outcome(const struct name_task *task, uint64_t module, struct answers *names)
{
	const char *path;

	if (!module || !name_cache_find_outcome(task->cache, module, &names->reason, &path))
		return false;
	names->debug_path = path ? xstrdup(path) : NULL;
	return true;
}

/* Fills in `names`, which no longer depend on the symbolizers. */
static void name_places(const struct name_task *task, struct answers *names)
{
	struct symbolizer *symbolizers[MAX_SYMBOLIZERS + 1] = {NULL};
	uint64_t module = task->cache ? name_cache_module(&task->input) : 0;
	struct groups groups = {0};
	size_t count = 0;

	find_new(task, module, &groups, names);
	if (groups.rows.count || !take_outcome(task, module, names)) {
		count = open_symbolizers(task, &groups, symbolizers);
		for (size_t at = 0; count && at < groups.rows.count; at += BATCH) {
			size_t left = groups.rows.count - at;

			if (task->should_stop(task->ctx))
				break;
			name_batch(task, module, symbolizers, groups.rows.items + at,
				   groups.rvas.items + at, left < BATCH ? left : BATCH, names);
		}
		answers_seal(names);
		/* Note the outcome last: some failures show only in lookups. */
		note_outcome(task, count, names);
		if (module && count)
			name_cache_add_outcome(task->cache, module, names->reason,
					       names->debug_path);
	} else {
		answers_seal(names);
	}
	vec_release(&groups.rows);
	vec_release(&groups.rvas);
	for (struct symbolizer **s = symbolizers; *s; s++)
		(*s)->ops->free(*s);
}

/*
 * Minimum number of addresses in the parts into which a module is split, to be named in parallel.
 */
#define MIN_PART 8192

/* A module, or a part of one. */
struct job {
	module_id module; /* NO_MODULE: no module */
	char *path;
	struct name_task task;
	struct answers names;
	uint64_t ns; /* time spent on the module */
};

/* Not freed, with everything that it refers to, if jobs were abandoned. */
struct run {
	struct profile *profile;
	struct symbolize_options options;
	unsigned int threads;
	struct expand_inlines *expand;
	struct address_index index;
	struct kernel_list kernel;
	VEC(struct job) jobs;
	VEC(uint32_t) order; /* order in which jobs start */
	VEC(uint64_t *) expected; /* addresses for modules that are split into parts */
	bool is_stopped; /* accessed atomically */
};

static bool should_stop(void *ctx)
{
	const struct run *r = ctx;

	return __atomic_load_n(&r->is_stopped, __ATOMIC_RELAXED);
}

static enum workers_wish report_progress(void *ctx, size_t done)
{
	struct run *r = ctx;
	enum workers_wish wish = r->options.progress(r->options.ctx, done, r->jobs.count);

	if (wish != WORKERS_GO_ON)
		__atomic_store_n(&r->is_stopped, true, __ATOMIC_RELAXED);
	return wish;
}

/* Returns the kernel's list, which the recorder stores under the modules that need it. */
static int find_kernel_list(const struct run *r)
{
	struct file_set *files = r->options.files;
	int fd = -1;

	for (size_t i = 0; files && i < r->profile->modules.rows.count && fd < 0; i++) {
		const struct module *module = modules_get(&r->profile->modules, (module_id)i);

		if (module->kind != PROFILE_MODULE_KERNEL &&
		    module->kind != PROFILE_MODULE_KERNEL_DYNAMIC)
			continue;
		if (module->file_key != UINT32_MAX)
			fd = file_set_find(files, module->file_key);
	}
	return fd;
}

static void add_job(struct run *r, const struct symbolizer_input *module,
		    const struct place *places, size_t count)
{
	struct symbolizer_input input = *module;
	/* A copy, because interning moves strings. */
	char *path = xstrdup(module->path);

	input.path = path;
	input.files = module_files_ref(input.files);
	vec_push(&r->jobs, (struct job){
				   .path = path,
				   .task.input = input,
				   .task.kernel = &r->kernel,
				   .task.cache = r->options.cache,
				   .task.places = places,
				   .task.count = count,
				   .task.should_stop = should_stop,
				   .task.ctx = r,
			   });
}

/* Sets the addresses of all parts of a module, which share the contents read from its files. */
static void expect(struct run *r, struct symbolizer_input *input, const struct place *places,
		   size_t count)
{
	uint64_t *rvas = xmalloc(count * sizeof(*rvas));

	input->rvas = rvas;
	for (size_t i = 0; i < count; i++) {
		if (!i || places[i].rva != places[i - 1].rva)
			rvas[input->rva_count++] = places[i].rva;
	}
	vec_push(&r->expected, rvas);
}

static void add_group(struct run *r, module_id id, const struct place *places, size_t count)
{
	const struct module *module = id == NO_MODULE ? NULL
						      : modules_get(&r->profile->modules, id);
	struct symbolizer_input input = {
		.module = module,
		.path = module ? strings_get(&r->profile->strings, module->path) : "[kernel]",
		.fd = -1,
		.search = r->options.search,
	};
	size_t parts = address_index_count_distinct(places, count) / MIN_PART;

	if (module && r->options.files && module->file_key != UINT32_MAX) {
		input.fd = file_set_find(r->options.files, module->file_key);
		input.root = file_set_find_root(r->options.files, module->file_key);
	}
	input.files = module_files_new(&input);
	parts = MIN(parts, r->threads);
	if (parts > 1)
		expect(r, &input, places, count);
	for (; count; parts--) {
		size_t size = parts > 1 ? count / parts : count;

		/* Keep places of one address together. */
		while (size < count && places[size].rva == places[size - 1].rva)
			size++;
		add_job(r, &input, places, size);
		vec_last(&r->jobs).module = id;
		places += size;
		count -= size;
	}
	module_files_unref(input.files);
}

ORDER(compare_keys, uint32_t, COMPARE(*a, *b))

/* Requests only files with frames and the kernel's: most mapped files have no frames. */
static void need_files(const struct run *r)
{
	struct {
		VEC(uint32_t) keys;
	} needed = {0};
	size_t start = 0;

	for (size_t i = 0; i < r->profile->modules.rows.count; i++) {
		const struct module *module = modules_get(&r->profile->modules, (module_id)i);
		bool has_frames = i + 1 < r->index.group_count && r->index.ends[i] > start;

		if (i + 1 < r->index.group_count)
			start = r->index.ends[i];
		if (module->file_key != UINT32_MAX && (has_frames || module_is_kernel(module)))
			vec_push(&needed.keys, module->file_key);
	}
	vec_sort(&needed.keys, compare_keys);
	if (r->options.files)
		file_set_need(r->options.files, needed.keys.items, needed.keys.count);
	vec_release(&needed.keys);
}

static void add_jobs(struct run *r)
{
	const struct address_index *all = &r->index;
	size_t start = 0;

	for (size_t i = 0; i < all->group_count; start = all->ends[i++])
		add_group(r, i + 1 < all->group_count ? (module_id)i : NO_MODULE, all->rows + start,
			  all->ends[i] - start);
}

static bool is_kernel(const struct job *job)
{
	return !job->task.input.module || module_is_kernel(job->task.input.module);
}

/*
 * Sorts the longest jobs first: the kernel, whose list has to be read, then by number of addresses.
 */
static int compare_jobs(const void *a, const void *b, void *ctx)
{
	const struct run *r = ctx;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	const struct job *x_job = &r->jobs.items[x], *y_job = &r->jobs.items[y];

	if (is_kernel(x_job) != is_kernel(y_job))
		return is_kernel(x_job) ? -1 : 1;
	if (x_job->task.count != y_job->task.count)
		return x_job->task.count > y_job->task.count ? -1 : 1;
	return x < y ? -1 : x > y;
}

static void order_jobs(struct run *r)
{
	for (uint32_t i = 0; i < r->jobs.count; i++)
		vec_push(&r->order, i);
	if (r->jobs.count)
		qsort_r(r->order.items, r->order.count, sizeof(*r->order.items), compare_jobs, r);
}

static void run_job(void *ctx, size_t number)
{
	struct run *r = ctx;
	struct job *job = &r->jobs.items[number];
	uint64_t start_ns = clock_monotonic_ns();

	if (!should_stop(r))
		name_places(&job->task, &job->names);
	/* The last part of a module releases the files. */
	module_files_unref(job->task.input.files);
	job->ns = clock_monotonic_ns() - start_ns;
}

static void take_reason(struct run *r, struct job *job)
{
	struct module *module;

	if (job->module == NO_MODULE)
		return;
	module = modules_get(&r->profile->modules, job->module);
	module->naming_ns += job->ns;
	/* Another part of the module was abandoned. */
	if (job->names.reason == SYMBOLS_UNASKED || module->reason == SYMBOLS_SILENT)
		return;
	module->reason = job->names.reason;
	module->has_symbols = job->names.has_symbols;
	if (job->names.debug_path)
		module->debug_file = strings_intern(&r->profile->strings, job->names.debug_path);
}

/* Runs even after a stop, so that names found so far stay. */
static void take_job(void *ctx, size_t number)
{
	struct run *r = ctx;
	struct job *job = &r->jobs.items[number];

	take_reason(r, job);
	answers_apply(&job->names, job->module, job->task.places, r->profile, r->expand);
	answers_release(&job->names);
	free(job->path);
}

/* A thread may still use the job. */
static void abandon_job(void *ctx, size_t number)
{
	const struct run *r = ctx;
	const struct job *job = &r->jobs.items[number];

	if (job->module != NO_MODULE && !should_stop(ctx))
		modules_get(&r->profile->modules, job->module)->reason = SYMBOLS_SILENT;
}

/* Returns false if threads still use the run. */
static bool run_jobs(struct run *r)
{
	const struct worker_jobs jobs = {
		.count = r->jobs.count,
		.order = r->order.items,
		.stall_ns = r->options.stall_ns,
		.run = run_job,
		.take = take_job,
		.abandon = abandon_job,
		.progress = r->options.progress ? report_progress : NULL,
		.ctx = r,
	};

	return workers_run(&jobs, r->threads);
}

static void run_free(struct run *r)
{
	address_index_release(&r->index);
	kernel_table_free(r->kernel.table);
	pthread_mutex_destroy(&r->kernel.lock);
	vec_for_each(&r->expected, uint64_t **, rvas)
		free(*rvas);
	vec_release(&r->expected);
	vec_release(&r->order);
	vec_release(&r->jobs);
	free(r);
}

/* True if only a file with debug information could name the rest of the file's code. */
static bool is_searched(const struct module *module)
{
	return module->kind == PROFILE_MODULE_FILE &&
	       (module->reason == SYMBOLS_STRIPPED || module->reason == SYMBOLS_NO_DEBUG_FILE ||
		module->reason == SYMBOLS_FOUND || module->reason == SYMBOLS_NO_LINES);
}

/* Merges unnamed code into one function per maker or file, instead of one per address. */
static void name_the_rest(struct profile *p, struct expand_inlines *expand)
{
	_cleanup_free_ module_id *makers = made_code_find_makers(p);
	_cleanup_(strbuf_release) struct strbuf text = {0};

	for (frame_id id = 0; id < p->frames.rows.count; id++) {
		const struct frame *frame = frames_get(&p->frames, id);
		struct frame_name name = {.file = NO_STRING};

		if (frame->func != NO_FUNC || frame->module == NO_MODULE ||
		    frame->kind == PROFILE_FRAME_KERNEL || expand_inlines_has_answer(expand, id))
			continue;
		strbuf_reset(&text);
		if (made_code_is(p, frame->module))
			made_code_describe(p, makers[id], &text);
		else if (is_searched(modules_get(&p->modules, frame->module)))
			made_code_describe_unnamed(p, frame->module, &text);
		else
			continue;
		name.func = strings_intern(&p->strings, strbuf_text(&text));
		expand_inlines_answer(expand, id, NO_SYMBOL, &name, 1);
	}
}

void symbolize_profile(struct profile *p, const struct symbolize_options *options)
{
	struct run *r = xcalloc(1, sizeof(*r));
	bool have_ended;

	*r = (struct run){
		.profile = p,
		.options = *options,
		.threads = options->threads ? options->threads : workers_default(),
		.expand = expand_inlines_new(p),
		.kernel = KERNEL_LIST_INIT(options->kernel_symbols),
	};
	if (options->cache)
		name_cache_begin(options->cache);
	r->kernel.fd = find_kernel_list(r);
	address_index_collect(&r->index, p);
	need_files(r);
	add_jobs(r);
	order_jobs(r);
	have_ended = run_jobs(r);
	name_the_rest(p, r->expand);
	expand_inlines_apply(r->expand);
	p->meta.symbolicated = !r->is_stopped;
	expand_inlines_free(steal(r->expand));
	if (have_ended)
		run_free(r);
}

void demangle_profile(struct profile *p)
{
	_cleanup_(strbuf_release) struct strbuf readable = {0};

	vec_for_each(&p->funcs.rows, struct func *, func) {
		if (func->is_named && !func->is_js &&
		    demangle(strings_get(&p->strings, func->name), &readable))
			func->name = strings_intern(&p->strings, strbuf_text(&readable));
	}
}
