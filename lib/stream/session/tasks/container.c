/* SPDX-License-Identifier: MIT */
#include "lib/stream/session/tasks/container.h"

#include "lib/base/cleanup.h"
#include "lib/base/strbuf.h"
#include "lib/stream/process/cgroup.h"

/* Length to which container engines shorten ids. */
#define SHORT_ID_SIZE 12

string_id container_label(struct strings *strings, string_id cgroup, string_id container,
			  uint32_t ns_pid)
{
	_cleanup_(strbuf_release) struct strbuf label = {0};
	size_t size = cgroup == NO_STRING ? 0 : strings_size(strings, cgroup);
	const char *name = size ? strings_get(strings, cgroup) : "";
	const char *id = cgroup_container_id(name, size);

	if (container != NO_STRING) {
		name = strings_get(strings, container);
		size = strings_size(strings, container);
	} else if (id) {
		name = id;
		size = SHORT_ID_SIZE;
	} else {
		name = cgroup_leaf(name, &size);
	}
	if (ns_pid)
		strbuf_addf(&label, "pid %u%s", ns_pid, size ? " in " : "");
	strbuf_add(&label, name, size);
	return label.size ? strings_intern_sized(strings, label.text, label.size) : NO_STRING;
}
