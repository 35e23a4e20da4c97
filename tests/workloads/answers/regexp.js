// SPDX-License-Identifier: MIT
// An HTTP service whose isValidName() has a regular expression that explodes.
const http = require("http");

function isValidName(name) {
	return /^(\w+\s?)*$/.test(name);
}

function handle(request, response) {
	response.end(String(isValidName("anna berta claudia doe emil!")));
}

// The argument says how many seconds of CPU time to use.
function isOver() {
	return process.cpuUsage().user > 1e6 * Number(process.argv[2]);
}

const server = http.createServer(handle).listen(0, () => {
	const ask = () => http.get({port: server.address().port}, (response) => {
		response.resume().on("end", () => isOver() ? process.exit() : ask());
	});
	ask();
});
