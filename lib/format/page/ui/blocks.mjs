// SPDX-License-Identifier: MIT
// Data in the page: gzip as base64, in elements that no browser runs.

function decodeBase64(text) {
	return Uint8Array.fromBase64?.(text) ?? Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
}

// The ids of the profile's blocks, in order. Samples have as many as they need.
export function dataBlocks(isThere) {
	const samples = ['prof-samples'];
	while (isThere(`prof-samples-${samples.length + 1}`))
		samples.push(`prof-samples-${samples.length + 1}`);
	return ['prof-meta', 'prof-tables', ...samples, 'prof-markers', 'prof-texts'];
}

// Unpacks the text of a block into what `room` returns for its size: a function that takes the
// next bytes. Browsers have many words for damage; there is one here.
async function unpack(id, text, room) {
	try {
		const bytes = decodeBase64(text.trim()), stream = new DecompressionStream('gzip'), writer = stream.writable.getWriter(), reader = stream.readable.getReader();
		const size = new DataView(bytes.buffer).getUint32(bytes.length - 4, true), put = room(size);
		writer.write(bytes).catch(() => {});
		writer.close().catch(() => {});
		let done = 0;
		for (let part = await reader.read(); !part.done; part = await reader.read()) {
			done += part.value.length;
			if (done <= size)
				put(part.value, done - part.value.length);
		}
		if (done === size)
			return;
	} catch {
	}
	throw new Error(`the data are damaged: block ${id}`);
}

export async function readBlock(id, text) {
	let block;
	await unpack(id, text, (size) => {
		block = new Uint8Array(size);
		return (part, at) => block.set(part, at);
	});
	return block;
}

// Unpacks the text of a block into the memory of the engine, and has it read there.
export async function feedBlock(id, text, engine) {
	let at, size;
	await unpack(id, text, (count) => {
		[at, size] = [engine.alloc(count), count];
		return (part, offset) => engine.bytes.set(part, at + offset);
	});
	engine.read(at, size);
}
