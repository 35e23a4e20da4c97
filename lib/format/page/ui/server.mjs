// SPDX-License-Identifier: MIT
// Texts of sources that the profile lacks, and instructions: the server of prof view has them. A page
// that is a file has the instructions that prof convert --asm has put there, if any.
import {readBlock} from './blocks.mjs';

export const hasServer = () => location.protocol === 'http:' && document.querySelector('meta[name="prof-server"]') !== null;

export const hasAssembly = () => hasServer() || document.getElementById('prof-assembly') !== null;

const answers = new Map();
let functions = null;

// The answer to a request, or an object with `error`; asked once.
async function ask(path, request) {
	try {
		const response = await fetch(path, {method: 'POST', body: JSON.stringify(request)});
		return await response.json();
	} catch {
		return {error: 'prof view does not answer: it has ended'};
	}
}

async function findAssembly(request) {
	const {lib, buildId, startAddress} = request, block = document.getElementById('prof-assembly');
	functions ??= block ? JSON.parse(new TextDecoder().decode(await readBlock(block.id, block.textContent))) : [];
	const row = functions.find(([module, id, start]) => module === lib && id === buildId && start === Number(startAddress));
	if (row)
		return {instructions: row[3]};
	return hasServer() ? ask('asm/v1', request) : {error: 'The file has the instructions of its heaviest functions only: prof report --annotate NAME --asm shows others.'};
}

// Returns the answer; null: it is asked for, and done() is called when it is there.
function once(name, request, find, done) {
	name += JSON.stringify(request);
	if (!answers.has(name)) {
		answers.set(name, null);
		find(request).catch((error) => ({error: error.message})).then((answer) => {
			answers.set(name, answer);
			done();
		});
	}
	return answers.get(name);
}

export const askSource = (request, done) => once('source', request, () => ask('source/v1', request), done);
export const askAssembly = (request, done) => once('assembly', request, findAssembly, done);
