/* SPDX-License-Identifier: MIT */
#include "lib/code/runtimes/hotspot.h"

#include <stdio.h>
#include <string.h>

#include "lib/base/bytes.h"
#include "lib/code/runtimes/hotspot_names.h"

static const char *const kinds[] = {
	[HOTSPOT_INTERPRETED] = "Interpreter",
	[HOTSPOT_WRAPPER] = "Native",
	[HOTSPOT_STUB] = "Stub",
	[HOTSPOT_FROZEN] = "Stub",
};

static void write_version(const struct runtime_layout *layout, char *text, size_t size)
{
	if (layout->hotspot.version)
		snprintf(text, size, "%u", layout->hotspot.version);
	else
		*text = 0;
}

const struct runtime runtime_hotspot = {
	.kind = RUNTIME_HOTSPOT,
	.name = "Java",
	.probe = hotspot_probe,
	.version = write_version,
	.process_size = sizeof(struct hotspot_process),
	.start = hotspot_start,
	.decode = hotspot_decode,
	.late = hotspot_late,
};

static const char *tier_of(const struct hotspot_function_head *head)
{
	if (head->kind == HOTSPOT_COMPILED)
		return head->level == 4 ? "C2" : "C1";
	return head->kind <= HOTSPOT_FROZEN ? kinds[head->kind] : NULL;
}

bool hotspot_head_of(const struct rec_function *function, struct hotspot_function_head *head)
{
	if (function->lines.size < sizeof(*head))
		return false;
	memcpy(head, function->body + function->name.size + function->file.size, sizeof(*head));
	return true;
}

void hotspot_decode(const struct runtime_layout *layout, const struct rec_function *function,
		    struct managed_code *code)
{
	const char *body = function->body;
	struct hotspot_function_head head;

	(void)layout;
	code->start = -1;
	code->tier = NULL;
	code->lacks_text = false;
	code->is_cut = (function->name.flags | function->file.flags) & FUNCTION_CUT;
	if (!hotspot_head_of(function, &head))
		return;
	code->tier = tier_of(&head);
	code->lacks_text = head.method || (head.kind == HOTSPOT_STUB && head.stubs);
	if (head.kind == HOTSPOT_FROZEN) {
		strbuf_reset(&code->name);
		strbuf_adds(&code->name, "(callers of a virtual thread, not on the stack)");
	} else if (head.kind == HOTSPOT_STUB && !function->name.size) {
		strbuf_reset(&code->name);
		strbuf_adds(&code->name, "Interpreter");
	} else if (function->name.size)
		hotspot_set_name(&code->name, body + function->name.size, function->file.size, body,
				 function->name.size);
}
