/* SPDX-License-Identifier: MIT */
/*
 * prof mcp: a server of the Model Context Protocol on standard input and output, through which
 * assistants read profiles, and record if the user allows it. Each tool runs another command of
 * this program and returns its output. Messages are JSON-RPC 2.0, one per line.
 * https://modelcontextprotocol.io/specification
 */
#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#include "cmd/command.h"
#include "lib/base/program.h"

static const char name[] = "mcp";

#define LINE_MAX_BYTES ((size_t)1 << 20)
#define ANSWER_MAX ((size_t)64 << 10)
#define TIMEOUT_NS (600ull * 1000000000)
#define CUT "\n(cut off: ask for fewer rows)\n"

/* Codes of JSON-RPC. */
enum {
	RPC_PARSE_ERROR = -32700,
	RPC_INVALID_REQUEST = -32600,
	RPC_METHOD_NOT_FOUND = -32601,
	RPC_INVALID_PARAMS = -32602,
};

static const char *const versions[] = {"2025-06-18", "2025-03-26", "2024-11-05"};

enum parameter_type {
	PARAMETER_FILE, /* an operand */
	PARAMETER_NAME, /* any other operand */
	PARAMETER_TEXT, /* the value of the option */
	PARAMETER_NUMBER,
	PARAMETER_FLAG,
	PARAMETER_WORDS, /* operands after "--" */
};

struct parameter {
	const char *key;
	const char *option; /* NULL: an operand */
	enum parameter_type type;
	bool is_required;
	const char *help;
};

struct tool {
	const char *name;
	const char *help;
	const char *const *words; /* the command, with constant options; NULL-terminated */
	const struct parameter *parameters; /* the last has no key */
	bool records;
};

#define SELECTION \
	{"process", "process", PARAMETER_TEXT, false, "name (a glob) or pid"}, \
		{"thread", "thread", PARAMETER_TEXT, false, "name (a glob) or tid"}, \
		{"event", "event", PARAMETER_TEXT, false, "event; the clock by default"}, \
		{"category", "category", PARAMETER_TEXT, false, \
		 "category of the innermost frame, such as 'Kernel' or 'Idle: Lock'"}, \
		{"language", "language", PARAMETER_TEXT, false, \
		 "language of the code: javascript, python, java, ruby, net, php, perl, r, lua, erlang, native"}, \
		{"time", "time", PARAMETER_TEXT, false, "seconds from the start, 'A..B'"}, \
		{"during", "during", PARAMETER_TEXT, false, \
		 "during a marker of this name (a glob)"}, \
		{"focus", "focus", PARAMETER_TEXT, false, "stacks with such a function (regex)"}, \
		{"ignore", "ignore", PARAMETER_TEXT, false, \
		 "stacks without such a function (regex)"}, \
		{"own", "own", PARAMETER_FLAG, false, "only code of the user"}, \
	{ \
		"include_idle", "include-idle", PARAMETER_FLAG, false, "waits, too" \
	}
#define PROFILE_FILE \
	{ \
		"file", NULL, PARAMETER_FILE, true, "profile, capture, perf.data or other format" \
	}
#define LIMIT \
	{ \
		"limit", "limit", PARAMETER_NUMBER, false, "rows; 0: all" \
	}

