/* SPDX-License-Identifier: MIT */
#include "lib/live/instruments/runtime_programs.h"

#include <bpf/libbpf.h>
#include <errno.h>

#include "lib/base/cleanup.h"
#include "go.skel.h"
#include "python.skel.h"
#include "v8.skel.h"

/* Functions that all skeletons have, each with a type of its own. */
struct runtime_object {
	void *(*open)(const struct bpf_object_open_opts *options);
	struct bpf_object_skeleton *(*object)(void *skeleton);
	void (*destroy)(void *skeleton);
	struct bpf_program *(*program)(void *skeleton, bool of_tracepoints);
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
	} \
	static struct bpf_program *name##_program(void *skeleton, bool of_tracepoints) \
	{ \
		struct name##_bpf *s = skeleton; \
\
		return of_tracepoints ? s->progs.on_##name##_tracepoint : s->progs.on_##name; \
	}

RUNTIME_OBJECT(python)
RUNTIME_OBJECT(v8)
RUNTIME_OBJECT(go)

static const struct runtime_object objects[RUNTIME_KIND_COUNT] = {
	[RUNTIME_PYTHON] = {python_open, python_object, python_destroy, python_program},
	[RUNTIME_V8] = {v8_open, v8_object, v8_destroy, v8_program},
	[RUNTIME_GO] = {go_open, go_object, go_destroy, go_program},
};

static int open_object(void *ctx, const struct bpf_object_open_opts *options,
		       struct bpf_object_skeleton **out)
{
	struct runtime_program *p = ctx;

	p->skeleton = objects[p->kind].open(options);
	if (!p->skeleton)
		return -errno;
	*out = objects[p->kind].object(p->skeleton);
	return 0;
}

static void close_object(void *ctx)
{
	struct runtime_program *p = ctx;

	objects[p->kind].destroy(steal(p->skeleton));
}

static int enter(const struct runtime_program *p, struct programs *programs, bool of_tracepoints,
		 struct error *err)
{
	struct bpf_program *program = objects[p->kind].program(p->skeleton, of_tracepoints);

	return programs_enter_runtime(programs, p->kind, bpf_program__fd(program), of_tracepoints,
				      err);
}

int runtime_program_load(struct runtime_program *program, uint32_t kind, struct programs *programs,
			 struct error *err)
{
	const struct programs_part part = {
		.open = open_object, .close = close_object, .ctx = program};
	int code;

	if (program->skeleton)
		return 0;
	program->kind = kind;
	code = programs_add_late(programs, &part, err);
	if (!code)
		code = enter(program, programs, false, err);
	if (!code)
		code = enter(program, programs, true, err);
	program->has_failed = code != 0;
	return code;
}

struct go_label_counts runtime_program_go(const struct runtime_program *program)
{
	const struct go_bpf *go = program->skeleton;

	if (!go || program->has_failed)
		return (struct go_label_counts){0};
	return (struct go_label_counts){
		.samples = go->bss->go_samples,
		.labelled = go->bss->go_labelled,
		.unreadable = go->bss->go_unreadable,
	};
}
