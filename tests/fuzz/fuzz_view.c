/* SPDX-License-Identifier: MIT */
/*
 * Sends whatever it is to the handlers of prof view: method, path, headers and body, one a line.
 * "TOKEN" in them stands for the token. Every answer has a status; those without the token tell
 * nothing; bodies of the interface are JSON objects.
 */
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "cmd/net/viewer.h"
#include "lib/base/cleanup.h"
#include "tests/fuzz/input.h"

static const char profile[] =
	"{\"meta\":{\"version\":36,\"preprocessedProfileVersion\":70,\"interval\":1,"
	"\"startTime\":0,\"categories\":[{\"name\":\"Other\",\"color\":\"grey\","
	"\"subcategories\":[\"Other\"]}],\"markerSchema\":[]},"
	"\"libs\":[{\"arch\":\"x86_64\",\"name\":\"x\",\"path\":\"/nowhere/x\",\"debugName\":\"x\","
	"\"debugPath\":\"/nowhere/x\",\"breakpadId\":\"A0\",\"codeId\":\"0011\"}],"
	"\"shared\":{\"stringArray\":[\"f\",\"/nowhere/x.c\"],"
	"\"stackTable\":{\"frame\":[0],\"prefixOffset\":[0],\"length\":1},"
	"\"frameTable\":{\"address\":[16],\"lib\":[0],\"inlineDepth\":[0],\"category\":[0],"
	"\"subcategory\":[0],\"func\":[0],\"nativeSymbol\":[null],\"innerWindowID\":[null],"
	"\"line\":[3],\"column\":[null],\"originalLocation\":[null],\"length\":1},"
	"\"funcTable\":{\"name\":[0],\"isJS\":[false],\"relevantForJS\":[false],"
	"\"resource\":[-1],\"source\":[0],\"lineNumber\":[null],\"columnNumber\":[null],"
	"\"originalLocation\":[null],\"length\":1},"
	"\"resourceTable\":{\"name\":[],\"host\":[],\"type\":[],\"length\":0},"
	"\"nativeSymbols\":{\"libIndex\":[],\"address\":[],\"name\":[],\"functionSize\":[],"
	"\"length\":0},\"sources\":{\"id\":[null],\"filename\":[1],\"startLine\":[1],"
	"\"startColumn\":[1],\"sourceMapURL\":[null],\"content\":[\"text\"],\"length\":1}},"
	"\"threads\":[{\"name\":\"x\",\"isMainThread\":true,\"processName\":\"x\",\"pid\":\"1\","
	"\"tid\":1,\"registerTime\":0,\"unregisterTime\":null,\"processStartupTime\":0,"
	"\"processShutdownTime\":null,\"pausedRanges\":[],\"samples\":{\"stack\":[0],"
	"\"time\":[1],\"weight\":null,\"weightType\":\"samples\",\"length\":1},"
	"\"markers\":{\"name\":[],\"category\":[],\"data\":[],\"startTime\":[],\"endTime\":[],"
	"\"phase\":[],\"length\":0}}]}";

static struct viewer viewer;
static struct viewed_profile viewed;
static struct output_options options;

static void set_up(void)
{
	int fd = input_open((const uint8_t *)profile, sizeof(profile) - 1);
	struct error err = {0};
	char path[40];
	const char *const paths[] = {path};

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	options.quiet = true;
	if (viewed_profile_open(&viewed, paths, 1, &options, &err)) {
		fprintf(stderr, "%s\n", err.text);
		abort();
	}
	close(fd);
	if (viewer_init(&viewer, NULL))
		abort();
	viewer.port = 4711;
	viewer.folder = open("/usr/share/doc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	viewer_set_front_end(&viewer, "https://front.example/end/");
	viewer.api = (struct api){&viewed, 1};
}

/* Returns the next line with the token in it, NULL at the end; to be freed. */
static char *next_line(char **rest)
{
	char *line = strsep(rest, "\n"), *token = line ? strstr(line, "TOKEN") : NULL;

	if (!token)
		return line ? xstrdup(line) : NULL;
	return xasprintf("%.*s%s%s", (int)(token - line), line, viewer.token, token + 5);
}

static void check(const struct http_request *request, const struct http_response *response)
{
	if (!response->status && (request->body || strcmp(request->method, "POST") != 0))
		abort();
	if (!strstr(request->path, viewer.token) && response->status != 403 &&
	    (!request->cookie || !strstr(request->cookie, viewer.ticket)))
		abort();
	if (response->status == 200 && request->body && strcmp(request->method, "POST") == 0) {
		json_t *value = json_loadb(response->body, response->size, 0, NULL);

		if (!json_is_object(value))
			abort();
		json_decref(value);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = xstrndup((const char *)data, size), *rest = text, *lines[8];
	struct http_request request = {0};
	struct http_response response = {0};

	if (!viewer.port)
		set_up();
	for (size_t i = 0; i < 8; i++)
		lines[i] = next_line(&rest);
	request = (struct http_request){
		.method = lines[0] ? lines[0] : "GET",
		.path = lines[1] ? lines[1] : "/",
		.host = lines[2] && *lines[2] ? lines[2] : "127.0.0.1:4711",
		.origin = lines[3] && *lines[3] ? lines[3] : NULL,
		.range = lines[4],
		.cookie = lines[5],
		.accept_encoding = lines[6],
		.wanted_headers = lines[7],
	};
	viewer_answer(&viewer, &request, &response);
	check(&request, &response);
	http_response_release(&response);
	request.body = rest ? rest : "";
	request.body_size = strlen(request.body);
	viewer_answer(&viewer, &request, &response);
	check(&request, &response);
	http_response_release(&response);
	for (size_t i = 0; i < 8; i++)
		free(lines[i]);
	free(text);
	return 0;
}