static const struct tool tools[] = {
	{
		.name = "report",
		.help = "Shows where the time of a profile was spent: the hot path to the user's own code, the "
			"heaviest functions, where threads were blocked, processes. With 'by', 'tree', "
			"'callers' or 'callees': that table or tree.",
		.words = (const char *const[]){"report", "--no-config", "--format=markdown", NULL},
		.parameters =
			(const struct parameter[]){
				PROFILE_FILE,
				{"by", "by", PARAMETER_TEXT, false,
				 "rows: function, module, file, line, process, pid, thread, "
				 "category, address"},
				{"tree", "tree", PARAMETER_FLAG, false, "call tree"},
				{"callers", "callers", PARAMETER_TEXT, false,
				 "callers of this function"},
				{"callees", "callees", PARAMETER_TEXT, false,
				 "callees of this function"},
				{"sort", "sort", PARAMETER_TEXT, false, "self or total"},
				LIMIT,
				SELECTION,
				{0},
			},
	},
	{
		.name = "annotate",
		.help = "Shows the source lines of a function with the time that each took.",
		.words = (const char *const[]){"report", "--no-config", "--format=markdown", NULL},
		.parameters =
			(const struct parameter[]){
				PROFILE_FILE,
				{"function", "annotate", PARAMETER_TEXT, true, "its name"},
				SELECTION,
				{0},
			},
	},
	{
		.name = "explain",
		.help = "Explains one function: cost, callers, callees, heaviest lines, waits and allocations "
			"below it.",
		.words = (const char *const[]){"explain", "--no-config", "--markdown", NULL},
		.parameters =
			(const struct parameter[]){
				PROFILE_FILE,
				{"function", NULL, PARAMETER_NAME, true, "its name"},
				SELECTION,
				{0},
			},
	},
	{
		.name = "markers",
		.help = "Lists markers by time: long tasks, slow waits, garbage collections, probes, "
			"spans, signals.",
		.words = (const char *const[]){"report", "--no-config", "--markers",
					       "--format=markdown", NULL},
		.parameters =
			(const struct parameter[]){
				PROFILE_FILE,
				{"process", "process", PARAMETER_TEXT, false,
				 "name (a glob) or pid"},
				{"thread", "thread", PARAMETER_TEXT, false, "name (a glob) or tid"},
				{"time", "time", PARAMETER_TEXT, false, "seconds, 'A..B'"},
				LIMIT,
				{0},
			},
	},
	{
		.name = "info",
		.help = "Describes the contents of a profile: machine, threads, events, markers, losses.",
		.words = (const char *const[]){"info", "--no-config", NULL},
		.parameters = (const struct parameter[]){PROFILE_FILE, {0}},
	},
	{
		.name = "diff",
		.help = "Compares two profiles: is B slower than A, and in which functions.",
		.words = (const char *const[]){"diff", "--no-config", "--format=markdown", NULL},
		.parameters =
			(const struct parameter[]){
				{"a", NULL, PARAMETER_FILE, true, "profile of A"},
				{"b", NULL, PARAMETER_FILE, true, "profile of B"},
				{"by", "by", PARAMETER_TEXT, false, "function, module, file, line"},
				{"force", "force", PARAMETER_FLAG, false,
				 "compare even if the profiles are not comparable"},
				LIMIT,
				{0},
			},
	},
	{
		.name = "record",
		.help = "Records a command until it ends, and writes a profile.",
		.words = (const char *const[]){"record", "--no-config", NULL},
		.parameters =
			(const struct parameter[]){
				{"output", "output", PARAMETER_TEXT, true, "file of the profile"},
				{"seconds", "duration", PARAMETER_NUMBER, false,
				 "end the recording after that time"},
				{"command", NULL, PARAMETER_WORDS, true,
				 "program and its arguments, without a shell"},
				{0},
			},
		.records = true,
	},
};

struct mcp {
	bool may_record;
};

struct argument_words {
	VEC(char *) rows;
};

static void argument_words_release_cleanup(struct argument_words *w)
{
	vec_for_each(&w->rows, char **, word)
		free(*word);
	vec_release(&w->rows);
}

static const struct tool *find_tool(const struct mcp *m, const char *wanted)
{
	return wanted ? array_find(tools, it,
				   strcmp(it->name, wanted) == 0 && (m->may_record || !it->records))
		      : NULL;
}

static const char *type_name(enum parameter_type type)
{
	switch (type) {
	case PARAMETER_NUMBER:
		return "number";
	case PARAMETER_FLAG:
		return "boolean";
	case PARAMETER_WORDS:
		return "array";
	default:
		return "string";
	}
}

static json_t *describe_parameters(const struct tool *tool)
{
	json_t *properties = json_object(), *required = json_array();

	for (const struct parameter *p = tool->parameters; p->key; p++) {
		json_t *property = json_pack("{s:s, s:s}", "type", type_name(p->type),
					     "description", p->help);

		if (p->type == PARAMETER_WORDS)
			json_object_set_new(property, "items",
					    json_pack("{s:s}", "type", "string"));
		json_object_set_new(properties, p->key, property);
		if (p->is_required)
			json_array_append_new(required, json_string(p->key));
	}
	return json_pack("{s:s, s:o, s:o, s:b}", "type", "object", "properties", properties,
			 "required", required, "additionalProperties", 0);
}

