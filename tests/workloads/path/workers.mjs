// SPDX-License-Identifier: MIT
// workers.mjs ROUNDS: hands rows to two workers, of which one does slower work, and formats what returns.
import {isMainThread, parentPort, Worker, workerData} from 'node:worker_threads';
import {fileURLToPath} from 'node:url';

function spin(rounds) {
	let x = 88172645;
	for (let i = 0; i < rounds; i++) {
		x ^= x << 13;
		x ^= x >>> 17;
		x ^= x << 5;
	}
	return x;
}

function filterRows(rounds) {
	let x = 0;
	for (let i = 0; i < 50; i++)
		x ^= spin(rounds / 50);
	return x;
}

function joinTables(rounds) {
	let x = 0;
	for (let i = 0; i < 50; i++)
		x ^= spin(rounds / 50);
	return x;
}

function formatRows(rounds) {
	let x = 0;
	for (let i = 0; i < 50; i++)
		x ^= spin(rounds / 50);
	return x;
}

function ask(worker, rounds) {
	return new Promise((resolve) => {
		worker.once('message', resolve);
		worker.postMessage(rounds);
	});
}

if (isMainThread) {
	const rounds = Number(process.argv[2]), file = fileURLToPath(import.meta.url);
	const [filter, join] = ['filter', 'join'].map((kind) => new Worker(file, {workerData: kind}));
	for (let i = 0; i < 15; i++) {
		await Promise.all([ask(filter, 5e6), ask(join, rounds)]);
		formatRows(5e6);
	}
	await Promise.all([filter.terminate(), join.terminate()]);
} else {
	const work = workerData === 'join' ? joinTables : filterRows;
	parentPort.on('message', (rounds) => parentPort.postMessage(work(rounds)));
}
