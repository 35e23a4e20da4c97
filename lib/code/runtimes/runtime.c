/* SPDX-License-Identifier: MIT */
#include "lib/code/runtimes/runtime.h"

#include "lib/code/runtimes/go.h"

#define RUNTIME(KIND, name, ...) extern const struct runtime runtime_##name;
#include "bpf/runtimes.def"
#undef RUNTIME

const struct runtime *const runtimes[RUNTIME_KIND_COUNT] = {
#define RUNTIME(KIND, name, ...) [RUNTIME_##KIND] = &runtime_##name,
#include "bpf/runtimes.def"
#undef RUNTIME
};

void managed_function_release(struct managed_function *function)
{
	strbuf_release(&function->name);
	strbuf_release(&function->file);
	*function = (struct managed_function){0};
}

void managed_function_copy(struct managed_function *to, const struct managed_function *from)
{
	*to = *from;
	to->name = to->file = (struct strbuf){0};
	strbuf_add(&to->name, strbuf_text(&from->name), from->name.size);
	strbuf_add(&to->file, strbuf_text(&from->file), from->file.size);
}

void managed_code_release(struct managed_code *code)
{
	vec_for_each(&code->inlined, struct managed_function *, function)
		managed_function_release(function);
	vec_release(&code->inlined);
	strbuf_release(&code->name);
	strbuf_release(&code->file);
	vec_release(&code->lines);
	vec_release(&code->places);
	*code = (struct managed_code){0};
}

int runtime_probe(int fd, struct runtime_layout *layout, struct error *err)
{
	struct binary *b = NULL;
	int result = 0;

	*layout = (struct runtime_layout){0};
	/* Only ELF files contain a runtime. */
	if (binary_open(&b, fd, NULL) != 0)
		return 0;
	for (size_t i = 0; i < RUNTIME_KIND_COUNT && result == 0 && !layout->kind; i++) {
		if (runtimes[i] && runtimes[i]->probe)
			result = runtimes[i]->probe(b, layout, err);
	}
	binary_free(b);
	if (result != 0)
		*layout = (struct runtime_layout){0};
	return result;
}

int runtime_probe_with_go(int fd, struct runtime_layout *layout, struct error *err)
{
	int result = runtime_probe(fd, layout, err);

	if (result == 0 && !layout->kind)
		result = go_probe(fd, layout, err);
	return result;
}