static json_t *list_tools(const struct mcp *m)
{
	json_t *list = json_array();

	for (size_t i = 0; i < sizeof(tools) / sizeof(*tools); i++) {
		if (tools[i].records && !m->may_record)
			continue;
		json_array_append_new(list,
				      json_pack("{s:s, s:s, s:o, s:{s:b}}", "name", tools[i].name,
						"description", tools[i].help, "inputSchema",
						describe_parameters(&tools[i]), "annotations",
						"readOnlyHint", !tools[i].records));
	}
	return json_pack("{s:o}", "tools", list);
}

static int add_file(struct argument_words *words, const struct parameter *p, const char *path,
		    struct error *err)
{
	/* Reject engines, which are other machines, and options, which assistants must not set. */
	if (!*path || strstr(path, "://"))
		return error_text(err, -EINVAL, "%s: must be a file", p->key);
	vec_push(&words->rows, xasprintf("%s%s", *path == '-' ? "./" : "", path));
	return 0;
}

static int add_command(struct argument_words *words, const struct parameter *p, const json_t *value,
		       struct error *err)
{
	size_t i;
	json_t *word;

	if (!json_is_array(value) || !json_array_size(value))
		return error_text(err, -EINVAL, "%s: must be a list of strings", p->key);
	vec_push(&words->rows, xstrdup("--"));
	json_array_foreach(value, i, word)
	{
		if (!json_is_string(word))
			return error_text(err, -EINVAL, "%s: must be a list of strings", p->key);
		vec_push(&words->rows, xstrdup(json_string_value(word)));
	}
	return 0;
}

/* Appends the parameter as a word of the command line. */
static int add_parameter(struct argument_words *words, const struct parameter *p,
			 const json_t *value, struct error *err)
{
	switch (p->type) {
	case PARAMETER_FILE:
		if (!json_is_string(value))
			break;
		return add_file(words, p, json_string_value(value), err);
	case PARAMETER_NAME:
		if (!json_is_string(value))
			break;
		/* Reject options: no function has such a name. */
		if (*json_string_value(value) == '-')
			return error_text(err, -EINVAL, "%s: must be a name", p->key);
		vec_push(&words->rows, xstrdup(json_string_value(value)));
		return 0;
	case PARAMETER_TEXT:
		if (!json_is_string(value))
			break;
		vec_push(&words->rows, xasprintf("--%s=%s", p->option, json_string_value(value)));
		return 0;
	case PARAMETER_NUMBER:
		if (!json_is_number(value))
			break;
		vec_push(&words->rows,
			 xasprintf("--%s=%.10g", p->option, json_number_value(value)));
		return 0;
	case PARAMETER_FLAG:
		if (!json_is_boolean(value))
			break;
		if (json_is_true(value))
			vec_push(&words->rows, xasprintf("--%s", p->option));
		return 0;
	case PARAMETER_WORDS:
		return add_command(words, p, value, err);
	}
	return error_text(err, -EINVAL, "%s: must be a %s", p->key, type_name(p->type));
}

static bool has_parameter(const struct tool *tool, const char *key)
{
	for (const struct parameter *p = tool->parameters; p->key; p++) {
		if (strcmp(p->key, key) == 0)
			return true;
	}
	return false;
}

/* Makes the command line of a call. */
static int make_words(struct argument_words *words, const struct tool *tool, json_t *arguments,
		      struct error *err)
{
	const char *key;
	json_t *value;

	if (arguments && !json_is_object(arguments))
		return error_text(err, -EINVAL, "arguments: must be an object");
	json_object_foreach(arguments, key, value)
	{
		if (!has_parameter(tool, key))
			return error_text(err, -EINVAL, "%s: no such parameter of %s", key,
					  tool->name);
	}
	vec_push(&words->rows, xstrdup("prof"));
	for (const char *const *word = tool->words; *word; word++)
		vec_push(&words->rows, xstrdup(*word));
	for (const struct parameter *p = tool->parameters; p->key; p++) {
		value = json_object_get(arguments, p->key);
		if (!value && p->is_required)
			return error_text(err, -EINVAL, "%s: missing", p->key);
		if (value && add_parameter(words, p, value, err))
			return -EINVAL;
	}
	vec_push(&words->rows, NULL);
	return 0;
}

