// SPDX-License-Identifier: MIT
// An HTTP service whose isValidName() has a regular expression that explodes.
const http = require("http");

function isValidName(name) {
	return /^(\w+\s?)*$/.test(name);
}

function handle(request, response) {
	response.end(String(isValidName("anna berta claudia doe!")));
}

const server = http.createServer(handle).listen(0, () => {
	const end = Date.now() + 1000 * Number(process.argv[2]);
	const ask = () => http.get({port: server.address().port}, (response) => {
		response.resume().on("end", () => Date.now() < end ? ask() : process.exit());
	});
	ask();
});
