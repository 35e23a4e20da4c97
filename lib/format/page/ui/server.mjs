// SPDX-License-Identifier: MIT
// Texts of sources that the profile lacks, and instructions: only the server of prof view has them.
// A page that is a file has none, though it may once have come from one.

export const hasServer = () => location.protocol === 'http:' && document.querySelector('meta[name="prof-server"]') !== null;

const answers = new Map();

// The answer to a request, or an object with `error`; asked once.
async function ask(path, request) {
	try {
		const response = await fetch(path, {method: 'POST', body: JSON.stringify(request)});
		return await response.json();
	} catch {
		return {error: 'prof view does not answer: it has ended'};
	}
}

// Returns the answer; null: it is asked for, and done() is called when it is there.
export function askServer(path, request, done) {
	const name = `${path} ${JSON.stringify(request)}`;
	if (!answers.has(name)) {
		answers.set(name, null);
		ask(path, request).then((answer) => {
			answers.set(name, answer);
			done();
		});
	}
	return answers.get(name);
}