/* Does not return. Output and messages go to `fd`. */
static void execute(char **words, int fd)
{
	int null = open("/dev/null", O_RDONLY);

	dup2(null, STDIN_FILENO);
	dup2(fd, STDOUT_FILENO);
	dup2(fd, STDERR_FILENO);
	execv(program_again, words);
	_exit(EXIT_NOT_FOUND);
}

/* Reads all output; keeps the first ANSWER_MAX bytes. Returns false if it takes too long. */
static bool read_output(int fd, struct strbuf *out)
{
	uint64_t end = clock_monotonic_ns() + TIMEOUT_NS;
	bool is_cut = false;
	char part[4096];
	ssize_t size = 1;

	while (size > 0) {
		struct pollfd ready = {.fd = fd, .events = POLLIN};
		uint64_t now = clock_monotonic_ns();
		size_t room = ANSWER_MAX - out->size;

		if (now >= end)
			return false;
		if (poll(&ready, 1, (int)((end - now) / 1000000) + 1) <= 0)
			continue;
		size = read(fd, part, sizeof(part));
		if (size <= 0)
			break;
		is_cut |= (size_t)size > room;
		strbuf_add(out, part, (size_t)size < room ? (size_t)size : room);
	}
	if (is_cut)
		strbuf_adds(out, CUT);
	return true;
}

/* Replaces bytes that are not UTF-8: output may be cut within a character. */
static void clean(struct strbuf *text)
{
	for (size_t at = 0, size; at < text->size; at += size) {
		size = text_utf8_length(text->text + at, text->size - at);
		if (!size) {
			text->text[at] = '?';
			size = 1;
		}
	}
}

/* Returns the exit status, or -1 with err. */
static int run_words(char **words, struct strbuf *out, struct error *err)
{
	int pipe_fds[2], status = 0;
	bool is_done;
	pid_t pid;

	if (pipe2(pipe_fds, O_CLOEXEC))
		return error_set(err, -errno, "cannot run prof");
	pid = fork();
	if (pid == 0)
		execute(words, pipe_fds[1]);
	close(pipe_fds[1]);
	if (pid < 0) {
		error_set(err, -errno, "cannot run prof");
		close(pipe_fds[0]);
		return -1;
	}
	is_done = read_output(pipe_fds[0], out);
	close(pipe_fds[0]);
	if (!is_done)
		kill(pid, SIGTERM);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (!is_done)
		strbuf_adds(out, "\n(ended: it took too long)\n");
	clean(out);
	return WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_SIGNAL_BASE + WTERMSIG(status);
}

static json_t *text_result(const char *text, bool is_error)
{
	return json_pack("{s:[{s:s, s:s}], s:b}", "content", "type", "text", "text", text,
			 "isError", is_error);
}

/* Returns true for exit statuses by which a command reports failure. */
static bool is_failure(const struct tool *tool, int status)
{
	/* Lower statuses come from the recorded command. */
	return tool->records ? status == EXIT_USAGE || status >= EXIT_REFUSED : status != 0;
}

static json_t *call_tool(const struct tool *tool, json_t *arguments)
{
	_cleanup_(strbuf_release) struct strbuf out = {0};
	_cleanup_(argument_words_release) struct argument_words words = {0};
	struct error err = {0};
	int status;

	if (make_words(&words, tool, arguments, &err))
		return text_result(err.text, true);
	status = run_words(words.rows.items, &out, &err);
	if (status < 0)
		return text_result(err.text, true);
	return text_result(strbuf_text(&out), is_failure(tool, status));
}

static json_t *initialize(const json_t *params)
{
	const char *wanted = json_string_value(json_object_get(params, "protocolVersion"));
	const char *version = versions[0];

	for (size_t i = 0; wanted && i < sizeof(versions) / sizeof(*versions); i++) {
		if (strcmp(versions[i], wanted) == 0)
			version = versions[i];
	}
	return json_pack("{s:s, s:{s:{}}, s:{s:s, s:s}, s:s}", "protocolVersion", version,
			 "capabilities", "tools", "serverInfo", "name", "prof", "version",
			 PROF_VERSION, "instructions",
			 "Begin with 'report' of a file. Shares are of the samples that count.");
}

