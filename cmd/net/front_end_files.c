/* SPDX-License-Identifier: MIT */
#include "cmd/net/front_end_files.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/base/open_regular.h"
#include "lib/base/text.h"

/* The largest of them has 5 MB. */
#define FILE_MAX ((size_t)64 << 20)

static const char *type_of(const char *path)
{
	static const struct {
		const char *suffix, *type;
	} types[] = {
		{".html", "text/html; charset=utf-8"},
		{".js", "text/javascript"},
		{".css", "text/css"},
		{".json", "application/json"},
		{".svg", "image/svg+xml"},
		{".png", "image/png"},
		{".jpg", "image/jpeg"},
		{".wasm", "application/wasm"},
		{".ftl", "text/plain; charset=utf-8"},
		{".txt", "text/plain"},
	};

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		if (text_ends_with(path, types[i].suffix))
			return types[i].type;
	}
	return "application/octet-stream";
}

void front_end_files_send(int folder, const char *path, struct http_response *response)
{
	static const char page[] = "/index.html";
	_cleanup_close_ int fd = open_regular_named(folder, path);
	const char *type = type_of(path);
	size_t size = 0;
	char *text;

	if (fd < 0 && !strchr(strrchr(path, '/') ? strrchr(path, '/') : path, '.')) {
		fd = open_regular_named(folder, page);
		type = type_of(page);
	}
	text = fd < 0 ? NULL : text_read_fd(fd, FILE_MAX, &size);
	http_response_take(response, text ? 200 : 404, text ? type : NULL, text, size);
}
