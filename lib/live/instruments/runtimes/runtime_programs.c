/* SPDX-License-Identifier: MIT */
#include "lib/live/instruments/runtimes/runtime_programs.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "lib/live/bpf/uprobe.h"
#include "runtimes.skel.h"

#define ENTRIES_MAX 2
#define PARTNERS_MAX 3

/* A program of an object, and the map from which it is tail-called. */
struct runtime_entry {
	const char *program; /* NULL: none */
	const char *map; /* map of such programs, by runtime */
	const char *source; /* object that has the map; NULL: the first one */
};

/*
 * Functions common to all skeletons, each with a different type, and the purpose of their programs.
 */
struct runtime_object {
	void *(*open)(const struct bpf_object_open_opts *options);
	struct bpf_object_skeleton *(*object)(void *skeleton);
	void (*destroy)(void *skeleton);
	/* Objects whose maps it uses, then NULL; it does not use the first one's stacks. */
	const char *partners[PARTNERS_MAX];
	struct runtime_entry entries[ENTRIES_MAX];
	struct label_counts (*labels)(const void *skeleton); /* NULL: it adds none */
};

#define RUNTIME_OBJECT(name) \
	static void *name##_open(const struct bpf_object_open_opts *options) \
	{ \
		return name##_bpf__open_opts(options); \
	} \
	static struct bpf_object_skeleton *name##_object(void *skeleton) \
	{ \
		return ((struct name##_bpf *)skeleton)->skeleton; \
	} \
	static void name##_destroy(void *skeleton) \
	{ \
		name##_bpf__destroy(skeleton); \
	}

#define SAMPLES_OBJECT(name, labels) \
	{ \
		name##_open, name##_object, name##_destroy, {NULL}, \
			{ \
				{"on_" #name, "runtime_programs", NULL}, \
				{"on_" #name "_tracepoint", "runtime_tracepoints", "events_bpf"}, \
			}, \
			labels, \
	}
#define WAITS_OBJECT(name) \
	{ \
		name##_waits_open, name##_waits_object, name##_waits_destroy, \
			{"waits_bpf", #name "_bpf"}, \
		{ \
			{ \
				"on_" #name "_wait", "runtime_switches", "waits_bpf" \
			} \
		} \
	}
/* Marker probes that interrupt each other have separate memory: each has such an object. */
#define MARKERS_OBJECT(probe, PROBE, SENT, sent, TYPE, of, name) TYPE##_OBJECT(probe, PROBE, name)
#define RAW_OBJECT(probe, PROBE, name) PROBE_OBJECT(probe, PROBE, name, "_marker")
#define TYPED_OBJECT(probe, PROBE, name) PROBE_OBJECT(probe, PROBE, name, "_waking")
#define PERF_OBJECT(probe, PROBE, name) PROBE_OBJECT(probe, PROBE, name, "_fault")
#define TRACEPOINT_OBJECT(probe, PROBE, name) PROBE_OBJECT(probe, PROBE, name, "_event")
#define UPROBE_OBJECT(probe, PROBE, name) PROBE_OBJECT(probe, PROBE, name, "_probe")
#define NONE_OBJECT(probe, PROBE, name)
#define PROBE_OBJECT(probe, PROBE, name, suffix) \
	[RUNTIME_##PROBE] = {name##_markers_open, \
			     name##_markers_object, \
			     name##_markers_destroy, \
			     {#probe "_bpf", #name "_bpf"}, \
			     {{"on_" #name suffix, "runtime_markers", #probe "_bpf"}}},
/* clang-format off */
#define LABELS_OBJECTS(name) {SAMPLES_OBJECT(name, name##_labels)}
#define FRAMES_OBJECTS(name) \
	{ \
		[RUNTIME_SAMPLES] = SAMPLES_OBJECT(name, NULL), \
		[RUNTIME_WAITS] = WAITS_OBJECT(name), \
		RUNTIME_PROBES(MARKERS_OBJECT, name) \
	}
/* clang-format on */

#define LABELS_FUNCTIONS(name) \
	RUNTIME_OBJECT(name) \
	static struct label_counts name##_labels(const void *skeleton) \
	{ \
		const struct name##_bpf *s = skeleton; \
\
		return (struct label_counts){s->bss->label_samples, s->bss->label_found, \
					     s->bss->label_unreadable}; \
	}
#define FRAMES_FUNCTIONS(name) \
	RUNTIME_OBJECT(name) \
	RUNTIME_OBJECT(name##_waits) \
	RUNTIME_OBJECT(name##_markers)

#define RUNTIME(KIND, name, LANGUAGE, ADDS, ...) ADDS##_FUNCTIONS(name)
#include "bpf/runtimes.def"

static const struct runtime_object objects[RUNTIME_KIND_COUNT][RUNTIME_PART_COUNT] = {
#define RUNTIME(KIND, name, LANGUAGE, ADDS, ...) [RUNTIME_##KIND] = ADDS##_OBJECTS(name),
#include "bpf/runtimes.def"
};

static bool is_needed(const struct runtime_entry *entry, struct programs *programs)
{
	return !entry->source || programs_has(programs, entry->source);
}

/* Leaves out programs without a caller: each would double the loading time. */
static void leave_out_unneeded(const struct runtime_skeleton *s, const struct bpf_object *opened)
{
	const struct runtime_entry *entry = s->object->entries;
	struct bpf_program *program;

	bpf_object__for_each_program(program, opened) bpf_program__set_autoload(program, false);
	for (size_t i = 0; i < ENTRIES_MAX && entry->program; i++, entry++)
		bpf_program__set_autoload(bpf_object__find_program_by_name(opened, entry->program),
					  is_needed(entry, s->programs));
}

static int open_object(void *ctx, const struct bpf_object_open_opts *options,
		       struct bpf_object_skeleton **out)
{
	struct runtime_skeleton *s = ctx;

	s->skeleton = s->object->open(options);
	if (!s->skeleton)
		return -errno;
	*out = s->object->object(s->skeleton);
	leave_out_unneeded(s, *(*out)->obj);
	uprobe_set_type(*(*out)->obj);
	return 0;
}

static void close_object(void *ctx)
{
	struct runtime_skeleton *s = ctx;

	s->object->destroy(steal(s->skeleton));
}

/* Enters the programs of a loaded object as the runtime's. */
static int enter(const struct runtime_skeleton *s, uint32_t kind, struct programs *programs,
		 struct error *err)
{
	const struct bpf_object *loaded = *s->object->object(s->skeleton)->obj;
	const struct runtime_entry *entry = s->object->entries;
	const struct bpf_program *program;
	int code = 0;

	for (size_t i = 0; i < ENTRIES_MAX && entry->program && !code; i++, entry++) {
		if (!is_needed(entry, programs))
			continue;
		program = bpf_object__find_program_by_name(loaded, entry->program);
		code = programs_enter_runtime(programs, kind, bpf_program__fd(program),
					      entry->source, entry->map, err);
	}
	return code;
}

int runtime_program_load(struct runtime_program *program, uint32_t kind, enum runtime_part part,
			 struct programs *programs, struct error *err)
{
	const struct runtime_object *object = &objects[kind][part];
	struct runtime_skeleton *s = &program->parts[part];
	const struct programs_part opened = {
		.open = open_object,
		.close = close_object,
		.ctx = s,
		.partners = object->partners,
	};
	int code;

	if (s->skeleton || s->has_failed || !object->open)
		return 0;
	if (object->partners[0] && !programs_has(programs, object->partners[0]))
		return 0;
	s->object = object;
	s->programs = programs;
	code = programs_add_late(programs, &opened, err) ?: enter(s, kind, programs, err);
	s->has_failed = code != 0;
	return code;
}

int runtime_program_set_process(const struct runtime_program *program, uint32_t pid,
				const void *process, struct error *err)
{
	const struct runtime_skeleton *samples = &program->parts[RUNTIME_SAMPLES];
	const struct bpf_map *map = NULL;
	int code = -ENOENT;

	if (samples->skeleton && !samples->has_failed)
		map = bpf_object__find_map_by_name(*samples->object->object(samples->skeleton)->obj,
						   "runtime_processes");
	if (map)
		code = bpf_map_update_elem(bpf_map__fd(map), &pid, process, BPF_ANY);
	return code ? error_set(err, code, "cannot store the state of a process") : 0;
}

struct label_counts runtime_program_labels(const struct runtime_program *program)
{
	const struct runtime_skeleton *samples = &program->parts[RUNTIME_SAMPLES];

	if (!samples->skeleton || samples->has_failed || !samples->object->labels)
		return (struct label_counts){0};
	return samples->object->labels(samples->skeleton);
}