static void send_message(json_t *message)
{
	char *text = json_dumps(message, JSON_COMPACT | JSON_ENSURE_ASCII);

	if (text)
		printf("%s\n", text);
	fflush(stdout);
	free(text);
	json_decref(message);
}

static void answer(const json_t *id, json_t *result)
{
	send_message(json_pack("{s:s, s:O, s:o}", "jsonrpc", "2.0", "id", id, "result", result));
}

static void refuse(const json_t *id, int code, const char *text)
{
	send_message(json_pack("{s:s, s:O?, s:{s:i, s:s}}", "jsonrpc", "2.0", "id", id, "error",
			       "code", code, "message", text));
}

static void handle_call(const struct mcp *m, const json_t *id, const json_t *params)
{
	const char *wanted = json_string_value(json_object_get(params, "name"));
	const struct tool *tool = find_tool(m, wanted);

	if (tool)
		answer(id, call_tool(tool, json_object_get(params, "arguments")));
	else
		refuse(id, RPC_INVALID_PARAMS, "no such tool");
}

static void handle(const struct mcp *m, const json_t *request)
{
	const char *method = json_string_value(json_object_get(request, "method"));
	const json_t *id = json_object_get(request, "id");
	const json_t *params = json_object_get(request, "params");

	if (!json_is_object(request) || !method)
		refuse(id, RPC_INVALID_REQUEST, "not a request");
	else if (!id)
		return; /* notifications need no answer */
	else if (strcmp(method, "initialize") == 0)
		answer(id, initialize(params));
	else if (strcmp(method, "ping") == 0)
		answer(id, json_object());
	else if (strcmp(method, "tools/list") == 0)
		answer(id, list_tools(m));
	else if (strcmp(method, "tools/call") == 0)
		handle_call(m, id, params);
	else
		refuse(id, RPC_METHOD_NOT_FOUND, "no such method");
}

/*
 * Reads a line without its end. Returns false at the end of input; *is_long: the line was too long
 * and was skipped.
 */
static bool read_line(struct strbuf *line, bool *is_long)
{
	int c;

	strbuf_reset(line);
	*is_long = false;
	while ((c = getchar()) != EOF && c != '\n') {
		if (line->size < LINE_MAX_BYTES)
			strbuf_addch(line, (char)c);
		else
			*is_long = true;
	}
	return c != EOF || line->size;
}

static int serve(const struct mcp *m)
{
	_cleanup_(strbuf_release) struct strbuf line = {0};
	bool is_long;

	while (read_line(&line, &is_long)) {
		json_t *request;

		if (!line.size)
			continue;
		request = is_long ? NULL : json_loadb(line.text, line.size, 0, NULL);
		if (request)
			handle(m, request);
		else
			refuse(NULL, RPC_PARSE_ERROR, is_long ? "too long" : "not JSON");
		json_decref(request);
		if (ferror(stdout))
			break;
	}
	return 0;
}

static const struct option_row rows[] = {
	{0, "allow-record", NULL, "offer the tool that runs and records commands", OPTION_FLAG,
	 OPTION_AT(mcp, may_record)},
	{0},
};

static void make_table(struct option_table *t, void *options)
{
	t->usage = "Usage: prof mcp [OPTION]...\n"
		   "Serve profiles to an assistant: the Model Context Protocol on standard input\n"
		   "and output.\n"
		   "\n";
	option_table_add(t, rows, options);
	option_table_add(t, option_common, NULL);
	t->after = "\n"
		   "Exit status: 0 at the end of input, 2 for a usage error.\n";
}

static int run(int argc, char **argv)
{
	struct error err = {0};
	struct mcp m = {0};
	int ret = command_parse(argc, argv, make_table, &m, &err);

	if (!ret && optind < argc)
		ret = error_text(&err, -EINVAL, "unexpected argument '%s'", argv[optind]);
	return ret ? command_fail_usage(name, &err) : serve(&m);
}

const struct command command_mcp = {
	.name = name,
	.summary = "serve profiles to an assistant (MCP)",
	.options = make_table,
	.run = run,
};
