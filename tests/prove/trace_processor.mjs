// SPDX-License-Identifier: MIT
// Answers SQL about traces, by Perfetto's trace processor as WebAssembly: one JSON list of rows a line
//
//     node trace_processor.mjs FOLDER TRACE[,TRACE]... SQL...
//
// FOLDER has engine_bundle.node.js and trace_processor.wasm. The engine is a worker that takes and
// sends messages of protocol buffers: TraceProcessorRpcStream.
import fs from "node:fs";
import path from "node:path";
import vm from "node:vm";

const [folder, traces, ...questions] = process.argv.slice(2);
const APPEND = 1, FINALIZE = 2, QUERY = 3, RESET = 11; // methods
const METHOD = 2, RESPONSE = 3, FATAL = 5, APPENDED = 101, QUERY_ARGS = 103, QUERY_RESULT = 203; // fields

function varint(value) {
	const bytes = [];
	for (; value >= 128; value = Math.floor(value / 128)) bytes.push((value % 128) | 128);
	return Buffer.from([...bytes, value]);
}
const number = (field, value) => Buffer.concat([varint(field * 8), varint(value)]);
const bytes = (field, data) => Buffer.concat([varint(field * 8 + 2), varint(data.length), data]);

class Reader {
	constructor(data) {
		this.data = Buffer.from(data);
		this.at = 0;
	}
	get more() {
		return this.at < this.data.length;
	}
	varint() {
		let value = 0n;
		for (let shift = 0n; ; shift += 7n) {
			const byte = this.data[this.at++];
			value |= BigInt(byte & 127) << shift;
			if (byte < 128) return Number(BigInt.asIntN(64, value));
		}
	}
	field() {
		const tag = this.varint();
		let value;
		if (tag % 8 === 0) value = this.varint();
		else if (tag % 8 === 1) value = this.data.readDoubleLE((this.at += 8) - 8);
		else {
			const size = this.varint();
			value = this.data.subarray(this.at, (this.at += size));
		}
		return [Math.floor(tag / 8), value];
	}
}

// Cells of a batch: their kinds, then the values of each kind.
function* cells(batch) {
	const [varints, doubles] = [[], []];
	let kinds = Buffer.alloc(0), texts = [];
	for (const reader = new Reader(batch); reader.more;) {
		const [field, value] = reader.field();
		if (field === 1) kinds = value;
		else if (field === 2) for (const r = new Reader(value); r.more;) varints.push(r.varint());
		else if (field === 3) for (let at = 0; at < value.length; at += 8) doubles.push(value.readDoubleLE(at));
		else if (field === 5) texts = value.toString().split("\0");
	}
	for (const kind of kinds) yield kind === 2 ? varints.shift() : kind === 3 ? doubles.shift() : kind === 4 ? texts.shift() : null;
}

// The bundle asks for its program as a worker of a page does. The program has 32-bit addresses.
class Request {
	open() {}
	send() {
		const program = fs.readFileSync(path.join(folder, "trace_processor.wasm"));
		this.response = program.buffer.slice(program.byteOffset, program.byteOffset + program.length);
	}
}
class Module extends WebAssembly.Module {
	constructor(program) {
		if (program[8] === 5 && program[11] === 4) throw new Error("no memory of 64 bits");
		super(program);
	}
}
const worker = { location: { href: "", search: "" } };
Object.assign(globalThis, { self: worker, WorkerGlobalScope: Object, importScripts() {}, XMLHttpRequest: Request });
Object.defineProperty(globalThis, "WebAssembly", { value: { ...Object.fromEntries(Object.getOwnPropertyNames(WebAssembly).map((name) => [name, WebAssembly[name]])), Module } });
vm.runInThisContext(fs.readFileSync(path.join(folder, "engine_bundle.node.js"), "utf8"));

let waiting, columns = 0, rows = [], failure;
function take(message) {
	for (const reader = new Reader(message); reader.more;) {
		const [field, value] = reader.field();
		if (field === FATAL) throw new Error(value.toString());
		if (field !== QUERY_RESULT) continue;
		let last = false;
		for (const result = new Reader(value); result.more;) {
			const [part, of] = result.field();
			if (part === 1) columns++;
			else if (part === 2) failure = of.toString();
			else if (part === 3) {
				for (const cell of cells(of)) rows.push(cell);
				for (const batch = new Reader(of); batch.more;) last ||= batch.field()[0] === 6;
			}
		}
		if (!last && !failure) return;
	}
	waiting?.();
}
const port = { postMessage(data) { for (const stream = new Reader(data); stream.more;) take(stream.field()[1]); } };
worker.onmessage({ data: port });
let sequence = 0;
function call(method, argument = Buffer.alloc(0)) {
	return new Promise((resolve) => {
		waiting = resolve;
		[columns, rows, failure] = [0, [], ""];
		port.onmessage({ data: new Uint8Array(bytes(1, Buffer.concat([number(1, sequence++), number(METHOD, method), argument]))) });
	});
}

await new Promise(setImmediate); // the engine begins in a task of its own
for (const trace of traces.split(",")) {
	const text = fs.readFileSync(trace);
	for (let at = 0; at < text.length; at += 1 << 20) await call(APPEND, bytes(APPENDED, text.subarray(at, at + (1 << 20))));
	await call(FINALIZE);
	for (const sql of questions) {
		await call(QUERY, bytes(QUERY_ARGS, bytes(1, Buffer.from(sql))));
		if (failure) throw new Error(failure);
		const list = [];
		while (rows.length) list.push(rows.splice(0, columns));
		console.log(JSON.stringify(list));
	}
	await call(RESET);
}
process.exit(0);
